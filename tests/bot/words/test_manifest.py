# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The manifest, held to what Slack documents of manifests.

Slack's published schema takes any text for a scope or an event, so those lists are held to here.
"""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from postroom_bot.words import catalog, ids
from postroom_bot.words.manifest import manifest

URL = "https://bot.example.com/slack/events"


def text(longest: int, shortest: int = 1, **more: str) -> dict[str, Any]:
    """Return the schema of a text."""
    return {"type": "string", "minLength": shortest, "maxLength": longest, **more}


def thing(optional: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    """Return the schema of an object that has exactly these properties."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": sorted(set(properties) - set(optional)),
        "properties": properties,
    }


def some(of: dict[str, Any], most: int) -> dict[str, Any]:
    """Return the schema of a list in which nothing occurs twice."""
    return {"type": "array", "items": of, "minItems": 1, "maxItems": most, "uniqueItems": True}


BOOLEAN = {"type": "boolean"}
ADDRESS = text(3000, pattern="^https://")
COMMAND = thing(
    ("url",),
    command=text(32, 2, pattern="^/[a-z0-9_-]+$"),
    url=ADDRESS,
    description=text(2000),
    usage_hint=text(1000),
    should_escape=BOOLEAN,
)
SHORTCUT = thing(
    name=text(24),
    type={"enum": ["message", "global"]},
    callback_id=text(255),
    description=text(150),
)
#: As Slack documents the parts that the bot uses.
SCHEMA = thing(
    _metadata=thing(major_version={"const": 1}, minor_version={"const": 1}),
    display_information=thing(
        name=text(35),
        description=text(140),
        long_description=text(4000, 175),
        background_color=text(7, 4, pattern="^#([0-9a-fA-F]{3}){1,2}$"),
    ),
    features=thing(
        app_home=thing(
            home_tab_enabled=BOOLEAN,
            messages_tab_enabled=BOOLEAN,
            messages_tab_read_only_enabled=BOOLEAN,
        ),
        bot_user=thing(display_name=text(80), always_online=BOOLEAN),
        shortcuts=some(SHORTCUT, 10),
        slash_commands=some(COMMAND, 50),
    ),
    oauth_config=thing(scopes=thing(bot=some(text(50), 255))),
    settings=thing(
        event_subscriptions=thing(
            ("request_url",), request_url=ADDRESS, bot_events=some(text(50), 100)
        ),
        interactivity=thing(("request_url",), is_enabled=BOOLEAN, request_url=ADDRESS),
        org_deploy_enabled=BOOLEAN,
        socket_mode_enabled=BOOLEAN,
        token_rotation_enabled=BOOLEAN,
    ),
)

BOTH = pytest.mark.parametrize(
    "made", [manifest(socket_mode=True), manifest(socket_mode=False, url=URL)], ids=["ws", "http"]
)


@BOTH
def test_slack_takes_it(made: dict[str, Any]) -> None:
    """It has the shape and the lengths that Slack documents."""
    jsonschema.Draft202012Validator(SCHEMA).validate(made)


@BOTH
def test_scopes(made: dict[str, Any]) -> None:
    """The bot may do exactly this, and nothing in anybody's name."""
    assert made["oauth_config"] == {
        "scopes": {
            "bot": [
                "commands",
                "chat:write",
                "im:write",
                "users:read",
                "users:read.email",
                "usergroups:read",
            ]
        }
    }


@BOTH
def test_events_and_entrances(made: dict[str, Any]) -> None:
    """Slack tells of exactly what the bot listens to."""
    assert made["settings"]["event_subscriptions"]["bot_events"] == [
        "app_home_opened",
        "user_change",
    ]
    [command], [shortcut] = made["features"]["slash_commands"], made["features"]["shortcuts"]
    assert command["command"] == catalog.COMMAND
    assert command["should_escape"] is True
    assert shortcut["callback_id"] == ids.SHORTCUT_MENU


def test_socket_mode_needs_no_address() -> None:
    """With Socket Mode there is no address anywhere."""
    made = manifest(socket_mode=True)
    assert made["settings"]["socket_mode_enabled"] is True
    assert "://" not in str(made)


def test_http_mode_has_the_address_everywhere() -> None:
    """Over HTTP, commands, buttons and events all come to the one address."""
    made = manifest(socket_mode=False, url=URL)
    settings = made["settings"]
    assert settings["socket_mode_enabled"] is False
    assert settings["interactivity"]["request_url"] == URL
    assert settings["event_subscriptions"]["request_url"] == URL
    assert made["features"]["slash_commands"][0]["url"] == URL


@pytest.mark.parametrize(
    ("socket_mode", "url"), [(True, URL), (False, None), (False, ""), (False, "http://x.example")]
)
def test_wrong_addresses(socket_mode: bool, url: str | None) -> None:
    """An address that is missing, too much or not encrypted is refused."""
    with pytest.raises(ValueError, match="URL"):
        manifest(socket_mode=socket_mode, url=url)
