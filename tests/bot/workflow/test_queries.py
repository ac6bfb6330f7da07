# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of the queries that the bot answers while the person waits."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from pydantic import SecretStr

from ansible_collections.postroom.email.tests.bot.workflow.harness import ALICE, BOB, Harness
from postroom_bot.backends.mail_api import MailApi
from postroom_bot.errors import UserError
from postroom_bot.workflow.queries import Queries


@pytest.fixture
def queries(harness: Harness) -> Queries:
    """Provide the part of the workflow that answers queries."""
    harness.api.patch(ALICE, emails=[ALICE, "sales@example.com"])
    harness.api.forwarder("team@example.com", [ALICE])
    harness.api.forwarder("board@example.com", [BOB])
    return Queries(harness.deps)


def _as(harness: Harness, who: str) -> tuple[str, str]:
    return harness.people[who].id, harness.deps.workspace.team


def _mail_queries(queries: Queries, user: str, team: str) -> list[Callable[[], object]]:
    """Return all queries that the mail service answers."""
    return [
        lambda: queries.aliases(user, team),
        lambda: queries.forwarders(user, team),
        lambda: queries.dns(user, team, "example.com"),
    ]


def test_only_approvers_see_aliases_of_others(harness: Harness, queries: Queries) -> None:
    """Only approvers can see the aliases of other users' mailboxes."""
    own = (ALICE, ["sales@example.com"])
    assert queries.aliases(*_as(harness, "alice")) == own
    assert queries.aliases(*_as(harness, "alice"), ALICE) == own
    assert queries.aliases(*_as(harness, "bob"), ALICE).mailbox == ALICE
    for mailbox in (ALICE, "zoe@example.com"):
        with pytest.raises(UserError, match=r"mailbox\.private"):
            queries.aliases(*_as(harness, "erin"), mailbox)
    with pytest.raises(UserError, match=r"mailbox\.missing"):
        queries.aliases(*_as(harness, "bob"), "zoe@example.com")


def test_forwarders_are_seen_by_approvers_and_by_those_who_get_the_mail(
    harness: Harness, queries: Queries
) -> None:
    """Forwarders are visible to approvers and to the people who receive their mail."""
    assert len(queries.forwarders(*_as(harness, "bob"))) == 2
    (one,) = queries.forwarders(*_as(harness, "alice"))
    assert one.address == "team@example.com"
    assert queries.forwarders(*_as(harness, "erin")) == []


def test_records_are_no_secret(harness: Harness, queries: Queries) -> None:
    """Any member can see DNS records, because they are public."""
    assert queries.dns(*_as(harness, "erin"), "example.com").records
    with pytest.raises(UserError):
        queries.dns(*_as(harness, "erin"), "elsewhere.example")


def test_guests_and_outsiders_see_nothing(harness: Harness, queries: Queries) -> None:
    """Guests and members of other workspaces can't look anything up."""
    with pytest.raises(UserError, match=r"person\.elsewhere"):
        queries.aliases(harness.people["alice"].id, "T0000ELSE")
    harness.slack.change_user(harness.people["alice"], announce=False, is_restricted=True)
    for look in _mail_queries(queries, *_as(harness, "alice")):
        with pytest.raises(UserError, match=r"person\.guest"):
            look()
    harness.slack.change_user(harness.people["erin"], announce=False, email="e@elsewhere.example")
    with pytest.raises(UserError):
        queries.aliases(*_as(harness, "erin"))
    assert queries.forwarders(*_as(harness, "erin")) == []


def test_who_does_not_answer_is_told(harness: Harness, queries: Queries) -> None:
    """If Slack or the mail service does not respond, the user gets an error that says so."""
    with harness.slack.down(), pytest.raises(UserError, match=r"slack\.unavailable"):
        queries.aliases(*_as(harness, "alice"))
    mail = MailApi("http://127.0.0.1:9", SecretStr("none"), timeout=0.5)
    silent = Queries(harness.with_(mail=mail))
    for look in _mail_queries(silent, *_as(harness, "alice")):
        with pytest.raises(UserError) as refusal:
            look()
        assert refusal.value.reason.code == "retry.later"
    mail.close()


def test_queries_do_not_wait_for_a_slot(harness: Harness) -> None:
    """If too many handlers are waiting for the mail service, the user gets an error at once."""
    busy = Queries(harness.with_(mail_slots=threading.Semaphore(0)))
    with pytest.raises(UserError, match=r"mailbox\.private"):
        busy.aliases(*_as(harness, "erin"), ALICE)
    for look in _mail_queries(busy, *_as(harness, "alice")):
        with pytest.raises(UserError, match=r"mail\.overloaded"):
            look()
