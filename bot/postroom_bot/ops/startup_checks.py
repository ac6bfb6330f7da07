# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Whether what settings and policy name is there: asked once, and told before people run into it.

Channels can't be looked at: that takes a scope which the bot does without. The first card tells.
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

_JOIN_SECONDS = 1.0

log = logging.getLogger(__name__)


def problems(slack_api: SlackApi, mail: Mail, policy: Policy) -> Iterator[str]:
    """Yield what is wrong, a sentence each, with the setting or the policy's key and the remedy."""
    yield from _mail_problems(mail)
    try:
        yield from _slack_problems(slack_api, policy)
    except SlackUnavailable:
        yield "Slack does not answer now, so the ids in the policy were not all looked up."


def channels(policy: Policy) -> list[str]:
    """Return the channels that nobody can look at, each with its key in the policy."""
    named: list[tuple[str, str | None]] = [("channels.approvals", policy.channels.approvals)]
    named += [(f"groups.{name}.channel", group.channel) for name, group in policy.groups.items()]
    named += [("channels.audit", policy.channels.audit)]
    return [f"{key} {channel}" for key, channel in named if channel]


class StartupChecks:
    """Looks once, beside everything else, and logs what it finds.

    :param ask: gives what is wrong
    """

    def __init__(self, ask: Callable[[], Iterator[str]]) -> None:
        self._ask = ask
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="survey", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Say nothing more, and wait a moment for what is being asked."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(_JOIN_SECONDS)

    def _run(self) -> None:
        for problem in self._ask():
            if self._stopping.is_set():
                return
            log.warning("%s", problem)


def _mail_problems(mail: Mail) -> Iterator[str]:
    try:
        mail.domains()
    except (Unavailable, Rejected) as error:
        # The client's own words name the remedy.
        yield f"The mail service can't be used: {error.__cause__ or error}"


def _slack_problems(slack_api: SlackApi, policy: Policy) -> Iterator[str]:
    for key, user in _users(policy):
        if code := _refusal(partial(slack_api.profile, user)):
            yield (
                f"The policy's {key} names the user {user}, whom Slack does not show ({code})."
                " Copy the member ID from their profile."
            )
    for name, group in policy.groups.items():
        for usergroup in group.usergroups:
            if code := _refusal(partial(slack_api.members, usergroup)):
                yield (
                    f"The policy's groups.{name}.usergroups names {usergroup}, which Slack does"
                    f" not show ({code}). Nobody can use the bot until it is corrected."
                )


def _users(policy: Policy) -> Iterator[tuple[str, str]]:
    for user in policy.identity.pinned:
        yield "identity.pinned", user
    for name, group in policy.groups.items():
        for user in group.users:
            yield f"groups.{name}.users", user


def _refusal(ask: Callable[[], object]) -> str:
    """Return Slack's word for why it does not answer this, or ""."""
    try:
        ask()
    except SlackRejected as refusal:
        return refusal.code
    return ""
