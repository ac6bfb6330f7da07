# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Messages and views are drawn so that a person at a terminal can follow."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from slack_sdk import WebClient

from ansible_collections.postroom.email.tests.bot.slack.test_views import modal, plain
from ansible_collections.postroom.email.tests.fakes.slack import drawing
from ansible_collections.postroom.email.tests.fakes.slack.person import Person
from ansible_collections.postroom.email.tests.fakes.slack.workspace import Workspace

AT = datetime(2026, 1, 1, 14, 5, tzinfo=UTC)
TEXT = (
    "*Request R-7K2M*: <@U1> asks for <mailto:a@b.example|a@b.example> &amp; more until "
    "<!date^1767276300^{time}|15:00>. It has to be long enough to need a second line."
)
BUTTONS = [
    {"type": "button", "action_id": name.lower(), "text": plain(name)}
    for name in ("Approve", "Deny")
]


def lines(drawn: str) -> list[str]:
    """Return what stands inside a box."""
    return [line[2:-2].rstrip() for line in drawn.splitlines() if line.startswith("│")]


def test_a_card_is_a_box_with_buttons() -> None:
    """Markup is written out, long lines are broken, buttons stand in brackets."""
    with Workspace(clock=lambda: AT) as slack:
        channel = slack.channel("one")
        blocks: list[dict[str, Any]] = [
            {"type": "section", "text": {"type": "mrkdwn", "text": TEXT}},
            {"type": "actions", "elements": BUTTONS},
        ]
        client = WebClient(slack.bot_token, base_url=slack.base_url)
        posted = client.chat_postMessage(channel=channel, text="x", blocks=blocks)
        (card,) = slack.messages(channel)
        names = {slack.world.bot.id: "Postroom", "U1": "alice"}
        drawn = drawing.draw_message(card, names=names)
        assert drawn.splitlines()[0] == "Postroom  14:05"
        assert lines(drawn) == [
            "Request R-7K2M: @alice asks for a@b.example & more until 15:00. It has",
            "to be long enough to need a second line.",
            "",
            "[Approve] [Deny]",
        ]
        client.chat_update(channel=channel, ts=posted["ts"], text="Done", blocks=[])
        drawn = drawing.draw_message(card, names=names)
        assert drawn.splitlines()[0] == "Postroom  14:05  (edited)"
        assert lines(drawn) == ["Done"]


def test_a_form_shows_what_is_filled_in_and_what_is_wrong(
    slack: Workspace, client: WebClient
) -> None:
    """Fields have their labels, values and errors; the modal's own buttons are at its end."""
    alice: Person = slack.person("alice")
    trigger = slack.world.trigger(alice.id)
    client.views_open(trigger_id=trigger, view=modal("New alias", close=plain("Cancel")))
    view = alice.modal
    view.errors = {"address": "That is *no* address."}
    drawn = drawing.draw_view(view, names={})
    assert drawn.startswith("┌─ New alias ─")
    shown = lines(drawn)
    assert shown[:3] == ["Address", "  [                      ]", "  ! That is no address."]
    assert shown[4:6] == ["Colour", "  [ red ]"]
    assert shown[-1].endswith("[Cancel] [Send]")


def test_every_block_of_the_product_can_be_drawn(slack: Workspace, client: WebClient) -> None:
    """Headers, notes, rules and text to be copied appear, too."""
    piece = {"type": "text", "text": "v=spf1 -all"}
    another = {"type": "button", "text": plain("Add another")}
    many = [{**another, "action_id": f"add_{number}"} for number in range(6)]
    rich = {"type": "rich_text_preformatted", "elements": [piece]}
    blocks = [
        {"type": "header", "text": plain("Records")},
        {"type": "divider"},
        {"type": "context", "elements": [plain("A note")]},
        {"type": "rich_text", "elements": [rich]},
        {"type": "section", "text": plain("Press"), "accessory": BUTTONS[0]},
        {"type": "actions", "elements": many},
    ]
    alice = slack.person("alice")
    client.views_publish(user_id=alice.id, view={"type": "home", "blocks": blocks})
    home = alice.sees().home
    assert home is not None
    shown = lines(drawing.draw_view(home, names={}))
    assert shown[:2] == ["Records", "======="]
    assert shown[5:11] == ["A note", "", "    v=spf1 -all", "", "Press", "[Approve]"]
    assert shown[12:] == [" ".join(["[Add another]"] * 5), "[Add another]"]
