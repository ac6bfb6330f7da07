# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The Slack app's manifest."""

from __future__ import annotations

from typing import Any

from postroom_bot.ui.parser import COMMAND, SUBCOMMANDS
from postroom_bot.ui.views import SHORTCUT_MENU

#: The bot's OAuth scopes and their purposes.
SCOPES = {
    "commands": "Receive `/email` and the shortcut.",
    "chat:write": "Post cards, reminders and notices.",
    "im:write": "Send direct messages to requesters, voters and mailbox owners.",
    "users:read": "Reject guests, bots, deactivated accounts and members of other workspaces.",
    "users:read.email": "Find a person's mailbox if the policy trusts Slack email addresses.",
    "usergroups:read": "List the members of user groups in the policy.",
}
EVENTS = (
    "app_home_opened",
    "subteam_created",
    "subteam_members_changed",
    "subteam_updated",
    "user_change",
)

_LONG = (
    "Request email addresses, forwarding and passwords without leaving Slack. Your organization's "
    "policy decides which requests need an approval. Never type a password in Slack. The bot never "
    "posts one either: it shows a new password once, in a window that only the mailbox's owner "
    "sees. Every step is recorded in a tamper-evident audit log."
)


def manifest(url: str | None = None) -> dict[str, Any]:
    """Return the manifest for HTTP, or for Socket Mode if no URL is given.

    :raises ValueError: if the URL is invalid
    """
    if url is not None and not url.startswith("https://"):
        raise ValueError("Give the bot's public URL. It must begin with https://.")
    *words, last = dict.fromkeys(one.words.split()[0] for one in SUBCOMMANDS)
    request_url = {"request_url": url} if url else {}
    command = {
        "command": COMMAND,
        "description": "Request addresses, forwarding or a password, or open the menu.",
        "usage_hint": f"[{', '.join(words)} or {last}]",
        # The parser handles wrapped links and escaped characters.
        "should_escape": True,
        **({"url": url} if url else {}),
    }
    shortcut = {
        "name": "Email",
        "type": "global",
        "callback_id": SHORTCUT_MENU,
        "description": "Request addresses, forwarding or a password.",
    }
    return {
        "_metadata": {"major_version": 1, "minor_version": 1},
        "display_information": {
            "name": "Postroom",
            "description": "Email addresses, forwarding and passwords, with approvals.",
            "long_description": _LONG,
            "background_color": "#1f4e5f",
        },
        "features": {
            "app_home": {
                "home_tab_enabled": True,
                "messages_tab_enabled": True,
                "messages_tab_read_only_enabled": True,
            },
            "bot_user": {"display_name": "Postroom", "always_online": True},
            "shortcuts": [shortcut],
            "slash_commands": [command],
        },
        "oauth_config": {"scopes": {"bot": list(SCOPES)}},
        "settings": {
            "event_subscriptions": {"bot_events": list(EVENTS), **request_url},
            "interactivity": {"is_enabled": True, **request_url},
            "org_deploy_enabled": False,
            "socket_mode_enabled": url is None,
            "token_rotation_enabled": False,
        },
    }
