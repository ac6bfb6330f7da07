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
from postroom_bot.domain import Action, Change, MessageRef, Reason, Request, State, VoteState
from postroom_bot.store import sent_notifications
from postroom_bot.ui.markup import Message
from postroom_bot.workflow.worker import Worker

READING = ("users:read", "users:read.email", "usergroups:read")


def _errors(harness: Harness, where: str) -> float:
    """Return the number of errors of this kind, as shown in the metrics."""
    value = harness.deps.metrics.registry.get_sample_value(
        "postroom_bot_errors_total", {"where": where}
    )
    return value or 0.0


def _settle(harness: Harness, request: Request, state: State) -> None:
    """Advance the clock until a request has reached a state and everyone has been notified."""
    for _ in range(20):
        harness.pass_time(minutes=1)
    assert harness.now(request).state is state
    sent = harness.deps.database.read(lambda c: sent_notifications.kinds_of(c, request.id))
    assert any(kind.startswith(state) for kind in sent)


def test_the_pause_that_slack_asks_for_is_kept(harness: Harness) -> None:
    """A card is posted only after the pause that Slack asks for."""
    harness.slack.faults.rate_limit("chat.postMessage", retry_after=300)
    request = harness.ask()
    assert request.state is State.PENDING
    harness.pass_time(seconds=299)
    assert harness.cards() == []
    harness.pass_time(seconds=1)
    assert len(harness.cards()) == 1


def test_work_that_waits_is_not_done_sooner_for_what_is_to_be_told(harness: Harness) -> None:
    """An error from Slack does not shorten the pause that the mail service asked for."""
    request = harness.voted()
    harness.slack.faults.fail("chat.update", times=1)
    unready = FailingExecutor(retry_after=300)
    harness.work(Worker(harness.with_(executor=unready)))
    assert harness.now(request).due_at == harness.clock() + timedelta(seconds=300)
    harness.pass_time(seconds=300)
    assert harness.now(request).state is State.DONE


def test_without_a_channel_for_cards_the_request_ends(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    """If the approvals channel does not exist, the request ends and the log names the channel."""
    harness.set_policy(channels={"approvals": "C99999999"})
    request = harness.ask()
    assert (request.state, request.result) == (State.REFUSED, Reason("request.no_card"))
    assert "can't be posted" in harness.texts_to("alice")[-1]
    assert request.due_at is None
    assert _errors(harness, "card") == 1
    assert "Invite the bot to the channel C99999999" in caplog.text
    assert "channels.approvals" in caplog.text


def test_a_wrong_channel_for_the_audit_holds_nothing_up(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    """A wrong audit channel does not delay a request.

    The log names the channel and the policy's key.
    """
    channels = {"approvals": harness.channels["approvals"], "audit": "C99999999"}
    harness.set_policy(channels=channels)
    assert harness.approve(harness.ask(), "bob").state is State.DONE
    assert _errors(harness, "done-audit") == 1
    assert "Invite the bot to the channel C99999999" in caplog.text
    assert "channels.audit" in caplog.text


def test_a_card_that_was_deleted_is_posted_again(harness: Harness) -> None:
    """A deleted card is posted again, and only votes on the new card count."""
    change = Change(Action.PASSWORD, "erin@example.com")
    request = harness.ask(change=change)
    harness.slack.state.messages.remove(harness.cards()[0])
    harness.approve(request, "bob")
    again = harness.now(request)
    assert again.card != request.card
    assert harness.vote("carol", request).code == "vote.wrong_card"
    assert harness.approve(again, "carol").state is State.APPROVED


def test_a_person_who_can_not_be_told_holds_nothing_up(harness: Harness) -> None:
    """A request is not delayed if a person can't be notified."""
    harness.slack.grant(*READING, "chat:write")
    request = harness.ask()
    assert request.state is State.PENDING
    assert _errors(harness, "pending") == 1
    assert harness.approve(request, "bob").state is State.DONE
    assert harness.now(request).due_at is None


def test_a_bot_without_its_scopes_waits_for_the_operator(harness: Harness) -> None:
    """Requests wait while the bot lacks the scope to read user data."""
    harness.slack.grant("chat:write", "im:write")
    request = harness.ask()
    assert request.state is State.NEW
    assert _errors(harness, "work") == 1
    harness.slack.grant(*READING, "chat:write", "im:write")
    _settle(harness, request, State.PENDING)


def test_what_slack_does_not_take_for_days_is_left_untold(harness: Harness) -> None:
    """After Slack has failed for several days, the bot stops trying to notify people."""
    request = harness.ask()
    harness.cancel(request)
    with harness.slack.down():
        for _ in range(8):
            harness.pass_time(days=1)
    assert harness.now(request).due_at is None


def test_a_request_that_nobody_could_look_at_in_time_fails(harness: Harness) -> None:
    """A request that can't be processed in time fails."""
    with harness.slack.down():
        request = harness.ask()
        harness.clock.advance(days=1)
    harness.work()
    assert harness.now(request).state is State.FAILED
    assert harness.now(request).result == Reason("request.not_evaluated")
    assert "in time" in harness.texts_to("alice")[-1]


def test_a_refused_vote_is_told_before_it_is_written_off(harness: Harness) -> None:
    """A refused vote is processed again until the voter can be notified."""
    request = harness.ask()
    harness.vote("erin", request)
    harness.slack.faults.fail("conversations.open", times=1)
    harness.work()
    assert harness.texts_to("erin") == []
    harness.pass_time(minutes=1)
    assert "Only members" in harness.texts_to("erin")[-1]


def test_a_lost_answer_makes_a_second_card_and_the_first_one_is_dead(harness: Harness) -> None:
    """If Slack's response is lost, a second card is posted, and the first card has no effect."""
    harness.slack.faults.lose_answer("chat.postMessage")
    request = harness.ask()
    (first,) = harness.cards()
    dead = MessageRef(first.channel, first.ts)
    assert harness.vote("carol", request, card=dead).code == "vote.received"
    harness.pass_time(minutes=1)
    assert [one.state for one in harness.votes(request)] == [VoteState.REFUSED]
    assert "current card" in harness.texts_to("carol")[-1]
    second = harness.cards()[-1]
    request = harness.now(request)
    assert request.card == MessageRef(second.channel, second.ts) != dead
    assert harness.vote("bob", request, card=dead).code == "vote.wrong_card"
    assert harness.approve(request, "bob").state is State.DONE


@pytest.fixture
def slow(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> Worker:
    """Provide a worker whose first direct message takes two days."""
    slack_api = copy.copy(harness.deps.slack_api)
    send = slack_api.send_direct_message

    def dawdle(user: str, message: Message) -> MessageRef:
        harness.clock.advance(days=2)
        monkeypatch.setattr(slack_api, "send_direct_message", send)
        return send(user, message)

    monkeypatch.setattr(slack_api, "send_direct_message", dawdle)
    return Worker(harness.with_(slack_api=slack_api))


def test_an_alias_whose_day_ends_while_it_is_told_of_is_removed(
    harness: Harness, slow: Worker
) -> None:
    """If the last day of an alias ends while people are being notified, it is still removed."""
    request = harness.ask(change=Change(Action.ALIAS_ADD, NEW, last_day=harness.clock().date()))
    harness.vote("bob", request)
    harness.work(slow)
    assert harness.now(request).state is State.DONE
    harness.work()
    assert harness.addresses() == {ALICE}


def test_a_request_that_ends_while_it_is_shown_expires(harness: Harness, slow: Worker) -> None:
    """A request that runs out of time while its card is being posted expires."""
    request = harness.submit()
    harness.work(slow)
    harness.work()
    assert harness.now(request).state is State.EXPIRED
