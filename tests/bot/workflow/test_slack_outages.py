# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A slow, overloaded or failing Slack delays requests, but does not change their outcome."""

from __future__ import annotations

import copy
from datetime import timedelta

import pytest

from ansible_collections.postroom.email.tests.bot.workflow.harness import (
    ALICE,
    NEW,
    FailingExecutor,
    Harness,
)
from postroom_bot.domain import Action, Change, MessageRef, Request, State
from postroom_bot.store import sent_notifications
from postroom_bot.ui.markup import Message
from postroom_bot.workflow.worker import Worker

READING = ("users:read", "users:read.email", "usergroups:read")


def _errors(office: Harness, where: str) -> float:
    """Return the number of errors of this kind, as shown in the metrics."""
    value = office.deps.metrics.registry.get_sample_value(
        "postroom_bot_errors_total", {"where": where}
    )
    return value or 0.0


def _settle(office: Harness, request: Request, state: State) -> None:
    """Advance the clock until a request has reached a state and everyone has been notified."""
    for _ in range(20):
        office.pass_time(minutes=1)
    assert office.now(request).state is state
    sent = office.deps.database.read(lambda c: sent_notifications.kinds_of(c, request.id))
    assert any(kind.startswith(state) for kind in sent)


def test_the_pause_that_slack_asks_for_is_kept(office: Harness) -> None:
    """A card is posted only after the pause that Slack asks for."""
    office.slack.faults.rate_limit("chat.postMessage", retry_after=300)
    request = office.ask()
    assert request.state is State.PENDING
    office.pass_time(seconds=299)
    assert office.cards() == []
    office.pass_time(seconds=1)
    assert len(office.cards()) == 1


def test_work_that_waits_is_not_done_sooner_for_what_is_to_be_told(office: Harness) -> None:
    """An error from Slack does not shorten the pause that the mail service asked for."""
    request = office.voted()
    office.slack.faults.fail("chat.update", times=1)
    unready = FailingExecutor(retry_after=300)
    office.work(Worker(office.with_(executor=unready)))
    assert office.now(request).due_at == office.clock() + timedelta(seconds=300)
    office.pass_time(seconds=300)
    assert office.now(request).state is State.DONE


def test_without_a_channel_for_cards_the_request_ends(
    office: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    """If the approvals channel does not exist, the request ends and the log names the channel."""
    office.set_policy(channels={"approvals": "C99999999"})
    request = office.ask()
    assert request.state is State.REFUSED
    assert "can't be posted" in office.told("alice")[-1]
    assert request.due_at is None
    assert _errors(office, "card") == 1
    assert "Invite the bot to the channel C99999999" in caplog.text
    assert "channels.approvals" in caplog.text


def test_a_wrong_channel_for_the_audit_holds_nothing_up(
    office: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    """A wrong audit channel does not delay a request.

    The log names the channel and the policy's key.
    """
    channels = {"approvals": office.channels["approvals"], "audit": "C99999999"}
    office.set_policy(channels=channels)
    assert office.approve(office.ask(), "bob").state is State.DONE
    assert _errors(office, "done-audit") == 1
    assert "Invite the bot to the channel C99999999" in caplog.text
    assert "channels.audit" in caplog.text


def test_a_card_that_was_deleted_is_posted_again(office: Harness) -> None:
    """A deleted card is posted again, and only votes on the new card count."""
    change = Change(Action.PASSWORD, "erin@example.com")
    request = office.ask(change=change)
    office.slack.world.messages.remove(office.cards()[0])
    office.approve(request, "bob")
    again = office.now(request)
    assert again.card != request.card
    assert office.vote("carol", request).code == "vote.wrong_card"
    assert office.approve(again, "carol").state is State.APPROVED


def test_a_person_who_can_not_be_told_holds_nothing_up(office: Harness) -> None:
    """A request is not delayed if a person can't be notified."""
    office.slack.grant(*READING, "chat:write")
    request = office.ask()
    assert request.state is State.PENDING
    assert _errors(office, "pending") == 1
    assert office.approve(request, "bob").state is State.DONE
    assert office.now(request).due_at is None


def test_a_bot_without_its_scopes_waits_for_the_operator(office: Harness) -> None:
    """Requests wait while the bot lacks the scope to read user data."""
    office.slack.grant("chat:write", "im:write")
    request = office.ask()
    assert request.state is State.NEW
    assert _errors(office, "work") == 1
    office.slack.grant(*READING, "chat:write", "im:write")
    _settle(office, request, State.PENDING)


def test_what_slack_does_not_take_for_days_is_left_untold(office: Harness) -> None:
    """After Slack has failed for several days, the bot stops trying to notify people."""
    request = office.ask()
    office.request_service.cancel(office.key(), request.id, office.people["alice"].id)
    with office.slack.down():
        for _ in range(8):
            office.pass_time(days=1)
    assert office.now(request).due_at is None


def test_a_request_that_nobody_could_look_at_in_time_fails(office: Harness) -> None:
    """A request that can't be processed in time fails."""
    with office.slack.down():
        request = office.ask()
        office.clock.advance(days=1)
    office.work()
    assert office.now(request).state is State.FAILED
    assert "in time" in office.told("alice")[-1]


def test_a_refused_vote_is_told_before_it_is_written_off(office: Harness) -> None:
    """A refused vote is processed again until the voter can be notified."""
    request = office.ask()
    office.vote("erin", request)
    office.slack.faults.fail("conversations.open", times=1)
    office.work()
    assert office.told("erin") == []
    office.pass_time(minutes=1)
    assert "Only members" in office.told("erin")[-1]


def test_a_lost_answer_makes_a_second_card_and_the_first_one_is_dead(office: Harness) -> None:
    """If Slack's response is lost, a second card is posted, and the first card has no effect."""
    office.slack.faults.lose_answer("chat.postMessage")
    request = office.ask()
    office.pass_time(minutes=1)
    first, second = office.cards()
    request = office.now(request)
    assert request.card is not None
    assert request.card.ts == second.ts
    buttons = ["Approve" in str(card.blocks) for card in (first, second)]
    assert buttons == [False, True]
    dead = request.card._replace(ts=first.ts)
    assert office.vote("bob", request, card=dead).code == "vote.wrong_card"
    assert office.approve(request, "bob").state is State.DONE


@pytest.fixture
def slow(office: Harness, monkeypatch: pytest.MonkeyPatch) -> Worker:
    """Provide a worker whose first direct message takes two days."""
    slack_api = copy.copy(office.deps.slack_api)
    tell = slack_api.send_direct_message

    def dawdle(user: str, message: Message) -> MessageRef:
        office.clock.advance(days=2)
        monkeypatch.setattr(slack_api, "send_direct_message", tell)
        return tell(user, message)

    monkeypatch.setattr(slack_api, "send_direct_message", dawdle)
    return Worker(office.with_(slack_api=slack_api))


def test_an_alias_whose_day_ends_while_it_is_told_of_is_removed(
    office: Harness, slow: Worker
) -> None:
    """If the last day of an alias ends while people are being notified, it is still removed."""
    request = office.ask(change=Change(Action.ALIAS_ADD, NEW, last_day=office.clock().date()))
    office.vote("bob", request)
    office.work(slow)
    assert office.now(request).state is State.DONE
    office.work()
    assert office.addresses() == {ALICE}


def test_a_request_that_ends_while_it_is_shown_expires(office: Harness, slow: Worker) -> None:
    """A request that runs out of time while its card is being posted expires."""
    request = office.submit()
    office.work(slow)
    office.work()
    assert office.now(request).state is State.EXPIRED
