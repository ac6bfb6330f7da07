# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The bot's exceptions.

BotError
  ReasonError           has a Reason that `ui.reason_texts` renders
    UserError           the bot refuses an action immediately
      Forbidden         the person lacks permission; the refusal is recorded in the audit
    Rejected            a backend rejects the change; a retry would not help
    Unavailable         a backend can't make the change now; a retry may help
  SlackUnavailable      Slack can't be reached or is overloaded
  SlackRejected         Slack rejects the call
  LeaseLost             another worker has leased the request, or its state has changed
  StartError            the bot can't start
"""

from __future__ import annotations

from typing import Any

from postroom_bot.domain import Reason


class BotError(Exception):
    """The base class of the bot's exceptions."""


class ReasonError(BotError):
    """An error with a reason that can be shown to the user.

    :param reason: a Reason, or a reason code for `params`
    """

    def __init__(self, reason: Reason | str, **params: Any) -> None:
        self.reason = Reason(reason, params) if isinstance(reason, str) else reason
        super().__init__(str(self.reason))

    @property
    def reason_without_retry(self) -> Reason:
        """The reason to show when the person, not the bot, has to retry."""
        return self.reason


class UserError(ReasonError):
    """The bot refuses an action immediately."""


class Forbidden(UserError):
    """The person lacks permission.

    If no request records the refusal, the caller must write it to the audit.
    """


class Rejected(ReasonError):
    """The change can't be made, and a retry would not help.

    The reason reveals nothing about other people's mailboxes.
    """


class Unavailable(ReasonError):
    """The change can't be made now. If part of it was made, a later attempt makes the rest.

    :param retry_after: how many seconds the backend asked the bot to wait, if it did
    :param lasting: whether only an administrator can fix the problem
    """

    def __init__(
        self,
        reason: Reason | str = "mail.unavailable",
        *,
        retry_after: float | None = None,
        lasting: bool = False,
        **params: Any,
    ) -> None:
        super().__init__(reason, **params)
        self.retry_after = retry_after
        self.lasting = lasting

    @property
    def reason_without_retry(self) -> Reason:
        """The reason to show when the person, not the bot, has to retry."""
        if self.lasting:
            return self.reason
        return Reason("retry.later", {"why": self.reason.as_list()})


class SlackUnavailable(BotError):
    """Slack can't be reached, is overloaded or has an internal error. A later call may succeed.

    :param retry_after: how many seconds Slack asked the bot to wait, if it did
    """

    def __init__(self, retry_after: float | None = None) -> None:
        super().__init__("Slack is not responding")
        self.retry_after = retry_after


class SlackRejected(BotError):
    """Slack rejects the call.

    :param code: Slack's error code, such as ``channel_not_found``
    """

    def __init__(self, code: str) -> None:
        super().__init__(f"Slack rejected the call: {code}")
        self.code = code


class LeaseLost(BotError):
    """Another worker has leased the request, or its state has changed. Nothing was written."""


class StartError(BotError):
    """The bot can't start. The message is for the operator."""
