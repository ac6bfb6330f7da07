# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Taking a mailbox on: with password, aliases and forwarders, or nothing of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import problem
from ansible_collections.postroom.email.tests.fakes.mail_api.spoiler import spoiled
from ansible_collections.postroom.email.tests.support.desk import Desk, words
from ansible_collections.postroom.email.tests.support.passwords import opens
from ansible_collections.postroom.email.tests.support.service import RunningService
from ansible_collections.postroom.email.tests.support.site import Site

ANN = "ann@xn--bcher-kva.example"
#: Looks like a template, and has what YAML, JSON and shells care for.
PASSWORD = "{{ 7 * 7 }}'\"\\#: canary-HOTEL-4471"
WANTED: dict[str, Any] = {
    # As a survey's answers come.
    "mail_mailbox": " Ann@Bücher.example\n",
    "mail_aliases": "hi@bücher.example\r\nHo@bücher.example,\n",
    "mail_forwarders": ["Team@bücher.example", "all@bücher.example"],
}


@pytest.fixture
def office(site: Site) -> Site:
    """Give a tenant that has forwarders."""
    site.create("xn--bcher-kva.example", "bob@xn--bcher-kva.example")
    site.create(
        "team@xn--bcher-kva.example", members=["bob@xn--bcher-kva.example", "x@far.example"]
    )
    site.create("all@xn--bcher-kva.example", members=["ANN@xn--bcher-kva.example"])
    return site


@pytest.mark.matrix
def test_a_mailbox_is_taken_on(desk: Desk, office: Site, service: RunningService) -> None:
    """In whatever spelling; check mode foretells it, and a second run changes nothing."""
    desk.save("passwords.yml", {"ANN@bücher.example": PASSWORD})
    given = {**WANTED, "mail_passwords_file": "passwords.yml"}
    with office.recorder.forbidding_writes():
        told = desk.play("onboard_mailbox", "--check", "--diff", **given)
    assert (told.status, told.recap.changed) == (0, 2), told.output
    told = desk.play("onboard_mailbox", "-vvvv", "--diff", **given)
    assert (told.status, told.recap.changed) == (0, 2), told.output
    assert "canary-HOTEL" not in told.output
    there = office.listing()
    assert there[ANN]["emails"] == {ANN, "hi@xn--bcher-kva.example", "ho@xn--bcher-kva.example"}
    assert there["team@xn--bcher-kva.example"]["members"] == {
        "bob@xn--bcher-kva.example", "x@far.example", ANN,
    }  # fmt: skip
    assert len(there["all@xn--bcher-kva.example"]["members"]) == 1
    assert opens(service, ANN, PASSWORD)
    assert "its password was kept" not in told.output
    told = desk.play("onboard_mailbox", "-vvvv", **given)
    assert (told.status, told.recap.changed) == (0, 0), told.output
    assert "was there already; its password was kept. The playbook rotate_passwords" in words(told)
    assert "canary-HOTEL" not in told.output


def test_a_password_may_be_an_answer(desk: Desk, office: Site, service: RunningService) -> None:
    """Of a survey; it goes before those in a file, and that of a mailbox that is there stays."""
    given: dict[str, Any] = {"mail_mailbox": "cat@bücher.example"}
    given["vault_mail_passwords"] = {"cat@bücher.example": "of the map"}
    answered = {
        **given,
        "vault_mail_password": "12345678",
        "mail_aliases": "",
        "mail_forwarders": None,
    }
    told = desk.play("onboard_mailbox", **answered)
    assert (told.status, told.recap.changed) == (0, 1), told.output
    assert opens(service, "cat@xn--bcher-kva.example", "12345678")
    told = desk.play("onboard_mailbox", **given, vault_mail_password=None)
    assert (told.status, told.recap.changed) == (0, 0), told.output
    told = desk.play("onboard_mailbox", **{**given, "mail_mailbox": ANN, "vault_mail_password": ""})
    assert f"{ANN} is new and needs a password. Give vault_mail_password, or one" in words(told)
    assert opens(service, "cat@xn--bcher-kva.example", "12345678")


def test_what_failed_goes_on(office: Site, service: RunningService, tmp_path: Path) -> None:
    """Where a forwarder can't be changed, the next run does that and nothing else."""
    given = {**WANTED, "vault_mail_password": "of no interest"}
    with spoiled(service.url) as spoiler:
        desk = Desk(tmp_path, spoiler.url, office.token)
        spoiler.spoil(problem(422, "Not today."), part="PATCH /api/principal/team")
        told = desk.play("onboard_mailbox", **given)
        assert (told.status, told.recap.changed) == (2, 1), told.output
        assert "answered with status 422 (Not today)" in words(told)
        told = desk.play("onboard_mailbox", **given)
    assert (told.status, told.recap.changed) == (0, 1), told.output
    assert ANN in office.listing()["team@xn--bcher-kva.example"]["members"]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"mail_mailbox": ""}, "Give mail_mailbox, such as"),
        ({"mail_mailbox": [ANN]}, "Give mail_mailbox, such as"),
        ({"vault_mail_password": 12345678}, "vault_mail_password is no text. Write it in quotes."),
        ({"mail_passwords_file": "nope.yml"}, "nope.yml, and there is no such file."),
        ({"vault_mail_password": None}, "is new and needs a password. Give vault_mail_password"),
        (
            {
                "mail_forwarders": [
                    "team@bücher.example",
                    "none@bücher.example",
                    "bob@bücher.example",
                ]
            },
            "No such forwarder: bob@xn--bcher-kva.example, none@xn--bcher-kva.example. Check mail_",
        ),
        ({"mail_aliases": ["bob@bücher.example"]}, "bob@bücher.example is taken: it delivers to"),
        ({"mail_mailbox": "all@bücher.example"}, "is a forwarder, not a mailbox."),
    ],
)
def test_nothing_is_done_by_halves(
    given: dict[str, Any], sentence: str, desk: Desk, office: Site
) -> None:
    """What is wrong is told in a sentence before anything is written."""
    with office.recorder.forbidding_writes():
        told = desk.play(
            "onboard_mailbox", **{**WANTED, "vault_mail_password": "of no interest", **given}
        )
    assert told.status == 2, told.output
    assert sentence in words(told)
    assert "of no interest" not in told.output
