# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The app's manifest, as Slack takes it when an app is made or changed."""

from __future__ import annotations

from typing import Any

from postroom_bot.ui import commands, ids

#: All that the bot may do in a workspace; the tests hold it to this list.
SCOPES = (
    "commands",
    "chat:write",
    "im:write",
    "users:read",
    "users:read.email",
    "usergroups:read",
)
EVENTS = ("app_home_opened", "user_change")

_LONG = (
    "Ask for email addresses, forwarding and passwords without leaving Slack. Requests that need "
    "it go to approvers first, as the policy of your organisation says. Nobody types a password, "
    "and no password is ever posted: a new one is shown once, to the person who asked for it, in "
    "a window that closes. Every step is kept in an audit trail in which tampering shows."
)


def manifest(*, socket_mode: bool, url: str | None = None) -> dict[str, Any]:
    """Return the manifest for one of the two ways in which Slack reaches the bot.

    :param socket_mode: the bot connects to Slack; no address is needed
    :param url: otherwise, the address at which Slack reaches the bot, with `https://`
    :raises ValueError: the address is missing, is not one, or is given with Socket Mode
    """
    if socket_mode and url is not None:
        raise ValueError("With Socket Mode, Slack needs no URL. Leave it out.")
    if not socket_mode and not (url or "").startswith("https://"):
        raise ValueError("Give the URL at which Slack reaches the bot, beginning with https://.")
    return {
        "_metadata": {"major_version": 1, "minor_version": 1},
        "display_information": _display(),
        "features": _features(url),
        "oauth_config": {"scopes": {"bot": list(SCOPES)}},
        "settings": _settings(url),
    }


def _display() -> dict[str, str]:
    return {
        "name": "Postroom",
        "description": "Email addresses, forwarding and passwords, with approvals.",
        "long_description": _LONG,
        "background_color": "#1f4e5f",
    }


def _features(url: str | None) -> dict[str, Any]:
    command = {
        "command": commands.COMMAND,
        "description": "Ask for addresses, forwarding or a password; alone, it opens a menu.",
        "usage_hint": "[help, alias, forward, password, dns, status or cancel]",
        # The parser reads wrapped links and escaped signs.
        "should_escape": True,
    }
    return {
        "app_home": {
            "home_tab_enabled": True,
            "messages_tab_enabled": True,
            "messages_tab_read_only_enabled": True,
        },
        "bot_user": {"display_name": "Postroom", "always_online": True},
        "shortcuts": [
            {
                "name": "Email",
                "type": "global",
                "callback_id": ids.SHORTCUT_MENU,
                "description": "Ask for addresses, forwarding or a password.",
            }
        ],
        "slash_commands": [command | ({"url": url} if url else {})],
    }


def _settings(url: str | None) -> dict[str, Any]:
    request_url = {"request_url": url} if url else {}
    return {
        "event_subscriptions": {"bot_events": list(EVENTS), **request_url},
        "interactivity": {"is_enabled": True, **request_url},
        "org_deploy_enabled": False,
        "socket_mode_enabled": url is None,
        "token_rotation_enabled": False,
    }
