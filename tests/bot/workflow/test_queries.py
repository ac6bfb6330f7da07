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
from postroom_bot.domain import Person
from postroom_bot.errors import ReasonError, UserError
from postroom_bot.workflow import queries
from postroom_bot.workflow.dependencies import Dependencies


@pytest.fixture
def harness(harness: Harness) -> Harness:
    """Provide the workflow, with an alias for Alice and two forwarders."""
    harness.api.patch(ALICE, emails=[ALICE, "sales@example.com"])
    harness.api.forwarder("team@example.com", [ALICE])
    harness.api.forwarder("board@example.com", [BOB])
    return harness


def _caller(harness: Harness, who: str) -> Person:
    """Return a user of the bot."""
    return harness.deps.people.caller(harness.interaction(who))


def _mail_queries(deps: Dependencies, person: Person) -> list[Callable[[], object]]:
    """Return all queries that the mail service answers."""
    return [
        lambda: queries.aliases(deps, person),
        lambda: queries.forwarders(deps, person),
        lambda: queries.dns(deps, "example.com"),
    ]


def test_only_approvers_see_aliases_of_others(harness: Harness) -> None:
    """Only approvers can see the aliases of other users' mailboxes."""
    own = (ALICE, ["sales@example.com"])
    assert queries.aliases(harness.deps, _caller(harness, "alice")) == own
    assert queries.aliases(harness.deps, _caller(harness, "alice"), ALICE) == own
    assert queries.aliases(harness.deps, _caller(harness, "bob"), ALICE).mailbox == ALICE
    for mailbox in (ALICE, "zoe@example.com"):
        with pytest.raises(UserError, match=r"mailbox\.private"):
            queries.aliases(harness.deps, _caller(harness, "erin"), mailbox)
    with pytest.raises(UserError, match=r"mailbox\.missing"):
        queries.aliases(harness.deps, _caller(harness, "bob"), "zoe@example.com")


def test_forwarders_are_seen_by_approvers_and_by_those_who_get_the_mail(
    harness: Harness,
) -> None:
    """Forwarders are visible to approvers and to the people who receive their mail."""
    assert len(queries.forwarders(harness.deps, _caller(harness, "bob"))) == 2
    (one,) = queries.forwarders(harness.deps, _caller(harness, "alice"))
    assert one.address == "team@example.com"
    assert queries.forwarders(harness.deps, _caller(harness, "erin")) == []


def test_records_are_no_secret(harness: Harness) -> None:
    """Any member can see DNS records, because they are public."""
    assert queries.dns(harness.deps, "example.com")
    with pytest.raises(ReasonError):
        queries.dns(harness.deps, "elsewhere.example")


def test_a_person_without_a_mailbox_sees_no_mail(harness: Harness) -> None:
    """A person whose mailbox is not known sees neither aliases nor forwarders."""
    harness.slack.change_user(harness.people["erin"], announce=False, email="e@elsewhere.example")
    erin = _caller(harness, "erin")
    with pytest.raises(UserError, match=r"mailbox\.untrusted_domain"):
        queries.aliases(harness.deps, erin)
    assert queries.forwarders(harness.deps, erin) == []


def test_who_does_not_answer_is_told(harness: Harness) -> None:
    """If the mail service does not respond, the handlers get an error to show."""
    mail = MailApi("http://127.0.0.1:9", SecretStr("none"), timeout=0.5)
    for look in _mail_queries(harness.with_(mail=mail), _caller(harness, "alice")):
        with pytest.raises(ReasonError) as refusal:
            look()
        assert refusal.value.reason_without_retry.code == "retry.later"
    mail.close()


def test_queries_do_not_wait_for_a_slot(harness: Harness) -> None:
    """If too many handlers are waiting for the mail service, the user gets an error at once."""
    busy = harness.with_(mail_slots=threading.Semaphore(0))
    with pytest.raises(UserError, match=r"mailbox\.private"):
        queries.aliases(busy, _caller(harness, "erin"), ALICE)
    for look in _mail_queries(busy, _caller(harness, "alice")):
        with pytest.raises(UserError, match=r"mail\.overloaded"):
            look()
