# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Whose vote counts, and whose does not, by what Slack says of people when it is judged."""

from __future__ import annotations

from ansible_collections.postroom.email.tests.bot.work.office import ALICE, BOB, NEW, Office
from postroom_bot.model import Action, Posted, Request, State, VoteState, Wish

FORWARD = Wish(Action.FORWARD_ADD, "team@example.com", destinations=(ALICE,))


def _refused(office: Office, request: Request) -> list[str]:
    """Return why votes on a pending request were refused."""
    assert office.now(request).state is State.PENDING
    assert NEW not in office.addresses()
    return [one.reason for one in office.votes(request) if one.state is VoteState.REFUSED]


def test_nobody_approves_their_own_request(office: Office) -> None:
    """An admin who asks needs another admin; the desk says so at once."""
    request = office.ask("bob")
    assert "someone else has to approve it" in office.vote("bob", request)
    assert office.votes(request) == []
    assert "vote.turned_away" in office.events(request)
    assert office.approve(request, "carol").state is State.DONE


def test_nobody_approves_it_from_their_second_account(office: Office) -> None:
    """Two Slack accounts with one mailbox are one person."""
    request = office.ask("bob")
    office.slack.change_user(office.people["carol"], announce=False, email=BOB)
    office.pass_time(days=4)
    request = office.ask("bob")
    office.approve(request, "carol")
    assert any("someone else has to approve it" in why for why in _refused(office, request))
    assert "someone else" in office.told("carol")[-1]


def test_one_person_is_not_two_approvers(office: Office) -> None:
    """A second account with the mailbox of somebody who has approved does not count."""
    office.slack.change_user(office.people["carol"], announce=False, email=BOB)
    office.ask("carol")
    office.pass_time(days=4)
    request = office.ask("alice", Wish(Action.PASSWORD, "erin@example.com"))
    office.approve(request, "bob", "carol")
    assert len(_refused(office, request)) == 1
    assert office.approve(request, "dora").state is State.APPROVED


def test_a_second_vote_of_the_same_person_is_not_taken(office: Office) -> None:
    """One person has one say."""
    request = office.ask(wish=FORWARD)
    office.approve(request, "bob")
    assert "answered this request already" in office.vote("bob", request)
    office.work()
    assert office.now(request).state is State.PENDING


def test_a_press_that_is_delivered_twice_is_one_vote(office: Office) -> None:
    """The key of the delivery tells, and the answer is the same."""
    request = office.ask(wish=FORWARD)
    assert request.card is not None
    press = ("press", request.id, office.people["bob"].id, office.deps.workspace.team)
    more = (True, "", request.card, office.deps.workspace.app)
    assert office.desk.vote(*press, *more) == office.desk.vote(*press, *more)
    assert len(office.votes(request)) == 1


def test_a_button_of_another_message_does_nothing(office: Office) -> None:
    """Only the card that the bot posted for the request carries votes on it."""
    request = office.ask()
    for card in (Posted("C00000000", "1.000001"), Posted(office.channels["approvals"], "1.0")):
        assert "not the request's own card" in office.vote("bob", request, card=card)
    assert office.votes(request) == []


def test_a_button_of_another_app_or_workspace_does_nothing(office: Office) -> None:
    """What Slack says of the message and of the person is compared."""
    request = office.ask()
    assert request.card is not None
    bob, ours = office.people["bob"].id, office.deps.workspace
    for team, app in ((ours.team, "A0000ELSE"), ("T0000ELSE", ours.app)):
        office.desk.vote(office.key(), request.id, bob, team, True, "", request.card, app)
    unknown = ("R-2222", bob, ours.team, True, "", request.card, ours.app)
    assert "not the request's own card" in office.desk.vote(office.key(), *unknown)
    assert office.votes(request) == []


def test_only_members_of_the_groups_have_a_vote(office: Office) -> None:
    """Others are told who has, by a direct message; deny is a vote as well."""
    request = office.ask()
    office.approve(request, "erin")
    assert "Only members of `admins`" in office.told("erin")[-1]
    office.vote("erin", request, approves=False)
    office.work()
    assert len(_refused(office, request)) == 1
    assert office.events(request).count("vote.refused") == 2


def test_who_has_left_the_group_has_no_vote(office: Office) -> None:
    """The group counts as it is when the vote is judged, not as it was a minute ago."""
    request = office.voted()
    office.slack.set_usergroup(office.usergroups["admins"], office.people["carol"])
    office.work()
    assert len(_refused(office, request)) == 1


def test_guests_and_disabled_accounts_have_no_vote(office: Office) -> None:
    """Slack says so when the vote is judged, whatever was so before."""
    request = office.ask()
    for who, what in (("bob", "is_restricted"), ("carol", "deleted")):
        office.vote(who, request)
        office.slack.change_user(office.people[who], announce=False, **{what: True})
    office.work()
    assert len(_refused(office, request)) == 2


def test_a_refused_vote_may_be_cast_again(office: Office) -> None:
    """Who has become a member meanwhile is heard."""
    request = office.ask()
    office.approve(request, "erin")
    office.slack.set_usergroup(office.usergroups["admins"], office.people["erin"])
    assert office.approve(request, "erin").state is State.DONE


def test_a_vote_after_the_end_does_not_count(office: Office) -> None:
    """One from before it does, even where nobody could look at it until later."""
    late, early = office.ask(), office.ask("erin", Wish(Action.ALIAS_ADD, "x@example.com"))
    office.vote("bob", early)
    office.clock.advance(days=1)
    office.vote("bob", late)
    office.work()
    assert office.now(late).state is State.EXPIRED
    assert office.now(early).state is State.DONE
    assert [one.state for one in office.votes(late)] == [VoteState.REFUSED]
    assert "had expired" in office.told("bob")[0]


def test_an_ended_request_takes_no_votes(office: Office) -> None:
    """The voter hears how it ended."""
    request = office.ask()
    office.approve(request, "bob")
    assert "is done already" in office.vote("carol", request)
