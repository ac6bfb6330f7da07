# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Votes are checked against current data about users in Slack."""

from __future__ import annotations

import pytest

from ansible_collections.postroom.email.tests.bot.workflow.harness import ALICE, BOB, NEW, Harness
from postroom_bot.domain import (
    Action,
    Change,
    Interaction,
    MessageRef,
    Quorum,
    Request,
    State,
    VoteState,
)
from postroom_bot.policy.engine import quorum_met
from postroom_bot.workflow import request_service
from postroom_bot.workflow.people import DECISION_AGE, QUERY_AGE

FORWARD = Change(Action.FORWARD_ADD, "team@example.com", destinations=(ALICE,))


def _refused(harness: Harness, request: Request) -> list[str]:
    """Return the reasons why votes on a pending request were refused."""
    assert harness.now(request).state is State.PENDING
    assert NEW not in harness.addresses()
    return [one.refusal.code for one in harness.votes(request) if one.refusal is not None]


def test_nobody_approves_their_own_request(harness: Harness) -> None:
    """An admin can't approve their own request."""
    request = harness.ask("bob")
    assert harness.vote("bob", request).code == "vote.own_request"
    assert harness.votes(request) == []
    assert "vote.turned_away" in harness.events(request)
    assert harness.approve(request, "carol").state is State.DONE


def test_nobody_approves_it_from_their_second_account(harness: Harness) -> None:
    """A requester can't approve a request from a second Slack account with the same mailbox."""
    request = harness.ask("bob")
    harness.change_account("carol", email=BOB)
    harness.pass_time(days=4)
    request = harness.ask("bob")
    harness.approve(request, "carol")
    assert "vote.own_request" in _refused(harness, request)
    assert "someone else" in harness.texts_to("carol")[-1]


def test_one_person_is_not_two_approvers(harness: Harness) -> None:
    """A second Slack account with an approver's mailbox does not count as another approver."""
    harness.change_account("carol", email=BOB)
    harness.ask("carol")
    harness.pass_time(days=4)
    request = harness.ask("alice", Change(Action.PASSWORD, "erin@example.com"))
    harness.approve(request, "bob", "carol")
    assert len(_refused(harness, request)) == 1
    assert harness.approve(request, "dora").state is State.APPROVED


def test_a_second_vote_of_the_same_person_is_not_taken(harness: Harness) -> None:
    """A user's second vote on a request is refused."""
    request = harness.ask(change=FORWARD)
    harness.approve(request, "bob")
    assert harness.vote("bob", request).code == "vote.repeated"
    harness.work()
    assert harness.now(request).state is State.PENDING


def test_a_press_that_is_delivered_twice_is_one_vote(harness: Harness) -> None:
    """A button press that Slack delivers twice counts as one vote."""
    request = harness.ask(change=FORWARD)
    assert request.card is not None
    press = harness.interaction("bob", request_id=request.id, card=request.card)
    first = request_service.vote(harness.deps, press, approves=True)
    assert request_service.vote(harness.deps, press, approves=True) == first
    assert len(harness.votes(request)) == 1


def test_a_button_of_another_message_does_nothing(harness: Harness) -> None:
    """A vote counts only if the button is on the card that the bot posted for the request."""
    request = harness.ask()
    for card in (
        MessageRef("C00000000", "1.000001"),
        MessageRef(harness.channels["approvals"], "1.0"),
    ):
        assert harness.vote("bob", request, card=card).code == "vote.wrong_card"
    # If Slack delivers the press again, it gets the same answer.
    press = harness.interaction("bob", request_id="R-2222", card=card)
    first = request_service.vote(harness.deps, press, approves=True)
    assert request_service.vote(harness.deps, press, approves=True) == first
    assert harness.votes(request) == []


def test_a_button_of_another_app_or_workspace_does_nothing(harness: Harness) -> None:
    """A button press from another app or another workspace has no effect."""
    request = harness.ask()
    assert request.card is not None
    for elsewhere in ({"app": "A0000ELSE"}, {"team": "T0000ELSE"}):
        press = harness.interaction("bob", request_id=request.id, card=request.card, **elsewhere)
        request_service.vote(harness.deps, press, approves=True)
    press = harness.interaction("bob", request_id="R-2222", card=request.card)
    assert request_service.vote(harness.deps, press, approves=True).code == "vote.wrong_card"
    assert harness.votes(request) == []


def test_only_members_of_the_groups_have_a_vote(harness: Harness) -> None:
    """Only members of the approving groups can vote. The refusal names these groups."""
    request = harness.ask()
    harness.approve(request, "erin")
    assert "Only members of `admins`" in harness.texts_to("erin")[-1]
    harness.vote("erin", request, approves=False)
    harness.work()
    assert len(_refused(harness, request)) == 1
    assert harness.events(request).count("vote.refused") == 2


def test_a_known_non_approver_is_turned_away_with_current_data(harness: Harness) -> None:
    """A press is refused at once only if Slack confirms that the vote would not count."""
    request = harness.ask("bob")
    assert request.card is not None

    def press(who: str) -> Interaction:
        return harness.interaction(who, request_id=request.id, card=request.card)

    def turned_away(who: str) -> str | None:
        why = request_service.turn_away(harness.deps, press(who), approves=True)
        return why.code if why else None

    may_vote = request_service.may_vote
    harness.clock.advance(seconds=QUERY_AGE)
    assert may_vote(harness.deps, press("erin"))
    assert turned_away("erin") == "vote.not_an_approver"
    assert not may_vote(harness.deps, press("erin"))
    assert harness.details(request)["vote.turned_away"]["why"]["code"] == "vote.not_an_approver"
    assert turned_away("bob") == "vote.own_request"
    harness.slack.set_usergroup(harness.usergroups["admins"], harness.people["erin"])
    harness.clock.advance(seconds=DECISION_AGE)
    assert turned_away("erin") is None
    assert may_vote(harness.deps, press("erin"))
    harness.change_account("erin", is_restricted=True)
    with harness.slack.down():
        assert turned_away("erin") is None
    assert turned_away("erin") == "person.guest"
    assert not may_vote(harness.deps, press("erin"))
    harness.change_account("erin", is_restricted=False)
    assert harness.approve(request, "erin").state is State.DONE
    assert turned_away("carol") == "request.not_pending"
    other = harness.ask(change=FORWARD)
    harness.slack.set_usergroup(harness.usergroups["admins"], harness.people["carol"])
    harness.clock.advance(seconds=DECISION_AGE)
    harness.approve(other, "carol")
    again = harness.interaction("carol", request_id=other.id, card=other.card)
    why = request_service.turn_away(harness.deps, again, approves=False)
    assert why is not None
    assert why.code == "vote.repeated"


def test_a_denial_counts_without_a_reason(harness: Harness) -> None:
    """A denial without a reason ends the request, and the requester gets no empty reason."""
    request = harness.ask()
    press = harness.interaction("bob", request_id=request.id, card=request.card)
    request_service.vote(harness.deps, press, approves=False)
    harness.work()
    denied = harness.now(request)
    assert (denied.state, denied.result) == (State.DENIED, None)
    assert [one.state for one in harness.votes(request)] == [VoteState.COUNTED]
    assert harness.texts_to("alice")[-1].endswith(f"Denied by <@{harness.people['bob'].id}>.")


def test_who_has_left_the_group_or_the_company_has_no_vote(harness: Harness) -> None:
    """A vote counts only if the voter's group and account still allow it when votes are counted."""
    request = harness.voted()
    harness.slack.set_usergroup(harness.usergroups["admins"], harness.people["carol"])
    harness.vote("carol", request)
    harness.change_account("carol", deleted=True)
    harness.work()
    assert len(_refused(harness, request)) == 2


def test_a_vote_after_the_end_does_not_count(harness: Harness) -> None:
    """A vote cast after the end of a request does not count, but an earlier vote does."""
    late, early = harness.ask(), harness.ask("erin", Change(Action.ALIAS_ADD, "x@example.com"))
    harness.vote("bob", early)
    harness.clock.advance(days=1)
    harness.vote("bob", late)
    harness.work()
    assert harness.now(late).state is State.EXPIRED
    assert harness.now(early).state is State.DONE
    assert [one.state for one in harness.votes(late)] == [VoteState.REFUSED]
    assert "had expired" in harness.texts_to("bob")[0]


def test_an_ended_request_takes_no_votes(harness: Harness) -> None:
    """Votes on an ended request are refused, and the refusal states how the request ended."""
    request = harness.ask()
    harness.approve(request, "bob")
    assert harness.vote("carol", request).params["state"] == "done"
    request = harness.ask(change=Change(Action.ALIAS_ADD, "later@example.com"))
    harness.vote("bob", request)
    harness.cancel(request)
    harness.work()
    assert [vote.state for vote in harness.votes(request)] == [VoteState.REFUSED]
    assert "vote.refused" in harness.events(request)
    assert "was cancelled" in harness.texts_to("bob")[-1]


@pytest.mark.parametrize(
    ("quorum", "voters", "is_met"),
    [
        ({"a": 1}, "", False),
        ({"a": 1}, "a", True),
        ({"a": 2}, "a b", False),
        ({"a": 2}, "a a", True),
        ({"a": 1, "b": 1}, "ab", False),
        ({"a": 1, "b": 1}, "a a", False),
        ({"a": 1, "b": 1}, "ab a", True),
        ({"a": 2, "b": 1}, "ab b b", False),
        ({"a": 2, "b": 1}, "ab ab b", True),
        ({"a": 1, "b": 1, "c": 1}, "ab ab ab", False),
        ({"a": 1, "b": 1, "c": 1}, "ac bc c", True),
    ],
)
def test_each_approval_counts_for_one_group(
    quorum: dict[str, int], voters: str, is_met: bool
) -> None:
    """Each approval counts for one group.

    The quorum is met once every group has enough approvals.
    """
    members = [frozenset(one) for one in voters.split()]
    assert quorum_met([Quorum(*one) for one in quorum.items()], members) is is_met
