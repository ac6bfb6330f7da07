# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Votes and look-ups are checked against current data about users in Slack."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from ansible_collections.postroom.email.tests.bot.workflow.harness import ALICE, BOB, NEW, Harness
from postroom_bot.backends.mail_api import MailApi
from postroom_bot.domain import (
    Action,
    ButtonPress,
    Change,
    MessageRef,
    Quorum,
    Request,
    State,
    VoteState,
)
from postroom_bot.errors import UserError
from postroom_bot.policy.engine import quorum_met
from postroom_bot.workflow.lookups import Lookups

FORWARD = Change(Action.FORWARD_ADD, "team@example.com", destinations=(ALICE,))


def _refused(office: Harness, request: Request) -> list[str]:
    """Return the reasons why votes on a pending request were refused."""
    assert office.now(request).state is State.PENDING
    assert NEW not in office.addresses()
    return [one.refusal.code for one in office.votes(request) if one.refusal is not None]


def test_nobody_approves_their_own_request(office: Harness) -> None:
    """An admin can't approve their own request."""
    request = office.ask("bob")
    assert office.vote("bob", request).code == "vote.own_request"
    assert office.votes(request) == []
    assert "vote.turned_away" in office.events(request)
    assert office.approve(request, "carol").state is State.DONE


def test_nobody_approves_it_from_their_second_account(office: Harness) -> None:
    """A requester can't approve a request from a second Slack account with the same mailbox."""
    request = office.ask("bob")
    office.slack.change_user(office.people["carol"], announce=False, email=BOB)
    office.pass_time(days=4)
    request = office.ask("bob")
    office.approve(request, "carol")
    assert "vote.own_request" in _refused(office, request)
    assert "someone else" in office.told("carol")[-1]


def test_one_person_is_not_two_approvers(office: Harness) -> None:
    """A second Slack account with an approver's mailbox does not count as another approver."""
    office.slack.change_user(office.people["carol"], announce=False, email=BOB)
    office.ask("carol")
    office.pass_time(days=4)
    request = office.ask("alice", Change(Action.PASSWORD, "erin@example.com"))
    office.approve(request, "bob", "carol")
    assert len(_refused(office, request)) == 1
    assert office.approve(request, "dora").state is State.APPROVED


def test_a_second_vote_of_the_same_person_is_not_taken(office: Harness) -> None:
    """A user's second vote on a request is refused."""
    request = office.ask(change=FORWARD)
    office.approve(request, "bob")
    assert office.vote("bob", request).code == "vote.repeated"
    office.work()
    assert office.now(request).state is State.PENDING


def test_a_press_that_is_delivered_twice_is_one_vote(office: Harness) -> None:
    """A button press that Slack delivers twice counts as one vote."""
    request = office.ask(change=FORWARD)
    assert request.card is not None
    press = ("press", request.id, office.people["bob"].id, office.deps.workspace.team)
    more = (True, request.card, office.deps.workspace.app)
    pressed = ButtonPress(*press, *more)
    assert office.request_service.vote(pressed) == office.request_service.vote(pressed)
    assert len(office.votes(request)) == 1


def test_a_button_of_another_message_does_nothing(office: Harness) -> None:
    """A vote counts only if the button is on the card that the bot posted for the request."""
    request = office.ask()
    for card in (
        MessageRef("C00000000", "1.000001"),
        MessageRef(office.channels["approvals"], "1.0"),
    ):
        assert office.vote("bob", request, card=card).code == "vote.wrong_card"
    # If Slack delivers the press again, it gets the same answer.
    press = ("press", "R-2222", office.people["bob"].id, office.deps.workspace.team)
    more = (True, card, office.deps.workspace.app)
    pressed = ButtonPress(*press, *more)
    assert office.request_service.vote(pressed) == office.request_service.vote(pressed)
    assert office.votes(request) == []


def test_a_button_of_another_app_or_workspace_does_nothing(office: Harness) -> None:
    """A button press from another app or another workspace has no effect."""
    request = office.ask()
    assert request.card is not None
    bob, ours = office.people["bob"].id, office.deps.workspace
    for team, app in ((ours.team, "A0000ELSE"), ("T0000ELSE", ours.app)):
        press = ButtonPress(office.key(), request.id, bob, team, True, request.card, app)
        office.request_service.vote(press)
    unknown = ("R-2222", bob, ours.team, True, request.card, ours.app)
    assert (
        office.request_service.vote(ButtonPress(office.key(), *unknown)).code == "vote.wrong_card"
    )
    assert office.votes(request) == []


def test_only_members_of_the_groups_have_a_vote(office: Harness) -> None:
    """Only members of the approving groups can vote. The refusal names these groups."""
    request = office.ask()
    office.approve(request, "erin")
    assert "Only members of `admins`" in office.told("erin")[-1]
    office.vote("erin", request, approves=False)
    office.work()
    assert len(_refused(office, request)) == 1
    assert office.events(request).count("vote.refused") == 2


def test_who_has_left_the_group_or_the_company_has_no_vote(office: Harness) -> None:
    """A vote counts only if the voter's group and account still allow it when votes are counted."""
    request = office.voted()
    office.slack.set_usergroup(office.usergroups["admins"], office.people["carol"])
    office.vote("carol", request)
    office.slack.change_user(office.people["carol"], announce=False, deleted=True)
    office.work()
    assert len(_refused(office, request)) == 2


def test_a_vote_after_the_end_does_not_count(office: Harness) -> None:
    """A vote cast after the end of a request does not count, but an earlier vote does."""
    late, early = office.ask(), office.ask("erin", Change(Action.ALIAS_ADD, "x@example.com"))
    office.vote("bob", early)
    office.clock.advance(days=1)
    office.vote("bob", late)
    office.work()
    assert office.now(late).state is State.EXPIRED
    assert office.now(early).state is State.DONE
    assert [one.state for one in office.votes(late)] == [VoteState.REFUSED]
    assert "had expired" in office.told("bob")[0]


def test_an_ended_request_takes_no_votes(office: Harness) -> None:
    """Votes on an ended request are refused, and the refusal states how the request ended."""
    request = office.ask()
    office.approve(request, "bob")
    assert office.vote("carol", request).params["state"] == "done"
    request = office.ask(change=Change(Action.ALIAS_ADD, "later@example.com"))
    office.vote("bob", request)
    office.request_service.cancel(office.key(), request.id, office.people["alice"].id)
    office.work()
    assert [vote.state for vote in office.votes(request)] == [VoteState.REFUSED]
    assert "vote.refused" in office.events(request)
    assert "was cancelled" in office.told("bob")[-1]


@pytest.fixture
def lookups(office: Harness) -> Lookups:
    """Provide the part of the workflow that answers queries."""
    office.api.patch(ALICE, emails=[ALICE, "sales@example.com"])
    office.api.forwarder("team@example.com", [ALICE])
    office.api.forwarder("board@example.com", [BOB])
    return Lookups(office.deps)


def _as(office: Harness, who: str) -> tuple[str, str]:
    return office.people[who].id, office.deps.workspace.team


def test_only_approvers_see_aliases_of_others(office: Harness, lookups: Lookups) -> None:
    """Only approvers can see the aliases of other users' mailboxes."""
    own = (ALICE, ["sales@example.com"])
    assert lookups.aliases(*_as(office, "alice")) == own
    assert lookups.aliases(*_as(office, "alice"), ALICE) == own
    assert lookups.aliases(*_as(office, "bob"), ALICE).mailbox == ALICE
    for mailbox in (ALICE, "zoe@example.com"):
        with pytest.raises(UserError, match=r"mailbox\.private"):
            lookups.aliases(*_as(office, "erin"), mailbox)
    with pytest.raises(UserError, match=r"mailbox\.missing"):
        lookups.aliases(*_as(office, "bob"), "zoe@example.com")


def test_forwarders_are_seen_by_approvers_and_by_those_who_get_the_mail(
    office: Harness, lookups: Lookups
) -> None:
    """Forwarders are visible to approvers and to the people who receive their mail."""
    assert len(lookups.forwarders(*_as(office, "bob"))) == 2
    (one,) = lookups.forwarders(*_as(office, "alice"))
    assert one.address == "team@example.com"
    assert lookups.forwarders(*_as(office, "erin")) == []


def test_records_are_no_secret(office: Harness, lookups: Lookups) -> None:
    """Any member can see DNS records, because they are public."""
    assert lookups.dns(*_as(office, "erin"), "example.com").records
    with pytest.raises(UserError):
        lookups.dns(*_as(office, "erin"), "elsewhere.example")


def test_guests_and_outsiders_see_nothing(office: Harness, lookups: Lookups) -> None:
    """Guests and members of other workspaces can't look anything up."""
    with pytest.raises(UserError, match=r"person\.elsewhere"):
        lookups.aliases(office.people["alice"].id, "T0000ELSE")
    office.slack.change_user(office.people["alice"], announce=False, is_restricted=True)
    for look in (lookups.aliases, lookups.forwarders):
        with pytest.raises(UserError, match=r"person\.guest"):
            look(*_as(office, "alice"))
    office.slack.change_user(office.people["erin"], announce=False, email="e@elsewhere.example")
    with pytest.raises(UserError):
        lookups.aliases(*_as(office, "erin"))
    assert lookups.forwarders(*_as(office, "erin")) == []


def test_who_does_not_answer_is_told(office: Harness, lookups: Lookups) -> None:
    """If Slack or the mail service does not respond, the user gets an error that says so."""
    with office.slack.down(), pytest.raises(UserError, match=r"slack\.unavailable"):
        lookups.aliases(*_as(office, "alice"))
    mail = MailApi("http://127.0.0.1:9", SecretStr("none"), timeout=0.5)
    silent = Lookups(office.with_(mail=mail))
    user, team = _as(office, "alice")
    for look in (
        lambda: silent.aliases(user, team),
        lambda: silent.forwarders(user, team),
        lambda: silent.dns(user, team, "example.com"),
    ):
        with pytest.raises(UserError) as refusal:
            look()
        assert refusal.value.reason.code == "retry.later"
    mail.close()


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
