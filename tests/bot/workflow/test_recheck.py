# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Everything that a decision depends on is checked again before a request is executed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.bot.workflow.harness import (
    ALICE,
    BOB,
    NEW,
    FailingExecutor,
    Harness,
    InterruptedExecutor,
)
from postroom_bot.domain import Action, Change, Reason, Request, State, Vote, VoteState
from postroom_bot.store import requests, tombstones, votes
from postroom_bot.workflow.worker import Worker
from postroom_common.database import Connection

Disturbance = Callable[[Harness, Request], object]


def _account(**changes: Any) -> Disturbance:
    """Return a function that changes the requester's Slack account."""
    return lambda o, _: o.change_account("alice", **changes)


def _buried(harness: Harness, _: Request) -> None:
    at = harness.clock()
    until = at + timedelta(days=90)
    reserve = tombstones.add
    harness.deps.database.write(lambda c: reserve(c, NEW, "erin@example.com", at=at, until=until))


def _edited(harness: Harness, request: Request) -> None:
    change = replace(request.change, mailbox="erin@example.com")
    now = harness.now(request)
    harness.deps.database.write(lambda c: requests.save(c, now, change=change))


STRICTER = {"name": "aliases", "actions": ["alias.add"], "approvals": {"admins": 2}}
DENIED = {"name": "none", "deny": "There are no new aliases this week."}
CHANGES: list[tuple[Disturbance, str]] = [
    (_account(email="erin@example.com"), "request.requester_changed"),
    (lambda o, _: o.set_policy(rules=[STRICTER]), "request.policy_changed"),
    (lambda o, _: o.set_policy(rules=[DENIED]), "request.now_denied"),
    (_buried, "address.kept_free"),
    (_edited, "request.edited"),
]
LATER_CHANGES: list[tuple[Disturbance, str]] = [
    (_account(deleted=True), "request.requester_changed"),
    (_account(is_restricted=True), "request.requester_changed"),
    (
        lambda o, _: o.slack.set_usergroup(o.usergroups["admins"], o.people["carol"]),
        "request.approvers_changed",
    ),
    (
        lambda o, _: o.change_account("bob", deleted=True),
        "request.approvers_changed",
    ),
]


@pytest.mark.parametrize(("change", "says"), CHANGES)
def test_a_change_before_the_decision_stops_it(
    harness: Harness, change: Disturbance, says: str
) -> None:
    """A change that occurs before the votes are counted stops the request."""
    request = harness.ask()
    change(harness, request)
    stopped = harness.approve(request, "bob")
    assert stopped.state is State.REFUSED
    assert says in str(stopped.result)
    assert NEW not in harness.addresses() | harness.addresses("erin@example.com")
    assert "Stopped" in harness.cards()[0].text


@pytest.mark.parametrize(("change", "says"), [*CHANGES, *LATER_CHANGES])
def test_a_change_after_the_decision_stops_it_too(
    harness: Harness, change: Disturbance, says: str
) -> None:
    """A change that occurs between the approval and a delayed execution stops the request."""
    request = harness.voted()
    Worker(harness.with_(executor=FailingExecutor())).step()
    assert harness.now(request).state is State.APPROVED
    change(harness, request)
    harness.pass_time(minutes=1)
    stopped = harness.now(request)
    assert stopped.state is State.REFUSED
    assert says in str(stopped.result)
    assert NEW not in harness.addresses() | harness.addresses("erin@example.com")


def test_a_policy_that_says_the_same_by_another_rule_stops_nothing(harness: Harness) -> None:
    """A policy change does not stop a request if another rule leads to the same decision."""
    request = harness.ask()
    rule = {"name": "new-ones", "actions": ["alias.add"], "approvals": {"admins": 1}}
    harness.set_policy(rules=[rule], limits={"open_requests": 1})
    assert harness.approve(request, "bob").state is State.DONE


def test_an_address_that_was_taken_meanwhile_fails(harness: Harness) -> None:
    """If an address was taken in the meantime, the request fails without naming the new owner."""
    request = harness.ask()
    harness.api.patch("erin@example.com", emails=["erin@example.com", NEW])
    failed = harness.approve(request, "bob")
    assert failed.state is State.FAILED
    assert failed.result == Reason("address.taken", {"address": NEW})


def test_what_was_approved_expires_if_it_is_not_carried_out(harness: Harness) -> None:
    """An approved request expires if it can't be executed in time."""
    request = harness.voted()
    Worker(harness.with_(executor=FailingExecutor(retry_after=2 * 86400))).step()
    harness.pass_time(days=2, seconds=1)
    assert harness.now(request).state is State.EXPIRED
    assert NEW not in harness.addresses()


def test_a_request_that_was_stopped_in_the_midst_says_that_it_may_be_done(harness: Harness) -> None:
    """A request that is stopped during its execution reports that it may have taken effect."""
    request = harness.voted()
    Worker(harness.with_(executor=InterruptedExecutor(harness.deps.executor))).step()
    assert harness.now(request).state is State.EXECUTING
    _account(deleted=True)(harness, request)
    harness.pass_time(minutes=1)
    stopped = harness.now(request)
    assert stopped.state is State.REFUSED
    assert stopped.result is not None
    assert stopped.result.code == "request.maybe_executed"


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("change", Change(Action.ALIAS_ADD, "stolen@example.com")),
        ("requester", "U00000001"),
        ("requester_mailbox", BOB),
        ("quorum", ()),
        ("policy_digest", "0"),
    ],
)
def test_an_edited_row_is_seen_when_it_is_judged(
    harness: Harness, column: str, value: object
) -> None:
    """An edited request is detected by its digest, which covers the change and the approvers."""
    request = harness.ask()
    edit: dict[str, Any] = {column: value}
    harness.deps.database.write(lambda c: requests.save(c, request, **edit))
    assert harness.approve(request, "bob").result == Reason("request.edited")
    assert harness.addresses() == {ALICE}


@pytest.mark.parametrize("origin", ["slack", "expiry"])
def test_a_state_alone_approves_nothing(harness: Harness, origin: str) -> None:
    """A request that was set to approved by hand is refused, because it has no votes."""
    harness.api.patch(BOB, emails=[BOB, NEW])
    request = harness.ask(change=Change(Action.ALIAS_REMOVE, NEW, BOB))
    assert request.state is State.PENDING

    def edit(c: Connection) -> None:
        requests.transition(c, request, State.APPROVED, at=harness.clock(), origin=origin)
        requests.mark_due(c, request.id, at=harness.clock())

    harness.deps.database.write(edit)
    harness.work()
    assert harness.now(request).state is State.REFUSED
    assert NEW in harness.addresses(BOB)


def _forge(harness: Harness, request: Request, who: str, state: VoteState) -> None:
    """Write a vote into the database."""
    assert request.card is not None
    vote = Vote(
        request=request.id,
        voter=harness.people[who].id,
        team=request.team,
        approves=True,
        state=state,
        at=harness.clock(),
        card=request.card,
        mailbox=f"{who}@example.com" if state is VoteState.COUNTED else None,
        groups=("admins",),
    )

    def write(c: Connection) -> None:
        assert votes.cast(c, vote)
        requests.mark_due(c, request.id, at=harness.clock())

    harness.deps.database.write(write)


@pytest.mark.parametrize("who", ["erin", "bob"])
def test_a_forged_approval_stops_the_request(harness: Harness, who: str) -> None:
    """A forged approval, by the requester or by anyone who may not approve, stops the request."""
    change = Change(Action.FORWARD_ADD, "team@example.com", destinations=(ALICE,))
    request = harness.ask("bob", change)
    _forge(harness, request, who, VoteState.COUNTED)
    assert harness.approve(request, "dora").state is State.REFUSED
    assert harness.api.get("team@example.com").status_code == 404


def test_the_requesters_vote_is_refused_when_it_is_judged(harness: Harness) -> None:
    """A requester's own vote is refused when votes are counted, even if it was stored."""
    request = harness.ask("bob")
    _forge(harness, request, "bob", VoteState.CAST)
    harness.work()
    assert harness.now(request).state is State.PENDING
    assert [one.refusal for one in harness.votes(request)] == [Reason("vote.own_request")]


def test_the_bot_s_own_removal_is_compared_with_its_digest(harness: Harness) -> None:
    """A removal request forged in the bot's name is not executed, because its digest is wrong."""
    harness.api.mailbox("zoe@example.com", "zz@example.com")
    change = Change(Action.ALIAS_REMOVE, "zz@example.com", "zoe@example.com")
    at = harness.clock()
    forged = harness.deps.database.write(
        lambda c: requests.add(
            c,
            change=change,
            requester=harness.people["alice"].id,
            team=harness.deps.workspace.team,
            at=at,
            origin="expiry",
            state=State.APPROVED,
            requester_mailbox=ALICE,
        )
    )
    harness.work()
    assert harness.now(forged).state is State.REFUSED
    assert "zz@example.com" in harness.addresses("zoe@example.com")
