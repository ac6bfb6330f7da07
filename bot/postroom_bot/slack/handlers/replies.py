# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Saying something to the person who has just done something."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from postroom_bot.errors import Denied, Rejected, SlackRejected, SlackUnavailable, Unavailable
from postroom_bot.ui.markup import Message, sentence

MOMENT = "One moment ..."
SLACK_DOWN = "Slack does not answer me properly right now. Try again in a minute."
BROKEN = "Something went wrong on my side, and I have logged it. Try again in a minute."

#: What is no mistake of the bot's own, and has a sentence for people.
EXPECTED = (Denied, Rejected, Unavailable, SlackUnavailable, SlackRejected)

#: Slack shows an acknowledgement, or puts its view in place, a moment after it was sent. What comes
#: before that is shown above it, or covered by it for good.
SETTLE_SECONDS = 0.5

#: Bolt's `ack` and `respond`.
Answer = Callable[..., Any]


def said(text: str) -> Message:
    """Return a message of one sentence, which is not escaped yet."""
    return Message(sentence(text))


def in_words(error: Exception) -> str:
    """Return the sentence for one of the EXPECTED errors."""
    return SLACK_DOWN if isinstance(error, SlackUnavailable | SlackRejected) else str(error)


@contextmanager
def settled() -> Iterator[None]:
    """Let a block take so long at least that Slack has taken in the acknowledgement before it."""
    begin = time.monotonic()
    yield
    settle(begin)


def settle(since: float) -> None:
    """Wait until Slack has taken in an acknowledgement that was sent at this monotonic time."""
    time.sleep(max(0.0, since + SETTLE_SECONDS - time.monotonic()))


def show(answer: Answer, message: Message) -> None:
    """Answer so that only this person sees it."""
    answer(
        text=message.text,
        blocks=list(message.blocks) or None,
        response_type="ephemeral",
    )


def add(respond: Answer, message: Message) -> None:
    """Answer below the message whose button was pressed, so that only this person sees it."""
    respond(
        text=message.text,
        blocks=list(message.blocks) or None,
        response_type="ephemeral",
        replace_original=False,
    )
