# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the bot may do on a controller that the playbook has set up: its three templates."""

from __future__ import annotations

import time
from collections.abc import Iterator

import httpx
import pytest
from pydantic import SecretStr

from ansible_collections.postroom.email.tests.ops.awx.stage import SECRETS
from ansible_collections.postroom.email.tests.support.controller.controller import Controller
from postroom_bot.executors import controller as executors
from postroom_bot.executors.awx import REQUEST_VARIABLE, variables_for
from postroom_bot.model import Action, Wish

USER, PASSWORD = "postroom-bot", SECRETS["vault_awx_bot_password"]
ALIAS, ALICE, TEAM = "sales@example.com", "alice@example.com", "team@example.com"
SECONDS = 10.0
WISHES = {
    "add_alias": Wish(Action.ALIAS_ADD, ALIAS, ALICE),
    "remove_alias": Wish(Action.ALIAS_REMOVE, ALIAS, ALICE),
    "forwarder": Wish(Action.FORWARD_ADD, TEAM, destinations=(ALICE, "bob@example.com")),
}


@pytest.fixture
def http(made: Controller) -> Iterator[httpx.Client]:
    """Give what asks as the bot's user."""
    with httpx.Client(base_url=f"{made.url}/api/v2/", auth=(USER, PASSWORD)) as http:
        yield http


def number(made: Controller, playbook: str) -> int:
    """Return the number of a playbook's template."""
    id_: int = made.named("job_templates", f"Postroom {playbook}")["id"]
    return id_


@pytest.mark.parametrize("playbook", sorted(WISHES))
def test_it_launches_its_own(made: Controller, playbook: str) -> None:
    """The bot's executor launches the template; AWX drops none of the variables."""
    bot = executors.Controller(made.url, executors.Basic(USER, SecretStr(PASSWORD)))
    wish = WISHES[playbook]
    variables = {REQUEST_VARIABLE: f"of-{playbook}", **variables_for(wish, wish)}
    template = number(made, playbook)
    bot.check_template(template, variables)
    job, ignored = bot.launch(template, variables)
    assert ignored == frozenset()
    assert made.jobs.jobs[job.id].variables == variables
    found = bot.launched(template, REQUEST_VARIABLE, f"of-{playbook}")
    assert found is not None
    assert found.id == job.id
    end = time.monotonic() + SECONDS
    while not job.has_ended and time.monotonic() < end:
        time.sleep(0.02)
        job = bot.job(job.id) or job
    assert job.status == "successful"


def test_it_sees_its_own_only(http: httpx.Client) -> None:
    """Lists show the three templates, and no credential."""
    shown = http.get("job_templates/").json()["results"]
    assert sorted(row["name"] for row in shown) == [f"Postroom {name}" for name in sorted(WISHES)]
    for kind in ("credentials", "projects", "workflow_job_templates", "users"):
        assert http.get(f"{kind}/").json()["count"] == 0


@pytest.mark.parametrize("playbook", ["converge", "offboard_mailbox", "rotate_passwords", "review"])
def test_it_launches_no_other(made: Controller, http: httpx.Client, playbook: str) -> None:
    """To it, there is no such template."""
    before = len(made.jobs.jobs)
    said = http.post(f"job_templates/{number(made, playbook)}/launch/", json={"extra_vars": {}})
    assert said.status_code == 404
    assert len(made.jobs.jobs) == before


def test_it_changes_nothing_in_awx(made: Controller, http: httpx.Client) -> None:
    """Not even its own templates."""
    path = f"job_templates/{number(made, 'add_alias')}/"
    assert http.patch(path, json={"playbook": "converge.yml"}).status_code == 403
    assert http.post("job_templates/", json={"name": "X"}).status_code == 403


def test_a_survey_is_answered_or_refused(made: Controller, http: httpx.Client) -> None:
    """What is missing or can't be chosen starts no job; a named URL finds the template, too."""
    path = "job_templates/Postroom forwarder++Postroom/launch/"
    missing = http.post(path, json={"extra_vars": {}})
    assert missing.json() == {"variables_needed_to_start": ["'mail_forwarder' value missing"]}
    wrong = {"mail_forwarder": TEAM, "mail_state": "gone"}
    refused = http.post(path, json={"extra_vars": wrong})
    assert "expected to be one of" in refused.json()["variables_needed_to_start"][0]


def test_a_token_does_for_a_password(made: Controller, http: httpx.Client) -> None:
    """The bot's user makes one for itself; who has none is not let in."""
    token = http.post("tokens/", json={}).json()["token"]
    bot = executors.Controller(made.url, executors.Token(SecretStr(token)))
    variables = variables_for(WISHES["add_alias"], WISHES["add_alias"])
    bot.check_template(number(made, "add_alias"), variables)
    assert httpx.get(f"{made.url}/api/v2/job_templates/").status_code == 401
