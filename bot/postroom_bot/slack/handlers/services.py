# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the handlers use, and how they reply."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from postroom_bot.backends.slack_api import SlackApi
from postroom_bot.domain import Reason
from postroom_bot.errors import Forbidden, ReasonError, SlackRejected, SlackUnavailable
from postroom_bot.ops.metrics import Metrics
from postroom_bot.slack.payloads import Caller
from postroom_bot.ui import messages
from postroom_bot.ui.markup import Message, sentence
from postroom_bot.workflow.dependencies import Workspace
from postroom_bot.workflow.intake import Intake
from postroom_bot.workflow.lookups import Lookups
from postroom_bot.workflow.passwords import Passwords
from postroom_bot.workflow.people import People
from postroom_common.database import Database

#: Errors that have a sentence for the person.
EXPECTED = (ReasonError, SlackUnavailable, SlackRejected)

#: Slack shows an acknowledgement, or replaces a view with it, after up to this time. An answer that
#: arrives earlier appears above it, or is covered by it for good.
SETTLE_SECONDS = 0.5

#: Bolt's `ack` and `respond`.
Answer = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Services:
    """What the handlers use. Threads share it.

    :param mail_host: the host name for mail programs
    """

    database: Database
    workspace: Workspace
    intake: Intake
    passwords: Passwords
    lookups: Lookups
    people: People
    slack_api: SlackApi
    metrics: Metrics
    mail_host: str

    def reason_of(self, caller: Caller, action: str, error: Exception) -> Reason:
        """Return the reason of one of the EXPECTED errors; record what was forbidden.

        :param action: what the person tried, in a word
        """
        reason = reason_of(error)
        if isinstance(error, Forbidden):
            self.intake.record_denial(caller.user, caller.team, action, reason)
        return reason


def reason_of(error: Exception) -> Reason:
    """Return the reason of one of the EXPECTED errors."""
    return error.reason if isinstance(error, ReasonError) else Reason("slack.unavailable")


def reason_message(reason: Reason) -> Message:
    """Return a message of a reason."""
    return Message(messages.text(reason))


def plain_message(text: str) -> Message:
    """Return a message of one sentence, not escaped yet."""
    return Message(sentence(text))


def reply(answer: Answer, message: Message, **options: Any) -> None:
    """Answer with a message that only this person sees."""
    blocks = list(message.blocks) or None
    answer(text=message.text, blocks=blocks, response_type="ephemeral", **options)


def reply_below(respond: Answer, message: Message) -> None:
    """Answer below the message whose button was pressed."""
    reply(respond, message, replace_original=False)


def settle(since: float) -> None:
    """Wait until Slack has processed an acknowledgement sent at this monotonic time."""
    time.sleep(max(0.0, since + SETTLE_SECONDS - time.monotonic()))
