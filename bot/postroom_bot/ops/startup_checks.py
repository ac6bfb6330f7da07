# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Checks of the ids in the settings and the policy, made once when the bot starts.

Channels can't be checked, because the bot does without the scope for that.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from functools import partial

from postroom_bot.backends.mail import Mail
from postroom_bot.backends.slack_api import SlackApi
from postroom_bot.errors import Rejected, SlackRejected, SlackUnavailable, Unavailable
from postroom_bot.policy.model import Policy
from postroom_bot.ui import messages

_JOIN_TIMEOUT = 1.0

log = logging.getLogger(__name__)


def problems(slack_api: SlackApi, mail: Mail, policy: Policy) -> Iterator[str]:
    """Yield a sentence for each problem, with the setting or the policy's key and the remedy."""
    yield from _mail_problems(mail)
    try:
        yield from _slack_problems(slack_api, policy)
    except SlackUnavailable:
        yield "Slack does not answer right now, so not all ids in the policy were checked."


def channels(policy: Policy) -> list[str]:
    """Return the channels, which can't be checked, each with its key in the policy."""
    named: list[tuple[str, str | None]] = [("channels.approvals", policy.channels.approvals)]
    named += [(f"groups.{name}.channel", group.channel) for name, group in policy.groups.items()]
    named += [("channels.audit", policy.channels.audit)]
    return [f"{key} {channel}" for key, channel in named if channel]


class StartupChecks:
    """Runs the checks once in a thread, and logs the problems.

    :param check: yields the problems
    """

    def __init__(self, check: Callable[[], Iterator[str]]) -> None:
        self._check = check
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="startup-checks", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Log no more problems, and wait a moment for the thread."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(_JOIN_TIMEOUT)

    def _run(self) -> None:
        for problem in self._check():
            if self._stopping.is_set():
                return
            log.warning("%s", problem)


def _mail_problems(mail: Mail) -> Iterator[str]:
    try:
        mail.domains()
    except (Unavailable, Rejected) as error:
        # The client's own message names the remedy.
        yield f"The mail service can't be used: {error.__cause__ or messages.plain(error.reason)}"


def _slack_problems(slack_api: SlackApi, policy: Policy) -> Iterator[str]:
    for key, user in _users(policy):
        if code := _error_code(partial(slack_api.profile, user)):
            yield (
                f"The policy's {key} has the user {user}, which Slack does not find ({code})."
                " Copy the member ID from their profile."
            )
    for name, group in policy.groups.items():
        for usergroup in group.usergroups:
            if code := _error_code(partial(slack_api.members, usergroup)):
                yield (
                    f"The policy's groups.{name}.usergroups has {usergroup}, which Slack does not"
                    f" find ({code}). The bot refuses everyone until it is corrected."
                )


def _users(policy: Policy) -> Iterator[tuple[str, str]]:
    for user in policy.identity.pinned:
        yield "identity.pinned", user
    for name, group in policy.groups.items():
        for user in group.users:
            yield f"groups.{name}.users", user


def _error_code(ask: Callable[[], object]) -> str:
    """Return Slack's error code, or ""."""
    try:
        ask()
    except SlackRejected as refusal:
        return refusal.code
    return ""
