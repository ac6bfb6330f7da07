# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Who somebody in Slack is: whether they may use the bot at all, and which mailbox is theirs.

A *profile* is the ``user`` of Slack's ``users.info``. What it does not say is not believed.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from postroom_bot.addresses import InvalidAddress, address, domain_of
from postroom_bot.policy.model import Policy, SlackEmail

Profile = Mapping[str, Any]

#: What a profile says of those who may not use the bot, in the order of asking.
_OBSTACLES = (
    ("deleted", "Your Slack account is deactivated."),
    ("is_bot", "Bots may not use this."),
    ("is_workflow_bot", "Workflows may not use this."),
    ("is_stranger", "People of other organisations may not use this."),
    ("is_ultra_restricted", "Guests may not use this. Ask a colleague who is no guest."),
    ("is_restricted", "Guests may not use this. Ask a colleague who is no guest."),
)
_SLACKBOT = "USLACKBOT"


class Mailbox(NamedTuple):
    """Somebody's mailbox, or why none is known to be theirs, a sentence."""

    address: str | None
    obstacle: str = ""


def obstacle_of(profile: Profile, team: str) -> str:
    """Return why somebody may not use the bot at all, a sentence, or "".

    :param team: the workspace that the bot serves
    """
    if profile.get("id") == _SLACKBOT:
        return "Bots may not use this."
    said = next((sentence for key, sentence in _OBSTACLES if profile.get(key)), "")
    return said or ("" if team in _teams(profile) else "People of other workspaces may not use it.")


def email_of(profile: Profile) -> str | None:
    """Return the key of a profile's address, or None where it has none that can be used."""
    about = profile.get("profile") or {}
    try:
        return address(str(about.get("email") or ""))
    except InvalidAddress:
        return None


def name_of(profile: Profile) -> str:
    """Return what colleagues call somebody, as they chose it themselves."""
    about = profile.get("profile") or {}
    names = (about.get("display_name"), about.get("real_name"), profile.get("real_name"))
    return str(next(filter(None, (*names, profile.get("name"), profile.get("id"))), ""))


def mailbox_of(
    policy: Policy, profile: Profile, changed_at: datetime | None, now: datetime
) -> Mailbox:
    """Return which mailbox is somebody's.

    :param changed_at: when the address in the profile was last seen to change, None for never
    """
    pinned = policy.identity.pinned
    user = str(profile.get("id"))
    if user in pinned:
        return Mailbox(pinned[user])
    ask = f"Ask {policy.approvers} to enter your mailbox in the policy."
    if policy.identity.slack_email is None:
        return Mailbox(None, f"I do not know which mailbox is yours. {ask}")
    email = email_of(profile)
    if email is None:
        return Mailbox(None, f"Your Slack profile has no email address that I can use. {ask}")
    doubt = _doubt(policy.identity.slack_email, profile, email, changed_at, now)
    if not doubt and email in pinned.values():
        doubt = "The email address of your Slack profile is the mailbox of another account."
    return Mailbox(None, f"{doubt} {ask}") if doubt else Mailbox(email)


def _doubt(
    source: SlackEmail, profile: Profile, email: str, changed_at: datetime | None, now: datetime
) -> str:
    """Return why a profile's address is not believed, a sentence, or ""."""
    if domain_of(email) not in source.domains:
        return "Slack addresses of your domain do not count here."
    if profile.get("is_email_confirmed") is not True:
        return "The email address of your Slack profile is not confirmed."
    if changed_at is not None and now < changed_at + source.cooldown:
        ends = changed_at + source.cooldown
        return (
            "The email address of your Slack profile has changed. It counts from "
            f"{ends:%Y-%m-%d %H:%M} UTC on."
        )
    return ""


def _teams(profile: Profile) -> frozenset[str]:
    """Return the workspaces that somebody belongs to; in an organisation they can be several."""
    of_organisation = (profile.get("enterprise_user") or {}).get("teams") or ()
    return frozenset(map(str, (profile.get("team_id"), *of_organisation)))
