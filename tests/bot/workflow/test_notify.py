# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Each request has one card, whose buttons work from the beginning until the decision."""

from __future__ import annotations

import copy

import pytest

from ansible_collections.postroom.email.tests.bot.workflow.harness import (
    FailingExecutor,
    Harness,
)
from postroom_bot.backends.executor import ExecutionContext, Executor, Outcome
from postroom_bot.domain import MessageRef, Request, State
from postroom_bot.errors import Rejected
from postroom_bot.store import requests
from postroom_bot.ui.markup import Message
from postroom_bot.workflow.worker import Worker


def test_a_card_is_posted_once_and_answered_at_once(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A card is posted with its buttons, and a press counts even if the card is not stored yet."""
    request = harness.submit()
    slack_api = copy.copy(harness.deps.slack_api)
    post = slack_api.post

    def post_and_press(channel: str, message: Message) -> MessageRef:
        posted = post(channel, message)
        monkeypatch.setattr(slack_api, "post", post)
        assert harness.vote("bob", request, card=posted).code == "vote.received"
        return posted

    monkeypatch.setattr(slack_api, "post", post_and_press)
    Worker(harness.with_(slack_api=slack_api)).step()
    (card,) = harness.cards()
    assert not card.is_edited
    assert "Approve" in str(card.blocks)
    harness.work()
    assert harness.now(request).state is State.DONE
    assert harness.texts_to("bob") == []


class _RejectingExecutor:
    """An executor that rejects every change."""

    def execute(self, request: Request, context: ExecutionContext) -> Outcome:
        """Reject the change."""
        raise Rejected("mail.rejected", subject=request.change.target)


def _end(harness: Harness, request: Request, state: State) -> None:
    """Bring a pending request into another state."""
    executor: Executor = harness.deps.executor
    match state:
        case State.DENIED:
            harness.vote("bob", request, approves=False)
        case State.EXPIRED:
            harness.clock.advance(days=1)
        case State.CANCELLED:
            harness.cancel(request)
        case _:
            harness.vote("bob", request)
    if state is State.REFUSED:
        harness.change_account("alice", deleted=True)
    elif state is State.FAILED:
        executor = _RejectingExecutor()
    elif state is State.APPROVED:
        executor = FailingExecutor()
    elif state is State.EXECUTING:
        executor = FailingExecutor(error=RuntimeError)
    harness.work(Worker(harness.with_(executor=executor)))
    assert harness.now(request).state is state


@pytest.mark.parametrize("state", [one for one in State if one not in (State.NEW, State.PENDING)])
def test_a_decided_card_loses_its_buttons(harness: Harness, state: State) -> None:
    """A card is edited only if the request changes. After the decision, it has no buttons."""
    request = harness.ask()
    harness.deps.database.write(lambda c: requests.mark_due(c, request.id, at=harness.clock()))
    harness.work()
    (card,) = harness.cards()
    assert [block["type"] for block in card.blocks][-1] == "actions"
    assert not card.is_edited
    _end(harness, request, state)
    (card,) = harness.cards()
    assert "actions" not in [block["type"] for block in card.blocks]
    assert card.is_edited
