# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The stand-in answers as an independent emulator of Slack does.

Where `POSTROOM_EMULATE` names the folder that npm has installed it to.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from slack_bolt import Ack
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from ansible_collections.postroom.email.tests.bot.slack.apps import app_of, over_http
from ansible_collections.postroom.email.tests.bot.slack.test_http import CARD
from ansible_collections.postroom.email.tests.bot.slack.test_views import modal
from ansible_collections.postroom.email.tests.fakes.slack.emulate import (
    Emulator,
    emulating,
    is_installed,
)
from ansible_collections.postroom.email.tests.fakes.slack.shadow import Shadow
from ansible_collections.postroom.email.tests.fakes.slack.workspace import Workspace

PLACE = Path(os.environ.get("POSTROOM_EMULATE", "not-installed"))
HOME: dict[str, Any] = {
    "type": "home",
    "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "Hello"}}],
}

pytestmark = pytest.mark.skipif(
    not is_installed(PLACE), reason="POSTROOM_EMULATE names no folder with emulate and node"
)


@pytest.fixture
def emulator(slack: Workspace, tmp_path: Path) -> Iterator[Emulator]:
    """Run the emulator as a second opinion on all answers."""
    with emulating(PLACE, slack.world, tmp_path) as emulator:
        slack.ask_too(Shadow(slack.world, emulator).follow)
        yield emulator


def attempt(call: Callable[..., Any], **args: Any) -> Any:
    """Make a call, whether Slack refuses it or not."""
    try:
        return call(**args)
    except SlackApiError as refused:
        return refused.response


def test_it_ends(slack: Workspace, tmp_path: Path) -> None:
    """Nothing of the emulator is left behind."""
    with emulating(PLACE, slack.world, tmp_path) as emulator:
        assert emulator.call("auth.test", slack.bot_token, {})["ok"]

    def is_gone() -> bool:
        try:
            emulator.call("auth.test", slack.bot_token, {})
        except ConnectionError:
            return True
        return False

    slack.wait_for(is_gone)


def test_messages(slack: Workspace, client: WebClient, emulator: Emulator) -> None:
    """Posting and editing, where it is allowed and where not."""
    alice, bob = slack.person("alice"), slack.person("bob")
    channel, other = slack.channel("approvals", alice), slack.channel("other", alice)
    slack.world.channels[other].members.remove(slack.world.bot.id)
    posted = client.chat_postMessage(channel=channel, text="A card", blocks=HOME["blocks"])
    client.chat_update(channel=channel, ts=posted["ts"], text="Done")
    direct = client.conversations_open(users=bob.id)["channel"]["id"]
    client.chat_postMessage(channel=direct, text="For you")
    client.chat_postEphemeral(channel=channel, user=alice.id, text="For you alone")
    refused = [
        attempt(client.chat_postMessage, channel=other, text="x"),
        attempt(client.chat_postMessage, channel="C0", text="x"),
        # Slack's own method warns where there is no text.
        attempt(client.api_call, api_method="chat.postMessage", json={"channel": channel}),
        attempt(client.chat_update, channel=channel, ts="1.000001", text="x"),
        attempt(client.chat_update, channel=direct, ts=posted["ts"], text="x"),
        attempt(client.chat_postEphemeral, channel=channel, user=bob.id, text="x"),
        attempt(client.conversations_open, users="U0"),
    ]
    assert not any(answer["ok"] for answer in refused)
    assert slack.problems == []


def test_people(slack: Workspace, client: WebClient, emulator: Emulator) -> None:
    """Who is there and who is not, and who the bot is."""
    client.bots_info(bot=client.auth_test()["bot_id"])
    client.users_info(user=slack.person("alice").id)
    attempt(client.users_info, user="U0")
    assert slack.problems == []


def test_views(slack: Workspace, client: WebClient, emulator: Emulator) -> None:
    """Modals and homes, their hashes, triggers and stacks."""
    alice = slack.person("alice")
    triggers = [slack.world.trigger(alice.id) for _ in range(4)]
    opened = client.views_open(trigger_id=triggers[0], view=modal("One"))["view"]
    known = {"view_id": opened["id"], "hash": opened["hash"]}
    client.views_update(**known, view=modal("Two"))
    client.views_push(trigger_id=triggers[1], view=modal("Three"))
    client.views_push(trigger_id=triggers[2], view=modal("Four"))
    home = client.views_publish(user_id=alice.id, view=HOME)["view"]
    client.views_publish(user_id=alice.id, view=HOME, hash=home["hash"])
    refused = [
        attempt(client.views_update, **known, view=modal("Three")),
        attempt(client.views_open, trigger_id=triggers[0], view=modal("One")),
        attempt(client.views_open, trigger_id="x", view=modal("One")),
        attempt(client.views_publish, user_id=alice.id, view=HOME, hash=home["hash"]),
        attempt(client.views_publish, user_id="U0", view=HOME),
    ]
    assert not any(answer["ok"] for answer in refused)
    assert slack.problems == []


def test_what_an_app_does(slack: Workspace, emulator: Emulator) -> None:
    """A form that a shortcut opens becomes a card, which is edited when its button is pressed."""
    app = app_of(slack)
    alice = slack.person("alice")
    channel = slack.channel("approvals", alice)

    @app.shortcut("open")
    def open_form(ack: Ack, body: dict[str, Any], client: WebClient) -> None:
        client.views_open(trigger_id=body["trigger_id"], view=modal("One"))
        ack()

    @app.view("form")
    def post_card(ack: Ack, client: WebClient) -> None:
        ack()
        client.chat_postMessage(channel=channel, text="A card", blocks=CARD)

    @app.action("go")
    def finish(ack: Ack, body: dict[str, Any], client: WebClient) -> None:
        ack()
        client.chat_update(channel=channel, ts=body["container"]["message_ts"], text="Done")

    with over_http(slack, app):
        alice.shortcut("open")
        alice.submit(alice.modal, {"address": "a@b.example"})
        card = slack.wait_for(lambda: slack.messages(channel))[0]
        alice.press(card, "go")
        slack.wait_for(lambda: card.text == "Done")
    assert slack.problems == []


def test_a_difference_is_a_problem(slack: Workspace, client: WebClient, emulator: Emulator) -> None:
    """What the emulator sees otherwise is told: here, a scope that only the stand-in took away."""
    slack.grant("users:read")
    attempt(client.chat_postMessage, channel=slack.channel("one"), text="x")
    assert slack.problems == ["chat.postMessage: missing_scope here, ok at the emulator"]
