# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Text that means something to a template, where AWX carries requests out."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.bot.executors.automation import ALIAS_SURVEY
from ansible_collections.postroom.email.tests.bot.threats.scene import (
    APPROVE,
    Scene,
    number_in,
    open_scene,
)
from ansible_collections.postroom.email.tests.fakes.awx.jobs import Awx, Template, running_awx
from ansible_collections.postroom.email.tests.fakes.slack.world import PATIENCE

TEMPLATE = "{{ lookup('pipe', 'id') }}{% raw %}"


@pytest.fixture(scope="module")
def awx() -> Iterator[Awx]:
    """Give a controller whose jobs are given their work by the scene."""
    with running_awx(lambda _playbook, _variables: False) as awx:
        awx.templates = {
            7: Template("add_alias", ALIAS_SURVEY),
            8: Template("remove_alias", ALIAS_SURVEY),
        }
        yield awx


@pytest.fixture(scope="module")
def automated(awx: Awx, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Give a scene whose bot has AWX do it."""
    settings = {
        "executor": "awx",
        "awx_url": awx.url,
        "awx_token": awx.token,
        "awx_add_alias_template": 7,
        "awx_remove_alias_template": 8,
        "awx_forwarder_template": 9,
    }
    place = tmp_path_factory.mktemp("automated")
    with open_scene(place, mode="http", settings=settings) as scene:

        def play(_playbook: str, variables: Mapping[str, Any]) -> bool:
            mailbox = str(variables["mail_mailbox"])
            emails = [mailbox, str(variables["mail_alias"])]
            return scene.api.patch(mailbox, emails=emails).is_success

        awx.play = play
        yield scene


def test_a_reason_is_no_variable(automated: Scene, awx: Awx) -> None:
    """Only addresses, as the bot reads them, and the request's number are given to a job."""
    alice, bob = automated.hire(), automated.hire(approves=True)
    address = automated.fresh()
    asked = automated.ask(alice, f"alias add {address} because {TEMPLATE}")
    assert "lookup" in asked.card.text
    bob.press(asked.card, APPROVE)
    automated.comes_to(asked.id, "done")
    (variables,) = [
        job.variables for job in awx.jobs.values() if address in job.as_row()["extra_vars"]
    ]
    assert variables == {
        "postroom_request": asked.id,
        "mail_alias": address,
        "mail_mailbox": alice.user.email,
    }


def test_a_freed_address_is_kept_before_the_job_has_ended(
    automated: Scene, awx: Awx, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the change and the bot's next look, nobody is quick enough to take it."""
    alice, mallory = automated.hire(), automated.hire()
    mailbox, address = str(alice.user.email), automated.fresh()
    automated.api.patch(mailbox, emails=[mailbox, address])
    changed, seen = threading.Event(), threading.Event()

    def play(_playbook: str, _variables: Mapping[str, Any]) -> bool:
        automated.api.patch(mailbox, emails=[mailbox])
        changed.set()
        return seen.wait(PATIENCE)

    monkeypatch.setattr(awx, "play", play)
    removal = number_in(alice.command(f"/email alias remove {address}"))
    assert changed.wait(PATIENCE)
    taking = number_in(mallory.command(f"/email alias add {address}"))
    automated.refuses(mallory, taking, "was given up a short while ago and is kept free.")
    assert automated.request(removal)["state"] == "executing"
    seen.set()
    automated.comes_to(removal, "done")


@pytest.mark.parametrize("address", ["{{x}}@example.com", "{%x%}@example.com", "a{#@example.com"])
def test_an_address_is_no_template(automated: Scene, awx: Awx, address: str) -> None:
    """It is no address that the bot takes, typed or in a form: no request, no job."""
    alice, jobs = automated.hire(), len(awx.jobs)
    with automated.no_effect():
        ack = alice.command(f"/email alias add {address}")
        assert "That is not an email address." in ack.body["text"]
        form = automated.form(alice, "alias_add", {"address": "x@example.com", "mailbox": address})
        assert "That is not a mailbox." in form.body["errors"]["mailbox"]
    assert automated.requests_of(alice) == []
    assert len(awx.jobs) == jobs
