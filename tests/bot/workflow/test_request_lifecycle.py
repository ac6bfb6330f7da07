# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A request is executed or refused, and everyone involved is notified."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from zoneinfo import ZoneInfo

import pytest

from ansible_collections.postroom.email.tests.bot.workflow.harness import (
    ALICE,
    BOB,
    NEW,
    FailingExecutor,
    Harness,
)
from postroom_bot.domain import Action, Change, Reason, Request, State
from postroom_bot.errors import UserError
from postroom_bot.store import holdings, tombstones
from postroom_bot.ui.reason_texts import reason_text
from postroom_bot.workflow import request_service
from postroom_bot.workflow.execute import MAX_ATTEMPTS
from postroom_bot.workflow.request_service import EndDatePassed
from postroom_bot.workflow.worker import Worker

TEAM = "team@example.com"


def test_an_alias_is_asked_for_approved_and_added(harness: Harness) -> None:
    """A requested alias is approved and added, with an audit row for each step."""
    request = harness.ask()
    assert request.state is State.PENDING
    assert request.requester_mailbox == ALICE
    done = harness.approve(request, "bob")
    assert done.state is State.DONE
    assert NEW in harness.addresses()
    assert harness.events(request) == [
        "request.new",
        "request.pending",
        "card.posted",
        "vote.cast",
        "vote.counted",
        "request.approved",
        "request.executing",
        "request.done",
    ]
    details = harness.details(request)
    assert details["request.pending"]["digest"] == done.digest
    assert details["request.pending"]["policy"] == done.policy_digest
    assert details["vote.counted"]["groups"] == ["admins"]
    (card,) = harness.cards()
    assert "Done" in card.text
    waiting, final = harness.texts_to("alice")
    assert "Waiting for 1 approval" in waiting
    assert "Done" in final
    (entry,) = harness.deps.database.read(holdings.everything)
    assert (entry.request, entry.destination) == (done.id, ALICE)
    (line,) = harness.slack.messages(harness.channels["audit"])
    assert done.id in line.text


def test_what_needs_no_approval_is_done_at_once(harness: Harness) -> None:
    """A request that needs no approval is executed without a card."""
    harness.approve(harness.ask(), "bob")
    gone = harness.ask(change=Change(Action.ALIAS_REMOVE, NEW))
    assert gone.state is State.DONE
    assert harness.details(gone)["request.approved"]["rule"] == gone.rule
    assert NEW not in harness.addresses()
    assert len(harness.cards()) == 1
    owner = harness.deps.database.read(lambda c: tombstones.owner_of(c, NEW, now=harness.clock()))
    assert owner == ALICE
    other = harness.ask("erin")
    assert other.state is State.REFUSED
    assert other.result == Reason("address.kept_free", {"address": NEW})
    assert harness.approve(harness.ask(), "bob").state is State.DONE
    assert not harness.deps.database.read(
        lambda c: tombstones.owner_of(c, NEW, now=harness.clock())
    )


def test_a_forwarder_needs_somebody_of_each_group(harness: Harness) -> None:
    """If two groups must approve a forwarder, an approver in both counts for only one of them."""
    change = Change(Action.FORWARD_ADD, "team@example.com", destinations=(ALICE,))
    request = harness.ask(change=change)
    assert harness.approve(request, "dora").state is State.PENDING
    done = harness.approve(request, "carol")
    assert done.state is State.DONE
    members = harness.api.get("team@example.com").json()["members"]
    assert members == [ALICE]


def test_a_denied_request_ends(harness: Harness) -> None:
    """A denied request changes nothing, and the requester gets the reason."""
    request = harness.ask()
    harness.vote("bob", request, approves=False)
    harness.work()
    assert harness.now(request).state is State.DENIED
    assert NEW not in harness.addresses()
    assert "Not now." in harness.texts_to("alice")[-1]
    assert harness.details(request)["request.denied"]["reason"] == "Not now."


@pytest.mark.parametrize("state", [State.NEW, State.APPROVED])
def test_what_is_not_begun_can_be_cancelled(harness: Harness, state: State) -> None:
    """A request can be cancelled until its execution begins."""
    request = harness.submit()
    if state is State.APPROVED:
        harness.work()
        harness.vote("bob", harness.now(request))
        Worker(harness.with_(executor=FailingExecutor())).step()
    assert harness.now(request).state is state
    answer = harness.cancel(request)
    assert answer.code == "request.cancelled"
    harness.work()
    assert harness.now(request).state is State.CANCELLED
    assert harness.addresses() == {ALICE}


def test_a_request_is_cancelled_by_its_requester_only(harness: Harness) -> None:
    """Only the requester can cancel a request. For other users, the request ID is unknown."""
    request = harness.ask()
    assert harness.cancel(request, "bob").code == "request.unknown"
    first = harness.cancel(request)
    assert harness.cancel(request) == first
    harness.work()
    assert harness.now(request).state is State.CANCELLED
    assert "Cancelled" in harness.cards()[0].text
    assert harness.events(request).count("request.cancelled") == 1


def test_approvers_are_reminded_until_the_request_expires(harness: Harness) -> None:
    """Reminders have a link to the card and come after twice the time, until the deadline."""
    request = harness.ask()
    harness.pass_time(hours=4)
    card, reminder = harness.cards()
    assert "/archives/" in reminder.text
    assert all("<!subteam^S" in f"{one.text} {one.blocks}" for one in (card, reminder))
    channels = harness.policies[0].channels.model_dump(exclude_none=True)
    harness.set_policy(channels={**channels, "mention_approvers": False})
    assert harness.policies[0].mentioned(request.quorum) == []
    reminders = []
    for _ in range(19):
        harness.pass_time(hours=1)
        reminders.append(len(harness.cards()) - 2)
    assert reminders == [0] * 3 + [1] * 8 + [2] * 8
    harness.pass_time(hours=1)
    assert harness.now(request).state is State.EXPIRED
    harness.pass_time(days=30)
    assert len(harness.cards()) == 4
    assert "Expired" in harness.cards()[0].text
    assert "Expired" in harness.texts_to("alice")[-1]
    assert harness.now(request).due_at is None


def test_an_extension_ends_at_the_latest_day_of_the_rule(harness: Harness) -> None:
    """An extension asks for the latest day that the rule allows, if 30 days are too many."""
    rule = {"name": "short", "actions": ("alias.add",), "max_days": 9, "automatic": True}
    harness.set_policy(rules=(rule,))
    today = harness.clock().date()
    change = Change(Action.ALIAS_ADD, NEW, last_day=today + timedelta(days=9))
    done = harness.ask(change=change)
    assert done.state is State.DONE
    harness.pass_time(days=7)
    extended = request_service.extend(harness.deps, harness.interaction(request_id=done.id))
    assert extended.change.last_day == today + timedelta(days=16)
    harness.work()
    assert harness.now(extended).state is State.DONE


def test_decisions_are_posted_in_the_thread_of_the_card(harness: Harness) -> None:
    """Each decision, and the result, is one reply in the card's thread."""
    done = harness.approve(harness.ask(), "bob")
    [reply] = harness.slack.replies(harness.cards()[0])
    assert f"Approved by <@{harness.people['bob'].id}>" in reply.text
    assert "Done" in reply.text
    denied = harness.ask(change=Change(Action.ALIAS_ADD, "other@example.com"))
    harness.vote("bob", denied, approves=False)
    harness.work()
    [reply] = harness.slack.replies(harness.cards()[1])
    assert "Denied by" in reply.text
    password = harness.ask(change=Change(Action.PASSWORD, "erin@example.com"))
    harness.approve(password, "bob", "carol")
    harness.cancel(password)
    harness.work()
    texts = [one.text for one in harness.slack.replies(harness.cards()[2])]
    assert ["Waiting for the mailbox's owner" in one for one in texts] == [True, False]
    assert "Cancelled" in texts[1]
    harness.pass_time(days=2)
    assert len(harness.slack.replies(harness.cards()[0])) == 1
    assert harness.now(done).state is State.DONE


def test_an_alias_with_an_end_is_removed_by_the_bot(harness: Harness) -> None:
    """The bot removes an alias at the end of its last day in the bot's time zone."""
    harness.deps = harness.with_(zone=ZoneInfo("America/New_York"))
    change = Change(Action.ALIAS_ADD, NEW, last_day=date(2026, 11, 23))
    done = harness.approve(harness.ask(change=change), "bob")
    harness.pass_time(days=2, hours=16)
    assert NEW in harness.addresses()
    harness.pass_time(hours=1)
    assert NEW not in harness.addresses()
    removal = harness.requests_of("alice")[0]
    assert (removal.origin, removal.state) == ("expiry", State.DONE)
    assert "last day has passed" in harness.texts_to("alice")[-1]
    assert harness.now(done).due_at is None


def test_the_removal_at_the_end_is_retried_and_only_an_operator_can_cancel_it(
    harness: Harness,
) -> None:
    """The removal after the last day is retried until it succeeds or an operator cancels it."""

    def removal_during_an_outage(address: str) -> Request:
        change = Change(Action.ALIAS_ADD, address, last_day=harness.clock().date())
        harness.approve(harness.ask(change=change), "bob")
        harness.clock.advance(days=2)
        worker = Worker(harness.with_(executor=FailingExecutor()))
        for _ in range(MAX_ATTEMPTS + 2):
            harness.work(worker)
            harness.clock.advance(minutes=20)
        removal = harness.requests_of("alice")[0]
        assert (removal.origin, removal.state) == ("expiry", State.APPROVED)
        assert harness.cancel(removal).code == "request.not_cancellable"
        return removal

    retried = removal_during_an_outage(NEW)
    harness.work()
    assert harness.now(retried).state is State.DONE
    removal = removal_during_an_outage("second@example.com")
    database, clock = harness.deps.database, harness.clock
    answer = request_service.cancel_as_operator(database, clock, removal.id, "operator:root")
    assert answer.code == "request.cancelled"
    assert harness.now(removal).result == Reason("request.cancelled_by_operator")
    harness.work()
    assert harness.addresses() == {ALICE, "second@example.com"}


def test_an_end_is_announced_once_and_can_be_extended(harness: Harness) -> None:
    """A user is notified once before an alias or a destination ends, and can extend it."""
    harness.api.forwarder(TEAM, [BOB])
    change = Change(Action.FORWARD_ADD, TEAM, destinations=(ALICE,), last_day=date(2026, 12, 1))
    first = harness.approve(harness.ask(change=change), "bob", "dora")
    harness.pass_time(days=8)
    harness.pass_time(hours=1)
    notices = [
        first.id in text and "30 more days" in text for text in harness.texts_to("alice")[-2:]
    ]
    assert notices == [False, True]
    other = Change(Action.FORWARD_ADD, TEAM, destinations=("carol@example.com",))
    harness.approve(harness.ask("bob", other), "carol", "dora")
    extended = request_service.extend(harness.deps, harness.interaction(request_id=first.id))
    assert extended.change.last_day == date(2026, 12, 31)
    harness.work()
    assert harness.approve(harness.now(extended), "bob", "dora").state is State.DONE
    harness.pass_time(days=5)
    assert harness.api.get(TEAM).json()["members"] == [ALICE, BOB, "carol@example.com"]
    harness.pass_time(days=30)
    assert harness.api.get(TEAM).json()["members"] == [BOB, "carol@example.com"]
    for who in ("alice", "bob"):
        with pytest.raises(UserError):
            request_service.extend(harness.deps, harness.interaction(who, request_id=first.id))


def test_an_alias_without_an_end_is_given_none(harness: Harness) -> None:
    """A request for an existing alias without an end date does not add an end date."""
    harness.api.patch(ALICE, emails=[ALICE, NEW])
    refused = harness.ask(change=Change(Action.ALIAS_ADD, NEW, last_day=date(2026, 11, 23)))
    assert refused.state is State.REFUSED
    assert refused.result == Reason("end.not_later", {"address": NEW})
    # Someone who may not know Alice's aliases learns only that the address is in use.
    change = Change(Action.ALIAS_ADD, NEW, ALICE, last_day=date(2026, 11, 23))
    assert harness.ask("erin", change).result == Reason("address.taken", {"address": NEW})
    harness.pass_time(days=3)
    assert NEW in harness.addresses()


def test_destinations_with_different_ends_can_get_the_same_end(harness: Harness) -> None:
    """A new end date for several destinations is a change unless all of them have it already."""
    ends = {ALICE: date(2026, 11, 25), "carol@example.com": date(2026, 11, 23)}
    for destination, end in ends.items():
        change = Change(Action.FORWARD_ADD, TEAM, destinations=(destination,), last_day=end)
        harness.approve(harness.ask("bob", change), "carol", "dora")
    change = Change(Action.FORWARD_ADD, TEAM, destinations=tuple(ends), last_day=ends[ALICE])
    assert harness.approve(harness.ask("bob", change), "carol", "dora").state is State.DONE
    assert harness.ask("bob", change).result is not None
    harness.pass_time(days=4)
    assert harness.api.get(TEAM).json()["members"] == sorted(ends)


def test_nobody_else_can_keep_an_alias_from_ending(harness: Harness) -> None:
    """Another user's refused request does not prevent the removal of an expired alias."""
    ending = Change(Action.ALIAS_ADD, NEW, last_day=date(2026, 11, 23))
    harness.approve(harness.ask("bob", ending), "carol")
    assert harness.ask("alice", Change(Action.ALIAS_REMOVE, NEW)).state is State.REFUSED
    assert NEW in harness.addresses(BOB)
    harness.pass_time(days=3)
    assert NEW not in harness.addresses(BOB)


def test_the_same_wish_is_one_request(harness: Harness) -> None:
    """A repeated delivery finds the first request, and another identical request is refused."""
    change = Change(Action.ALIAS_ADD, NEW)
    once = harness.interaction()
    first = request_service.submit(harness.deps, once, change)
    assert request_service.submit(harness.deps, once, change).id == first.id
    with pytest.raises(UserError, match=rf"request.duplicate .*{first.id}"):
        harness.submit(change=change)
    harness.work()
    assert request_service.submit(harness.deps, once, change).id == first.id
    with pytest.raises(UserError, match=first.id):
        harness.ask(change=Change(Action.ALIAS_ADD, NEW, ALICE))
    with pytest.raises(UserError, match=first.id):
        harness.ask(change=change)


def test_somebody_of_another_workspace_gets_nowhere(harness: Harness) -> None:
    """A request from another workspace is refused before anything is stored."""
    elsewhere = harness.interaction(user="U0", team="T0000ELSE")
    with pytest.raises(UserError, match=r"person\.elsewhere"):
        request_service.submit(harness.deps, elsewhere, Change(Action.ALIAS_ADD, NEW))


def test_in_an_organisation_the_account_tells_who_belongs_here(harness: Harness) -> None:
    """In a Slack organization, the worker checks whether the user's account is in the workspace."""
    ours = replace(harness.deps.workspace, enterprise="E0000ORGA")
    deps = harness.with_(workspace=ours)
    mallory = harness.slack.person("mallory", email="mallory@example.com", team="T0000ELSE")
    command = harness.interaction(user=mallory.id, team="T0000ELSE")
    request = request_service.submit(deps, command, Change(Action.ALIAS_ADD, NEW))
    harness.work(Worker(deps))
    assert harness.now(request).state is State.REFUSED
    assert harness.now(request).result == Reason("person.other_workspace")


def test_limits_count_what_was_asked_for_before(harness: Harness) -> None:
    """Requests count against the limits in the order of their submission."""
    asked = []
    for number in range(4):
        asked.append(
            harness.submit(change=Change(Action.ALIAS_ADD, f"orders-{number}@example.com"))
        )
        harness.clock.advance(seconds=1)
    harness.work()
    states = [harness.now(each).state for each in asked]
    assert states == [State.PENDING] * 3 + [State.REFUSED]
    assert harness.now(asked[3]).result == Reason("limit.open_requests", {"count": 3})


@pytest.fixture
def _there(harness: Harness) -> None:
    """Create an alias for Alice, and a forwarder to Alice and Bob."""
    harness.api.patch(ALICE, emails=[ALICE, "sales@example.com"])
    harness.api.forwarder(TEAM, [ALICE, BOB])


@pytest.mark.usefixtures("_there")
@pytest.mark.parametrize(
    ("change", "code"),
    [
        (Change(Action.ALIAS_ADD, "x@elsewhere.example"), "domain.foreign"),
        (Change(Action.ALIAS_ADD, "bob@example.com"), "address.taken"),
        (Change(Action.ALIAS_ADD, "admin@example.com"), "address.reserved"),
        (Change(Action.PASSWORD, "zoe@example.com"), "mailbox.missing"),
        (Change(Action.ALIAS_ADD, ALICE), "alias.exists"),
        (Change(Action.ALIAS_ADD, "sales@example.com"), "alias.exists"),
        (Change(Action.ALIAS_REMOVE, NEW), "alias.missing"),
        (Change(Action.FORWARD_ADD, TEAM, destinations=(ALICE,)), "forward.exists"),
        (Change(Action.FORWARD_REMOVE, NEW), "forward.missing"),
    ],
)
def test_what_can_not_or_need_not_be_is_refused_without_a_card(
    harness: Harness, change: Change, code: str
) -> None:
    """An impossible or unnecessary request is refused with a reason and without a card."""
    request = harness.ask(change=change)
    assert request.state is State.REFUSED
    assert request.result is not None
    assert request.result.code == code
    assert reason_text(request.result) in harness.texts_to("alice")[-1]
    assert harness.cards() == []


@pytest.mark.usefixtures("_there")
@pytest.mark.parametrize(
    "change",
    [
        Change(Action.ALIAS_ADD, "sales@example.com", mailbox=ALICE),
        Change(Action.ALIAS_REMOVE, NEW, mailbox=ALICE),
        Change(Action.FORWARD_ADD, TEAM, destinations=(ALICE,)),
    ],
)
def test_what_is_so_of_others_is_told_to_approvers_alone(harness: Harness, change: Change) -> None:
    """Only approvers learn that a change to another user's address is unnecessary."""
    assert harness.ask("erin", change).state is State.PENDING
    assert harness.ask("bob", change).state is State.REFUSED


def test_another_end_is_something_to_do(harness: Harness) -> None:
    """Setting a new end date or removing one is a change. Setting the same end date is not."""
    first, later = date(2026, 11, 23), date(2026, 11, 25)
    for end in (first, later, None):
        change = Change(Action.ALIAS_ADD, NEW, last_day=end)
        assert harness.approve(harness.ask(change=change), "bob").state is State.DONE
        assert harness.ask(change=change).state is State.REFUSED
    harness.pass_time(days=6)
    assert NEW in harness.addresses()


def test_a_day_that_is_over_makes_no_request(harness: Harness) -> None:
    """A last day in the past is refused before a request is stored. Today is accepted."""
    today = harness.clock().date()
    with pytest.raises(EndDatePassed):
        harness.submit(change=Change(Action.ALIAS_ADD, NEW, last_day=today - timedelta(days=1)))
    assert harness.requests_of("alice") == []
    assert harness.ask(change=Change(Action.ALIAS_ADD, NEW, last_day=today)).state is State.PENDING
