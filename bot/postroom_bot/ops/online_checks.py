# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Check services and the policy's Slack ids, at startup or with `check-config --online`.

The services are the mail service and the SMTP server. AWX and the database are not checked.
Channels are not checked either, because that would require an OAuth scope that the bot does not
request.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator

from postroom_bot.backends.mail_api import MailApi
from postroom_bot.backends.password_notices import PasswordNotices
from postroom_bot.backends.slack_api import SlackApi
from postroom_bot.errors import Rejected, SlackRejected, SlackUnavailable, Unavailable
from postroom_bot.policy.model import Policy
from postroom_bot.ui.reason_texts import plain_reason_text

log = logging.getLogger(__name__)


def problems(
    slack_api: SlackApi, mail: MailApi, policy: Policy, notices: PasswordNotices | None
) -> Iterator[str]:
    """Yield a message for each problem, naming the service or policy key and the remedy."""
    try:
        mail.domains()
    except (Unavailable, Rejected) as error:
        # The client's own message contains the remedy.
        why = error.__cause__ or plain_reason_text(error.reason)
        yield f"The mail service can't be used: {why}"
    if notices is not None and (problem := notices.check()):
        yield problem
    users = [("identity.pinned", user) for user in policy.identity.pinned]
    users += [(f"groups.{name}.users", one) for name, g in policy.groups.items() for one in g.users]
    usergroups = [(name, one) for name, g in policy.groups.items() for one in g.usergroups]
    try:
        for key, user in users:
            try:
                slack_api.profile(user)
            except SlackRejected as rejection:
                yield (
                    f"The policy's {key} lists the user {user}, but Slack can't find this user"
                    f" ({rejection.code}). Copy the member ID from their profile."
                )
        yield from _unknown_usergroups(slack_api, usergroups)
    except SlackUnavailable:
        yield "Slack is not responding right now, so not all ids in the policy were checked."


def _unknown_usergroups(slack_api: SlackApi, listed: list[tuple[str, str]]) -> Iterator[str]:
    """Yield a message for each unknown user group. `listed` contains policy groups and ids."""
    if not listed:
        return
    try:
        known, code = slack_api.usergroups(), ""
    except SlackRejected as rejection:
        known, code = {}, f" ({rejection.code})"
    for name, usergroup in listed:
        if usergroup not in known:
            yield (
                f"The policy's groups.{name}.usergroups lists {usergroup}, but Slack can't find"
                f" it{code}. The bot refuses everyone until this is corrected."
            )


def log_problems(
    slack_api: SlackApi,
    mail: MailApi,
    policy: Policy,
    notices: PasswordNotices | None,
    stopping: threading.Event,
) -> None:
    """Log each problem, until the event is set."""
    for problem in problems(slack_api, mail, policy, notices):
        if stopping.is_set():
            return
        log.warning("%s", problem)
