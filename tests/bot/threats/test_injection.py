# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Text that people typed: nothing in it becomes a mention, a link or a line of the bot's own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.bot.threats.scene import APPROVE, Scene
from ansible_collections.postroom.email.tests.fakes.slack.person import Person

REASON = (
    "<!here> <!channel> <!everyone> <@U00000001> <#C00000001> @here @channel\n"
    "*Approved* by the board & <https://evil.example|click> `code` </b> &lt;!here&gt; &amp;\r\n"
    "> quoted _text_ ~gone~ :tada: http://evil.example \u202eevil"
)
_SENT = ("chat.postMessage", "chat.update", "views.open", "views.update", "views.publish")
#: What the bot itself writes in angle brackets.
_OURS = re.compile(r"<@[UW][A-Z0-9]+>|<!date\^\d+\^[^<>|]+\|[^<>|]+>")
_ACTIVE = re.compile(r"[<>]|&(?!(?:amp|lt|gt);)")


def _markup(content: Any) -> Iterator[str]:
    """Give each text in which Slack looks for markup."""
    if isinstance(content, dict):
        if isinstance(content.get("text"), str) and content.get("type") != "plain_text":
            yield content["text"]
        for value in content.values():
            yield from _markup(value)
    elif isinstance(content, list):
        for value in content:
            yield from _markup(value)


def _said(scene: Scene) -> Iterator[Any]:
    """Give all that the bot ever said, in whatever way."""
    for method in _SENT:
        yield from (call.args for call in scene.slack.calls(method))
    yield from (ack.body for ack in scene.slack.acks)
    for line in scene.slack.world.transcript:
        if line.what == "call response_url":
            yield json.loads(line.text)


def _is_harmless(scene: Scene) -> None:
    """See that there is nothing active in anything that was said, and no name is looked up."""
    known = set(scene.slack.world.users)
    for said in _said(scene):
        assert not {"link_names", "parse"} & set(said)
        for text in _markup(said):
            assert set(re.findall(r"<@(\w+)>", text)) <= known
            assert not _ACTIVE.search(_OURS.sub("", text)), text


def test_a_typed_reason_stays_a_reason(scene: Scene, alice: Person, bob: Person) -> None:
    """On the card, in the notices and in the channel of the audit."""
    asked = scene.ask(alice, f"alias add {scene.fresh()} because {REASON[:190]}")
    bob.press(asked.card, APPROVE)
    scene.comes_to(asked.id, "done")
    scene.slack.wait_for_message(scene.channels["audit"], asked.id)
    _is_harmless(scene)


@pytest.mark.parametrize(
    "part", [REASON[:130], REASON[72:], "`" * 50, "\n" * 20 + "Request R-0000"]
)
def test_a_form_s_reason_stays_a_reason(
    scene: Scene, alice: Person, bob: Person, part: str
) -> None:
    """A form's text comes as it was typed, unescaped; it is one line of code on the card."""
    address = scene.fresh()
    scene.form(alice, "alias_add", {"address": address, "reason": part})
    asked = scene.card_of(scene.requests_of(alice)[0]["id"])
    reasons = [text for text in _markup(asked.card.blocks) if "Reason:" in text]
    (line,) = [one for one in reasons[0].splitlines() if one.startswith("Reason:")]
    assert re.fullmatch(r"Reason: `[^`\u202e]*`\.", line)
    assert not any(one.startswith("Request R-0000") for one in reasons[0].splitlines())
    bob.press(asked.card, APPROVE)
    scene.comes_to(asked.id, "done")
    _is_harmless(scene)


def test_a_denial_s_reason_stays_a_reason(scene: Scene, alice: Person, bob: Person) -> None:
    """It goes to the card and to the requester."""
    asked = scene.ask(alice, f"alias add {scene.fresh()}")
    scene.deny(bob, asked.card, REASON[72:])
    scene.comes_to(asked.id, "denied")
    scene.until(lambda: "Denied by" in asked.card.text)
    told = scene.is_told(alice, "Denied by")
    shown = "\n".join(_markup(told.blocks))
    assert "http://evil.example" in shown
    assert "http://evil.example" not in _unquoted(shown)
    _is_harmless(scene)


def _unquoted(text: str) -> str:
    """Return what stands outside of code."""
    return re.sub(r"`[^`]*`", "", text)


@pytest.mark.parametrize(
    "name", ["<!channel>", "@here", "*Boss* `x` <https://evil.example|ok>", "&"]
)
def test_a_name_stays_a_name(scene: Scene, bob: Person, name: str) -> None:
    """Whoever calls themselves so is shown as a mention, and read out without effect."""
    person = scene.hire()
    scene.slack.change_user(person, announce=False, name=name, real_name=name)
    asked = scene.ask(person, f"alias add {scene.fresh()}")
    bob.press(asked.card, APPROVE)
    scene.comes_to(asked.id, "done")
    scene.slack.wait_for_message(scene.channels["audit"], asked.id)
    person.open_home()
    _is_harmless(scene)


@pytest.mark.parametrize(
    "address",
    [
        "<!channel>@example.com",
        "<!here|a>@example.com",
        "`x`@example.com",
        "a&b@example.com",
        "{{7*7}}@example.com",
        "a\nb@example.com",
        "$(id)@example.com",
        "a;b@example.com",
        "../x@example.com",
    ],
)
def test_an_address_holds_no_signs_that_act(scene: Scene, alice: Person, address: str) -> None:
    """They are refused as no address, in the command and in the form, and not repeated."""
    with scene.no_effect():
        scene.form(alice, "alias_add", {"address": address})
        assert "not an email address" in scene.window(alice, "alias_add").errors["address"]
        ack = alice.command(f"/email forward add {address} to x@example.com")
    assert scene.requests_of(alice) == []
    assert address not in str(ack.body)
    _is_harmless(scene)


def test_a_link_in_a_command_s_address_is_its_label(scene: Scene, alice: Person) -> None:
    """Whatever a client puts into the brackets, the bot writes none of its own."""
    alice.command("/email status <!channel>")
    alice.command("/email cancel R-<@U00000001>")
    alice.command("/email dns <!here>.example.com")
    scene.is_told(alice, "That is not the number of a request.")
    _is_harmless(scene)
