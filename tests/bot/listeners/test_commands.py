# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Commands: what is answered at once, what is looked up, and what is kept."""

from __future__ import annotations

import pytest

from ansible_collections.postroom.email.tests.bot.listeners.hands import (
    asked,
    card_of,
    fresh_address,
    last_said,
    text_of,
    window,
)
from ansible_collections.postroom.email.tests.support.bot import RunningBot
from ansible_collections.postroom.email.tests.support.company import ALICE, BOB, Company


def test_help_is_in_the_acknowledgement(here: Company, bot: RunningBot) -> None:
    """What can be typed is told at once, to this person alone."""
    ack = here.alice.command("/email help")
    assert "/email alias add" in ack.body["text"]
    assert ack.body["response_type"] == "ephemeral"


def test_a_command_that_is_not_understood_says_so(here: Company, bot: RunningBot) -> None:
    """Whoever types something else is told how to get help."""
    assert "I do not know that command" in here.alice.command("/email frobnicate").body["text"]


def test_the_command_alone_opens_the_menu(here: Company, bot: RunningBot) -> None:
    """The menu comes up, and the channel stays as it is."""
    before = len(here.alice.sees().ephemerals)
    here.alice.command("/email")
    window(here, here.alice, "menu")
    assert len(here.alice.sees().ephemerals) == before


def test_an_alias_is_asked_for_approved_and_there(here: Company, bot: RunningBot) -> None:
    """The wish is acknowledged with its number, becomes a card, and is carried out."""
    address = fresh_address()
    ack = here.alice.command(f"/email alias add {address} because customers ask")
    assert address in ack.body["text"]
    card = card_of(here, here.alice, address)
    assert "customers ask" in card.text
    here.bob.press(card, "request_approve")
    here.slack.wait_for(lambda: address in here.aliases())
    said = "I am looking at your answer. The card shows what becomes of it."
    here.slack.wait_for(lambda: last_said(here.bob) == said)


def test_a_second_delivery_of_a_command_makes_no_second_request(
    here: Company, bot: RunningBot
) -> None:
    """Two copies at the same moment become one request, and both are acknowledged."""
    here.slack.delivery.copies, here.slack.delivery.together = 2, True
    try:
        address = fresh_address()
        here.alice.command(f"/email alias add {address}")
    finally:
        here.slack.delivery.copies, here.slack.delivery.together = 1, False
    card_of(here, here.alice, address)
    status = here.alice.command("/email status").body["text"]
    assert status.count(address) == 1


def test_status_and_cancel(here: Company, bot: RunningBot) -> None:
    """One's own request can be looked at and taken back; another's can't be told from none."""
    address, card = asked(here, here.alice)
    number = card.text.split("Request ")[1][:6]
    assert address in here.alice.command(f"/email status {number}").body["text"]
    none = f"You have no request {number}; `/email status` lists yours."
    assert here.bob.command(f"/email status {number}").body["text"] == none
    assert here.bob.command(f"/email cancel {number}").body["text"] == none
    assert "is cancelled" in here.alice.command(f"/email cancel {number}").body["text"]
    here.slack.wait_for(lambda: "ancelled" in card.text)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("alias list", ALICE),
        ("forward list", "forwarded"),
        ("dns example.com", "MX record"),
        (f"alias list {BOB}", "own mailbox"),
    ],
)
def test_what_is_looked_up_is_answered_after_a_moment(
    here: Company, bot: RunningBot, text: str, answer: str
) -> None:
    """The acknowledgement comes first, then the answer below it."""
    before = len(here.alice.sees().ephemerals)
    assert here.alice.command(f"/email {text}").body["text"] == "One moment ..."
    here.slack.wait_for(lambda: len(here.alice.sees().ephemerals) == before + 2)
    first, second = here.alice.sees().ephemerals[before:]
    assert first.text == "One moment ..."
    assert answer in second.text


def test_a_typed_password_is_not_repeated(here: Company, bot: RunningBot) -> None:
    """The person is warned, and what was typed is in no answer and no log."""
    ack = here.alice.command("/email password Hunter2-Hunter2")
    assert "Never type a password in Slack" in ack.body["text"]
    assert "Hunter2" not in str(ack.body) + bot.log()


def test_somebody_of_another_workspace_is_turned_away(here: Company, bot: RunningBot) -> None:
    """A command from elsewhere becomes no request."""
    outsider = here.slack.person("oscar", email="oscar@example.com", team="T0000ELSE")
    ack = outsider.command("/email alias add oscar2@example.com")
    assert ack.body["text"] == "This bot only serves people of its own workspace."


def test_a_password_of_another_mailbox_needs_a_request(here: Company, bot: RunningBot) -> None:
    """The window tells the number of the request that it has become."""
    here.bob.command(f"/email password {ALICE}")
    said = text_of(window(here, here.bob, "note"))
    assert "Request R-" in said
    assert f"make a new password for `{ALICE}`" in said
    card_of(here, here.bob, "new password")
