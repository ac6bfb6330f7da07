# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Determine whether a Slack user may use the bot, and which mailbox they own.

A *profile* is the ``user`` object that Slack's ``users.info`` returns. A missing field never counts
in a user's favor.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from postroom_bot.addresses import InvalidAddress, address, domain_of
from postroom_bot.domain import Reason
from postroom_bot.policy.model import Policy

Profile = Mapping[str, Any]

#: Profile flags that exclude a user from the bot, in the order in which they are checked.
_OBSTACLES = (
    ("deleted", Reason("person.deactivated")),
    ("is_bot", Reason("person.bot")),
    ("is_workflow_bot", Reason("person.workflow")),
    ("is_stranger", Reason("person.stranger")),
    ("is_ultra_restricted", Reason("person.guest")),
    ("is_restricted", Reason("person.guest")),
)
_SLACKBOT = "USLACKBOT"


def obstacle_of(profile: Profile, team: str) -> Reason | None:
    """Return the reason why a person may not use the bot, or None if the person may use it."""
    if profile.get("id") == _SLACKBOT:
        return Reason("person.bot")
    for flag, obstacle in _OBSTACLES:
        if profile.get(flag):
            return obstacle
    # In an organization, a person may belong to several workspaces.
    organization = (profile.get("enterprise_user") or {}).get("teams") or ()
    if team not in {str(one) for one in (profile.get("team_id"), *organization)}:
        return Reason("person.other_workspace")
    return None


def email_of(profile: Profile) -> str | None:
    """Return the normalized email address of a profile, or None if it is missing or invalid."""
    about = profile.get("profile") or {}
    try:
        return address(str(about.get("email") or ""))
    except InvalidAddress:
        return None


def own_mailbox(
    policy: Policy, profile: Profile, changed_at: datetime | None, now: datetime
) -> tuple[str | None, Reason | None]:
    """Return a person's mailbox, or None and the reason why the mailbox is not known.

    :param changed_at: when the bot last noticed a change to the profile's address, or None
    """
    pinned = policy.identity.pinned
    user = str(profile.get("id"))
    if user in pinned:
        return pinned[user], None
    source, approvers = policy.identity.slack_email, {"approvers": policy.approvers}
    email = email_of(profile)
    if source is None:
        doubt = Reason("mailbox.not_pinned", approvers)
    elif email is None:
        doubt = Reason("mailbox.no_email", approvers)
    elif domain_of(email) not in source.domains:
        doubt = Reason("mailbox.untrusted_domain", approvers)
    elif profile.get("is_email_confirmed") is not True:
        doubt = Reason("mailbox.unconfirmed", approvers)
    elif changed_at is not None and now < changed_at + source.cooldown:
        counts_from = (changed_at + source.cooldown).isoformat()
        doubt = Reason("mailbox.changed", {"counts_from": counts_from, **approvers})
    elif email in pinned.values():
        doubt = Reason("mailbox.pinned_to_another", approvers)
    else:
        return email, None
    return None, doubt
