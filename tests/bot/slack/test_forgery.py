# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Forged cards and presses of outsiders reach an app as an attacker would have them."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.postroom.email.tests.bot.slack.apps import app_of, over_http
from ansible_collections.postroom.email.tests.bot.slack.test_http import CARD, collecting
from ansible_collections.postroom.email.tests.fakes.slack.records import CannotDo, Message
from ansible_collections.postroom.email.tests.fakes.slack.workspace import Workspace


def card_in(slack: Workspace, channel: str) -> Message:
    """Have the app post a card."""
    app_of(slack).client.chat_postMessage(channel=channel, text="A card", blocks=CARD)
    return slack.messages(channel)[-1]


def test_a_forged_card_says_what_the_forger_wants(slack: Workspace) -> None:
    """Request id, place, app and team of a press can be replaced."""
    app = app_of(slack)
    came = collecting(app, "action go")
    mallory = slack.person("mallory")
    card = card_in(slack, slack.channel("approvals"))
    forged: dict[str, Any] = {"value": "R-2", "channel": "C0", "ts": "1.000001"}
    with over_http(slack, app):
        slack.forger().press(mallory, card, "go", **forged, api_app_id="A0", team={"id": "T0"})
    (body,) = came
    assert body["actions"][0]["value"] == "R-2"
    assert (body["channel"]["id"], body["container"]["channel_id"]) == ("C0", "C0")
    assert (body["message"]["ts"], body["container"]["message_ts"]) == ("1.000001", "1.000001")
    assert (body["api_app_id"], body["team"]["id"]) == ("A0", "T0")


def test_nobody_presses_what_they_do_not_see(slack: Workspace) -> None:
    """Without forgery, a card in a channel of others cannot be pressed, nor a button of none."""
    alice, mallory = slack.person("alice"), slack.person("mallory")
    card = card_in(slack, slack.channel("approvals", alice))
    with pytest.raises(CannotDo, match="does not see"):
        mallory.press(card, "go")
    with pytest.raises(CannotDo, match="nothing with action_id 'stop'"):
        alice.press(card, "stop")


def test_a_stranger_in_a_shared_channel_presses_as_one(slack: Workspace) -> None:
    """Somebody from another workspace is told by the user's team."""
    app = app_of(slack)
    came = collecting(app, "action go")
    outsider = slack.person("eve", team="T0000AWAY", enterprise="E1", is_stranger=True)
    card = card_in(slack, slack.channel("shared", outsider))
    with over_http(slack, app):
        outsider.press(card, "go")
    assert came[0]["user"]["team_id"] == "T0000AWAY"
    assert came[0]["enterprise"]["id"] == "E1"
    assert came[0]["team"]["id"] == slack.world.team


def test_bytes_are_forged_over_http_only(slack: Workspace) -> None:
    """Socket Mode has no signatures to forge."""
    with pytest.raises(TypeError, match="deliver_over_http"):
        slack.forger().unsigned(slack.person("mallory"), "/email help")
