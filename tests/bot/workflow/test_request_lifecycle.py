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
from postroom_bot.domain import Action, Change, Reason, State
from postroom_bot.errors import UserError
from postroom_bot.store import ledger, tombstones
from postroom_bot.ui.reason_texts import reason_text
from postroom_bot.workflow.request_service import EndDatePassed, RequestService
from postroom_bot.workflow.worker import Worker

TEAM = "team@example.com"


def test_an_alias_is_asked_for_approved_and_added(office: Harness) -> None:
    """A requested alias is approved and added, with an audit row for each step."""
    request = office.ask()
    assert request.state is State.PENDING
    assert request.requester_mailbox == ALICE
    done = office.approve(request, "bob")
    assert done.state is State.DONE
    assert NEW in office.addresses()
    assert office.events(request) == [
        "request.new",
        "request.pending",
        "card.posted",
        "vote.cast",
        "vote.counted",
        "request.approved",
        "request.executing",
        "request.done",
    ]
    details = office.details(request)
    assert details["request.pending"]["digest"] == done.digest
    assert details["request.pending"]["policy"] == done.policy_digest
    assert details["vote.counted"]["groups"] == ["admins"]
    (card,) = office.cards()
    assert "Done" in card.text
    waiting, told = office.told("alice")
    assert "Waiting for 1 approval" in waiting
    assert "Done" in told
    (entry,) = office.deps.database.read(ledger.entries)
    assert (entry.request_id, entry.change.mailbox) == (done.id, ALICE)
    (line,) = office.slack.messages(office.channels["audit"])
    assert done.id in line.text


def test_what_needs_no_approval_is_done_at_once(office: Harness) -> None:
    """A request that needs no approval is executed without a card."""
    office.approve(office.ask(), "bob")
    gone = office.ask(change=Change(Action.ALIAS_REMOVE, NEW))
    assert gone.state is State.DONE
    assert office.details(gone)["request.approved"]["rule"] == gone.rule
    assert NEW not in office.addresses()
    assert len(office.cards()) == 1
    owner = office.deps.database.read(lambda c: tombstones.owner_of(c, NEW, now=office.clock()))
    assert owner == ALICE
    other = office.ask("erin")
    assert other.state is State.REFUSED
    assert other.result == Reason("address.kept_free", {"address": NEW})
    assert office.approve(office.ask(), "bob").state is State.DONE
    assert not office.deps.database.read(lambda c: tombstones.owner_of(c, NEW, now=office.clock()))


def test_a_forwarder_needs_somebody_of_each_group(office: Harness) -> None:
    """If two groups must approve a forwarder, an approver in both counts for only one of them."""
    change = Change(Action.FORWARD_ADD, "team@example.com", destinations=(ALICE,))
    request = office.ask(change=change)
    assert office.approve(request, "dora").state is State.PENDING
    done = office.approve(request, "carol")
    assert done.state is State.DONE
    members = office.api.get("team@example.com").json()["members"]
    assert members == [ALICE]


def test_a_denied_request_ends(office: Harness) -> None:
    """A denied request changes nothing, and the requester gets the reason."""
    request = office.ask()
    office.vote("bob", request, approves=False)
    office.work()
    assert office.now(request).state is State.DENIED
    assert NEW not in office.addresses()
    assert "Not now." in office.told("alice")[-1]
    assert office.details(request)["request.denied"]["reason"] == "Not now."


@pytest.mark.parametrize("state", [State.NEW, State.APPROVED])
def test_what_is_not_begun_can_be_cancelled(office: Harness, state: State) -> None:
    """A request can be cancelled until its execution begins."""
    request = office.submit()
    if state is State.APPROVED:
        office.work()
        office.vote("bob", office.now(request))
        Worker(office.with_(executor=FailingExecutor())).step()
    assert office.now(request).state is state
    answer = office.request_service.cancel(office.key(), request.id, request.requester)
    assert answer.code == "request.cancelled"
    office.work()
    assert office.now(request).state is State.CANCELLED
    assert office.addresses() == {ALICE}


def test_a_request_is_cancelled_by_its_requester_only(office: Harness) -> None:
    """Only the requester can cancel a request. For other users, the request ID is unknown."""
    request = office.ask()
    bob, alice = office.people["bob"].id, office.people["alice"].id
    assert office.request_service.cancel(office.key(), request.id, bob).code == "request.unknown"
    first = office.request_service.cancel(office.key(), request.id, alice)
    assert office.request_service.cancel(office.key(), request.id, alice) == first
    office.work()
    assert office.now(request).state is State.CANCELLED
    assert "Cancelled" in office.cards()[0].text
    assert office.events(request).count("request.cancelled") == 1


def test_approvers_are_reminded_once_and_then_the_request_expires(office: Harness) -> None:
    """Approvers are reminded once, with a link to the card. After that, the request expires."""
    request = office.ask()
    office.pass_time(hours=4)
    card, reminder = office.cards()
    assert "/archives/" in reminder.text
    assert all("<!subteam^S" in f"{one.text} {one.blocks}" for one in (card, reminder))
    channels = office.policies[0].channels.model_dump(exclude_none=True)
    office.set_policy(channels={**channels, "mention_approvers": False})
    assert office.policies[0].mentioned(request.quorum) == []
    office.pass_time(hours=10)
    assert len(office.cards()) == 2
    office.pass_time(hours=10)
    assert office.now(request).state is State.EXPIRED
    assert "Expired" in office.cards()[0].text
    assert "Expired" in office.told("alice")[-1]
    assert office.now(request).due_at is None


def test_an_alias_with_an_end_is_removed_by_the_bot(office: Harness) -> None:
    """The bot removes an alias at the end of its last day in the bot's time zone."""
    office.deps = office.with_(zone=ZoneInfo("America/New_York"))
    change = Change(Action.ALIAS_ADD, NEW, last_day=date(2026, 11, 23))
    done = office.approve(office.ask(change=change), "bob")
    office.pass_time(days=2, hours=16)
    assert NEW in office.addresses()
    office.pass_time(hours=1)
    assert NEW not in office.addresses()
    removal = office.lookups.status(office.people["alice"].id)[0]
    assert (removal.origin, removal.state) == ("expiry", State.DONE)
    assert "last day has passed" in office.told("alice")[-1]
    assert office.now(done).due_at is None


def test_an_end_is_announced_once_and_can_be_extended(office: Harness) -> None:
    """A user is notified once before an alias or a destination ends, and can extend it."""
    office.api.forwarder(TEAM, [BOB])
    alice, team = office.people["alice"].id, office.deps.workspace.team
    change = Change(Action.FORWARD_ADD, TEAM, destinations=(ALICE,), last_day=date(2026, 12, 1))
    first = office.approve(office.ask(change=change), "bob", "dora")
    office.pass_time(days=8)
    office.pass_time(hours=1)
    notices = [first.id in told and "30 more days" in told for told in office.told("alice")[-2:]]
    assert notices == [False, True]
    other = Change(Action.FORWARD_ADD, TEAM, destinations=("carol@example.com",))
    office.approve(office.ask("bob", other), "carol", "dora")
    extended = office.request_service.extend(office.key(), first.id, alice, team)
    assert extended.change.last_day == date(2026, 12, 31)
    office.work()
    assert office.approve(office.now(extended), "bob", "dora").state is State.DONE
    office.pass_time(days=5)
    assert office.api.get(TEAM).json()["members"] == [ALICE, BOB, "carol@example.com"]
    office.pass_time(days=30)
    assert office.api.get(TEAM).json()["members"] == [BOB, "carol@example.com"]
    for user in (alice, office.people["bob"].id):
        with pytest.raises(UserError):
            office.request_service.extend(office.key(), first.id, user, team)


def test_an_alias_without_an_end_is_given_none(office: Harness) -> None:
    """A request for an existing alias without an end date does not add an end date."""
    office.api.patch(ALICE, emails=[ALICE, NEW])
    refused = office.ask(change=Change(Action.ALIAS_ADD, NEW, last_day=date(2026, 11, 23)))
    assert (refused.state, refused.result) == (State.REFUSED, Reason("end.none", {"address": NEW}))
    office.pass_time(days=3)
    assert NEW in office.addresses()


def test_nobody_else_can_keep_an_alias_from_ending(office: Harness) -> None:
    """Another user's refused request does not prevent the removal of an expired alias."""
    ending = Change(Action.ALIAS_ADD, NEW, last_day=date(2026, 11, 23))
    office.approve(office.ask("bob", ending), "carol")
    assert office.ask("alice", Change(Action.ALIAS_REMOVE, NEW)).state is State.REFUSED
    assert NEW in office.addresses(BOB)
    office.pass_time(days=3)
    assert NEW not in office.addresses(BOB)


def test_the_same_wish_is_one_request(office: Harness) -> None:
    """A repeated delivery finds the first request, and another identical request is refused."""
    change = Change(Action.ALIAS_ADD, NEW)
    alice, team = office.people["alice"].id, office.deps.workspace.team
    first = office.request_service.submit("once", change, alice, team)
    assert office.request_service.submit("once", change, alice, team).id == first.id
    with pytest.raises(UserError, match=rf"request.duplicate .*{first.id}"):
        office.request_service.submit("again", change, alice, team)
    office.work()
    assert office.request_service.submit("once", change, alice, team).id == first.id
    with pytest.raises(UserError, match=first.id):
        office.ask(change=Change(Action.ALIAS_ADD, NEW, ALICE))
    # If the request names no mailbox, the worker must determine the mailbox first.
    unnamed = office.ask(change=change)
    assert unnamed.state is State.REFUSED
    assert unnamed.result == Reason("request.duplicate", {"request": first.id})


def test_somebody_of_another_workspace_gets_nowhere(office: Harness) -> None:
    """A request from another workspace is refused before anything is stored."""
    with pytest.raises(UserError, match=r"person\.elsewhere"):
        office.request_service.submit("key", Change(Action.ALIAS_ADD, NEW), "U0", "T0000ELSE")


def test_in_an_organisation_the_account_tells_who_belongs_here(office: Harness) -> None:
    """In a Slack organization, the worker checks whether the user's account is in the workspace."""
    ours = replace(office.deps.workspace, enterprise="E0000ORGA")
    request_service = RequestService(office.deps.database, office.clock, ours)
    mallory = office.slack.person("mallory", email="mallory@example.com", team="T0000ELSE")
    change = Change(Action.ALIAS_ADD, NEW)
    request = request_service.submit(office.key(), change, mallory.id, "T0000ELSE")
    office.work(Worker(office.with_(workspace=ours)))
    assert office.now(request).state is State.REFUSED
    assert office.now(request).result == Reason("person.other_workspace")


def test_limits_count_what_was_asked_for_before(office: Harness) -> None:
    """Requests count against the limits in the order of their submission."""
    asked = []
    for number in range(4):
        asked.append(office.submit(change=Change(Action.ALIAS_ADD, f"orders-{number}@example.com")))
        office.clock.advance(seconds=1)
    office.work()
    states = [office.now(each).state for each in asked]
    assert states == [State.PENDING] * 3 + [State.REFUSED]


@pytest.fixture
def _there(office: Harness) -> None:
    """Create an alias for Alice, and a forwarder to Alice and Bob."""
    office.api.patch(ALICE, emails=[ALICE, "sales@example.com"])
    office.api.forwarder(TEAM, [ALICE, BOB])


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
    office: Harness, change: Change, code: str
) -> None:
    """An impossible or unnecessary request is refused with a reason and without a card."""
    request = office.ask(change=change)
    assert request.state is State.REFUSED
    assert request.result is not None
    assert request.result.code == code
    assert reason_text(request.result) in office.told("alice")[-1]
    assert office.cards() == []


@pytest.mark.usefixtures("_there")
@pytest.mark.parametrize(
    "change",
    [
        Change(Action.ALIAS_ADD, "sales@example.com", mailbox=ALICE),
        Change(Action.ALIAS_REMOVE, NEW, mailbox=ALICE),
        Change(Action.FORWARD_ADD, TEAM, destinations=(ALICE,)),
    ],
)
def test_what_is_so_of_others_is_told_to_approvers_alone(office: Harness, change: Change) -> None:
    """Only approvers learn that a change to another user's address is unnecessary."""
    assert office.ask("erin", change).state is State.PENDING
    assert office.ask("bob", change).state is State.REFUSED


def test_another_end_is_something_to_do(office: Harness) -> None:
    """Setting a new end date or removing one is a change. Setting the same end date is not."""
    first, later = date(2026, 11, 23), date(2026, 11, 25)
    for end in (first, later, None):
        change = Change(Action.ALIAS_ADD, NEW, last_day=end)
        assert office.approve(office.ask(change=change), "bob").state is State.DONE
        assert office.ask(change=change).state is State.REFUSED
    office.pass_time(days=6)
    assert NEW in office.addresses()


def test_a_day_that_is_over_makes_no_request(office: Harness) -> None:
    """A last day in the past is refused before a request is stored. Today is accepted."""
    today = office.clock().date()
    with pytest.raises(EndDatePassed):
        office.submit(change=Change(Action.ALIAS_ADD, NEW, last_day=today - timedelta(days=1)))
    assert office.lookups.status(office.people["alice"].id) == []
    assert office.ask(change=Change(Action.ALIAS_ADD, NEW, last_day=today)).state is State.PENDING
