# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Over HTTP a real slack_bolt app understands the stand-in, and verifies what it signs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from slack_bolt import Ack, App

from ansible_collections.postroom.email.tests.bot.slack.apps import app_of, over_http
from ansible_collections.postroom.email.tests.fakes.slack.workspace import Workspace

BUTTON = {
    "type": "button",
    "action_id": "go",
    "value": "R-1",
    "text": {"type": "plain_text", "text": "Go"},
}
CARD = [{"type": "actions", "block_id": "row", "elements": [BUTTON]}]


def collecting(app: App, name: str) -> list[dict[str, Any]]:
    """Have an app keep all payloads of a kind and say nothing."""
    kept: list[dict[str, Any]] = []

    def listener(ack: Ack, body: dict[str, Any]) -> None:
        kept.append(body)
        ack()

    kind, _, key = name.partition(" ")
    register: Callable[..., Any] = getattr(app, kind)
    register(key)(listener)
    return kept


def test_a_command_arrives_and_its_answer_is_seen_by_its_author_only(slack: Workspace) -> None:
    """What the app acks a command with is an ephemeral message."""
    app = app_of(slack)

    @app.command("/email")
    def listener(ack: Ack, command: dict[str, Any]) -> None:
        ack(f"{command['user_name']}: {command['text']}")

    alice, bob = slack.person("alice"), slack.person("bob")
    with over_http(slack, app):
        ack = alice.command("/email dns example.com for a@b.example & @bob")
    assert ack.ok
    assert ack.seconds < slack.delivery.seconds
    (said,) = alice.sees().ephemerals
    assert said.text == (
        "alice: dns <http://example.com|example.com> for <mailto:a@b.example|a@b.example>"
        f" &amp; <@{bob.id}|bob>"
    )
    assert not bob.sees().ephemerals


def test_a_button_is_pressed_on_a_card_that_is_then_edited(slack: Workspace) -> None:
    """A press carries the message, where it is and who pressed."""
    app = app_of(slack)
    pressed = collecting(app, "action go")
    alice = slack.person("alice")
    channel = slack.channel("approvals", alice)
    posted = app.client.chat_postMessage(channel=channel, text="A card", blocks=CARD)
    (card,) = slack.messages(channel)
    with over_http(slack, app):
        assert alice.press(card, "go").ok
    app.client.chat_update(channel=channel, ts=posted["ts"], text="Done", blocks=[])
    (body,) = pressed
    assert body["container"]["message_ts"] == body["message"]["ts"] == card.ts
    assert body["channel"]["id"] == channel
    assert body["user"] == {
        "id": alice.id,
        "username": "alice",
        "name": "alice",
        "team_id": slack.world.team,
    }
    assert body["actions"][0]["value"] == "R-1"
    assert [edition.text for edition in card.editions] == ["A card", "Done"]


def test_wrong_signatures_do_not_come_through(slack: Workspace) -> None:
    """Another secret, none, an old timestamp or another body: the app refuses each."""
    app = app_of(slack)
    came = collecting(app, "command /email")
    alice, forger = slack.person("alice"), slack.forger()
    with over_http(slack, app) as http:
        assert alice.command("/email help").ok
        answers = [
            forger.wrong_signature(alice, "/email x"),
            forger.unsigned(alice, "/email x"),
            forger.too_old(alice, "/email x"),
            forger.changed_body(http.sent[0], b"help", b"dump"),
        ]
    assert [answer.status for answer in answers] == [401] * 4
    assert len(came) == 1


def test_an_exact_replay_passes_the_signature(slack: Workspace) -> None:
    """A recorded request that is sent again is what an app has to notice by itself."""
    app = app_of(slack)
    came = collecting(app, "command /email")
    alice = slack.person("alice")
    with over_http(slack, app) as http:
        alice.command("/email help")
        assert slack.forger().replay(http.sent[-1]).status == 200
    assert came[0] == came[1]


@pytest.mark.parametrize("repeat", ["again", "copies"])
def test_the_same_thing_can_come_once_more(slack: Workspace, repeat: str) -> None:
    """What was delivered last is delivered again, or all comes twice to the byte."""
    app = app_of(slack)
    came = collecting(app, "shortcut open")
    alice = slack.person("alice")
    slack.delivery.same_signature = True
    slack.delivery.copies = 2 if repeat == "copies" else 1
    with over_http(slack, app) as http:
        alice.shortcut("open")
        if repeat == "again":
            slack.forger().again()
    assert came[0] == came[1]
    assert http.sent[0].body == http.sent[1].body


def test_copies_are_signed_anew_but_speak_of_the_same_thing(slack: Workspace) -> None:
    """Delivered twice, at once, means the same trigger in two different requests."""
    app = app_of(slack)
    came = collecting(app, "command /email")
    slack.delivery.copies, slack.delivery.together = 2, True
    alice = slack.person("alice")
    with over_http(slack, app) as http:
        alice.command("/email help")
    assert came[0]["trigger_id"] == came[1]["trigger_id"]
    first, second = (sent.headers["X-Slack-Signature"] for sent in http.sent)
    assert first != second


def test_whoever_opens_the_home_sees_what_is_published(slack: Workspace) -> None:
    """The event of an opened home arrives, and the app publishes a home for that person."""
    app = app_of(slack)
    came = collecting(app, "event app_home_opened")
    alice = slack.person("alice")
    with over_http(slack, app):
        assert alice.open_home().ok
        slack.wait_for(lambda: came)
        section = {"type": "section", "text": {"type": "mrkdwn", "text": "Hello"}}
        view = {"type": "home", "blocks": [section]}
        app.client.views_publish(user_id=came[0]["event"]["user"], view=view)
        alice.open_home()
        slack.wait_for(lambda: len(came) == 2)
    home = alice.sees().home
    assert home is not None
    assert home.blocks[0]["text"]["text"] == "Hello"
    assert came[1]["event"]["view"]["id"] == home.id
    assert came[0]["event_id"] != came[1]["event_id"]


def test_an_app_that_is_late_or_gone_is_told_to_the_person(slack: Workspace) -> None:
    """Slack gives up after its time and says so; a refused connection is another failure."""
    app = app_of(slack)
    going = threading.Event()

    @app.command("/email")
    def listener(ack: Ack) -> None:
        going.wait(10)
        ack("late")

    alice = slack.person("alice")
    slack.delivery.seconds, slack.delivery.retries = 0.2, 1
    with over_http(slack, app) as http:
        assert alice.command("/email help").error == "operation_timeout"
        going.set()
    assert http.sent[1].headers["X-Slack-Retry-Num"] == "1"
    assert http.sent[1].headers["X-Slack-Retry-Reason"] == "http_timeout"
    assert alice.command("/email help").error == "dispatch_failed"
    assert alice.sees().errors == ["operation_timeout", "dispatch_failed"]
    assert not alice.sees().ephemerals


def test_the_address_is_verified(slack: Workspace) -> None:
    """An app proves that an address is its own, as Slack asks when it is set up."""
    with over_http(slack, app_of(slack)) as http:
        assert http.verify_address()
