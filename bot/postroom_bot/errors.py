# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The bot's exceptions.

BotError
  ReasonError           carries a Reason that `ui.messages` renders
    Denied              the person's action is refused right away
      Forbidden         the person lacks the permission; written to the audit
    Rejected            a backend refuses the change; a retry would not help
    Unavailable         a backend can't do it now; a retry may help
  SlackUnavailable      Slack can't be reached or is overloaded
  SlackRejected         Slack refuses the call
  LeaseLost             another worker holds the request, or its state has changed
  StartError            the bot can't start
"""

from __future__ import annotations

from typing import Any

from postroom_bot.domain import Reason


class BotError(Exception):
    """The base of all errors that the bot raises on purpose."""


class ReasonError(BotError):
    """An error for which there is a text for people.

    :param reason: a reason, or a code, to which `params` belong
    """

    def __init__(self, reason: Reason | str, **params: Any) -> None:
        self.reason = Reason(reason, params) if isinstance(reason, str) else reason
        super().__init__(str(self.reason))


class Denied(ReasonError):
    """The bot refuses right away."""


class Forbidden(Denied):
    """The person may not do this. If no request records the refusal, the audit must."""


class Rejected(ReasonError):
    """The change can't be made, and a retry would not help.

    The reason reveals nothing about other people's mailboxes.
    """


class Unavailable(ReasonError):
    """The change can't be made now. What was done of it does not hinder the next try.

    :param retry_after: the seconds that the backend asked to wait, if it did
    :param lasting: whether only an administrator can resolve it
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
    def once(self) -> Reason:
        """The reason for a person for whom the bot does not retry."""
        if self.lasting:
            return self.reason
        return Reason("retry.later", {"why": self.reason.as_list()})


class SlackUnavailable(BotError):
    """Slack can't be reached, is overloaded or fails. The same call may work later.

    :param retry_after: the seconds that Slack asked to wait, if it did
    """

    def __init__(self, retry_after: float | None = None) -> None:
        super().__init__("Slack does not answer")
        self.retry_after = retry_after


class SlackRejected(BotError):
    """Slack refuses the call.

    :param code: Slack's error code, such as ``channel_not_found``
    """

    def __init__(self, code: str) -> None:
        super().__init__(f"Slack refused: {code}")
        self.code = code


class LeaseLost(BotError):
    """Another worker holds the request, or its state has changed. Nothing was written."""


class StartError(BotError):
    """The bot can't start. The text is a sentence for the operator."""
