# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Complete flows with each transport, acknowledgements under load, and crashes during writes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.bot.flows.conftest import FreshDatabase
from ansible_collections.postroom.email.tests.bot.flows.deployment import (
    APPROVE,
    HTTP,
    Deployment,
    Plan,
    deployed,
    environment,
    number_of,
)
from ansible_collections.postroom.email.tests.fakes.slack.person import Person
from ansible_collections.postroom.email.tests.service.api import SECRET
from ansible_collections.postroom.email.tests.support.company import (
    ALICE,
    fresh_address,
    password_in,
    text_of,
)
from ansible_collections.postroom.email.tests.support.passwords import opens
from postroom_bot.domain import State
from postroom_bot.slack.manifest import EVENTS
from postroom_bot.store import audit, profile_email_changes
from postroom_bot.ui.reason_texts import TEXTS
from postroom_bot.workflow.dependencies import MAX_WAITING

CAROL = "carol@example.com"
#: A time limit in seconds that is shorter than the bot's timeout for the mail service.
SECONDS = 10.0
#: The number of worker threads.
JOBS = 4
#: A number of lookups that exceeds the limit on queued lookups.
CROWD = MAX_WAITING + 3
#: The plans for bots that have little time to acknowledge commands.
ACKNOWLEDGED = pytest.mark.parametrize(
    "plan",
    [HTTP, pytest.param(Plan("socket", "sqlite"), marks=pytest.mark.full)],
    indirect=True,
    ids=str,
    scope="session",
)


def test_an_alias_goes_all_the_way(flow: Deployment) -> None:
    """A requested alias is approved, created, announced, audited and in the definition."""
    company, address = flow.company, fresh_address()
    card = flow.card(company.alice, f"alias add {address} because customers ask")
    assert "customers ask" in card.text
    assert address not in company.aliases()
    flow.approve(card, company.bob)
    company.wait_told(company.alice, address, "Done")
    assert address in company.aliases()
    flow.wait_for_text(card, "Done")
    company.slack.wait_for_message(flow.environment.audit, address)
    assert len(flow.cards(address)) == 1
    verified = flow.bots[0].command("audit", "verify")
    assert verified.returncode == 0
    declared = json.loads(flow.bots[0].command("definition").stdout)
    (mailbox,) = [one for one in declared["mailboxes"] if one["name"] == ALICE]
    assert address in mailbox["aliases"]


def test_ones_own_password(flow: Deployment) -> None:
    """A new password replaces the old password and is shown only in the owner's modal."""
    company = flow.company
    company.carol.shortcut("postroom_menu")
    company.carol.press_in_view(company.window(company.carol, "menu"), "open_password")
    confirm = company.window(company.carol, "password_confirm")
    company.slack.faults.fail("views.update")
    company.carol.submit(confirm)
    password = password_in(company.window(company.carol, "password_shown"))
    assert opens(company.mail, CAROL, password)
    assert not opens(company.mail, CAROL, SECRET)


def test_the_password_of_another_person(flow: Deployment) -> None:
    """If two people approve a new password for a third person, that person can create it once."""
    company = flow.company
    company.bob.command(f"/email password {ALICE}")
    assert "Request *R-" in text_of(company.window(company.bob, "note"))
    company.wait_told(company.bob, "new password", "Waiting")
    card = company.slack.wait_for_message(company.approvals, f"new password for `{ALICE}`")
    number = number_of(card.text)
    flow.approve(card, company.carol, company.dora)
    offer = company.wait_told(company.alice, number, "when you are ready to copy it")
    company.alice.press(offer, "password_show")
    company.alice.submit(company.window(company.alice, "password_confirm"))
    shown = company.window(company.alice, "password_shown")
    password = password_in(shown)
    assert opens(company.mail, ALICE, password)
    company.wait_told(company.bob, number, "Done")
    flow.wait_for_text(card, "Done")
    company.alice.close(shown)
    company.alice.press(offer, "password_show")
    company.slack.wait_for(lambda: "already done" in text_of(company.window(company.alice, "note")))


@pytest.fixture
def hurried(flow: Deployment) -> Iterator[Deployment]:
    """Provide bots that have less time for acknowledgements."""
    delivery = flow.company.slack.delivery
    before, delivery.seconds = delivery.seconds, SECONDS
    yield flow
    delivery.seconds = before


@ACKNOWLEDGED
def test_slow_jobs_delay_no_acknowledgement(hurried: Deployment) -> None:
    """Each command is acknowledged while all of the worker's threads wait for the mail service."""
    company, recorder = hurried.company, hurried.environment.recorder
    with recorder.holding("GET") as gate:
        for number in range(JOBS):
            assert company.alice.command(f"/email alias add slow-{number}@example.com").ok
            gate.wait()
        recorder.take()
        for text in ("alias add quick@example.com", "status", "help", "alias list", "password"):
            assert company.dora.command(f"/email {text}").ok
        # The mail service has not responded in the meantime, so all jobs are still running.
        assert recorder.take() == []
    company.window(company.dora, "password_confirm")


@ACKNOWLEDGED
def test_a_crowd_that_waits_delays_no_other_person(hurried: Deployment) -> None:
    """Queued lookups do not delay other users' commands.

    Excess lookups are refused immediately.
    """
    company = hurried.company
    before = len(company.alice.sees().ephemerals)
    with hurried.environment.recorder.holding("GET"):
        for _ in range(CROWD):
            assert company.alice.command("/email alias list").ok
        assert company.bob.command("/email help").ok
        company.slack.wait_for(
            lambda: (
                [one.text for one in company.alice.sees().ephemerals[before:]].count(
                    TEXTS["mail.overloaded"]
                )
                == CROWD - MAX_WAITING
            )
        )


#: Timeouts in seconds for bots that are killed.
SHORT = {"lease": 4, "timeout": 3}

#: A function that starts a bot, which continues from the state of the previous bot.
Start = Callable[[], AbstractContextManager[Deployment]]


@pytest.fixture
def start(fresh: FreshDatabase, tmp_path: Path) -> Iterator[Start]:
    """Provide a function that starts, and later restarts, the same bot."""
    with ExitStack() as end:
        there = end.enter_context(environment(tmp_path / "environment"))
        database = fresh("sqlite", end)
        yield lambda: deployed(there, tmp_path, Plan("socket", "sqlite"), database, SHORT)


def check_done_once(bot: Deployment, address: str) -> None:
    """Check that an alias was requested, added and reported once, as if there had been no crash."""
    company = bot.company
    company.wait_told(company.alice, address, "Done")
    assert company.aliases().count(address) == 1
    (request,) = [one for one in bot.requests() if one.change.target == address]
    assert request.state is State.DONE
    writes = [one for one in bot.environment.recorder.take_writes() if one.status == 200]
    assert len(writes) == 1
    notices = [
        one for one in company.alice.sees().direct if address in one.text and "Done" in one.text
    ]
    assert len(notices) == 1
    bot.read(audit.verify)


@pytest.mark.full
@pytest.mark.parametrize("after", [False, True], ids=["before the write", "after the write"])
def test_killed_while_it_writes(start: Start, after: bool) -> None:
    """If a bot is killed during a write, the change is still made exactly once."""
    address = fresh_address()
    with start() as bot, bot.environment.recorder.holding("PATCH", after=after) as gate:
        card = bot.card(bot.company.alice, f"alias add {address}")
        bot.company.bob.press(card, APPROVE)
        gate.wait()
        bot.bots[0].kill()
        gate.open(passes=False)
        assert (address in bot.company.aliases()) is after
    with start() as bot:
        check_done_once(bot, address)
        bot.wait_for_text(card, "Done")
        assert len(bot.cards(address)) == 1
        assert "request.resumed" in [row.event for row in bot.read(audit.rows)]


def test_the_bot_understands_the_events_of_its_manifest(flow: Deployment) -> None:
    """The bot records the address in an event about an account, and accepts all other events."""
    slack, state = flow.company.slack, flow.company.slack.state
    frank = slack.person("frank", email="frank@example.com")
    frank.open_home()
    slack.wait_for(lambda: frank.sees().home and _recorded(flow, frank) == "frank@example.com")
    asked = _questions_about(flow, frank)
    slack.change_user(frank, email="frank.new@example.com")
    slack.wait_for(lambda: _recorded(flow, frank) == "frank.new@example.com")
    assert _questions_about(flow, frank) == asked
    for name in set(EVENTS) - {"app_home_opened", "user_change"}:
        slack.announce({"type": name, "team_id": state.team})
    assert all("no handler" not in bot.log() for bot in flow.bots)


def _questions_about(flow: Deployment, person: Person) -> int:
    calls = flow.company.slack.calls("users.info")
    return sum(call.args["user"] == person.id for call in calls)


def _recorded(flow: Deployment, person: Person) -> str | None:
    found = flow.read(lambda c: profile_email_changes.latest(c, person.id))
    return found and found.email
