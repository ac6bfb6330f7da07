# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Windows, buttons, the shortcut and the Home tab."""

from __future__ import annotations

from ansible_collections.postroom.email.tests.bot.listeners.hands import (
    asked,
    card_of,
    fresh_address,
    home_of,
    last_said,
    text_of,
    window,
)
from ansible_collections.postroom.email.tests.support.bot import MAIL_HOST, RunningBot
from ansible_collections.postroom.email.tests.support.company import ALICE, Company


def test_a_form_is_opened_in_the_menus_place_and_handed_in(here: Company, bot: RunningBot) -> None:
    """From the shortcut over the menu to the card, without a typed command."""
    here.alice.shortcut("postroom_menu")
    here.alice.press_in_view(window(here, here.alice, "menu"), "open_alias_add")
    form = window(here, here.alice, "alias_add")
    assert len(here.alice.sees().modals) == 1
    address = fresh_address()
    here.alice.submit(form, {"address": address, "reason": "by form"})
    assert "Request R-" in text_of(window(here, here.alice, "note"))
    assert "by form" in card_of(here, here.alice, address).text


def test_a_form_tells_what_is_wrong_where_it_is_wrong(here: Company, bot: RunningBot) -> None:
    """The window stays, with a sentence at the field."""
    here.alice.shortcut("postroom_menu")
    here.alice.press_in_view(window(here, here.alice, "menu"), "open_forward_add")
    form = window(here, here.alice, "forward_add")
    ack = here.alice.submit(form, {"address": "nonsense", "destinations": ALICE})
    assert ack.body["response_action"] == "errors"
    assert set(ack.body["errors"]) == {"address"}


def test_the_same_wish_again_is_refused_in_the_window(here: Company, bot: RunningBot) -> None:
    """Where the desk says no, the window says why."""
    address = fresh_address()
    here.alice.command(f"/email forward add {address} to {ALICE}")
    here.alice.shortcut("postroom_menu")
    here.alice.press_in_view(window(here, here.alice, "menu"), "open_forward_add")
    form = window(here, here.alice, "forward_add")
    here.alice.submit(form, {"address": address, "destinations": ALICE})
    assert "You already asked for this" in text_of(window(here, here.alice, "note"))


def test_a_day_that_is_over_is_told_in_its_field(here: Company, bot: RunningBot) -> None:
    """The form stays, for another day to be chosen."""
    address = fresh_address()
    here.alice.shortcut("postroom_menu")
    here.alice.press_in_view(window(here, here.alice, "menu"), "open_alias_add")
    form = window(here, here.alice, "alias_add")
    here.alice.submit(form, {"address": address, "expires_on": "2020-01-31"})
    assert "is over" in window(here, here.alice, "alias_add").errors["expires_on"]
    assert address not in here.alice.command("/email status").body["text"]


def test_a_password_is_shown_once_and_nowhere_else(here: Company, bot: RunningBot) -> None:
    """It is in the window alone: in no message, no log, no row; and it works."""
    here.alice.command("/email password")
    here.alice.submit(window(here, here.alice, "password_confirm"))
    shown = window(here, here.alice, "password_shown")
    assert MAIL_HOST in text_of(shown)
    password = shown.blocks[1]["elements"][0]["elements"][0]["text"]
    assert len(password) > 20
    assert password not in here.slack.log(without="views.") + bot.log()
    for file in bot.directory.iterdir():
        assert password.encode() not in file.read_bytes()


def test_a_denial_asks_for_its_reason(here: Company, bot: RunningBot) -> None:
    """The reason stands on the card and is told to the requester."""
    _, card = asked(here, here.alice)
    here.bob.press(card, "request_deny")
    here.bob.submit(window(here, here.bob, "deny_reason"), {"reason": "Not this year."})
    here.slack.wait_for(lambda: "Denied" in card.text)
    assert "Not this year." in card.text


def test_nobody_approves_what_they_asked_for(here: Company, bot: RunningBot) -> None:
    """The person is told, and the card stays as it is."""
    _, card = asked(here, here.bob)
    here.bob.press(card, "request_approve")
    said = "You asked for this, so someone else has to approve it."
    here.slack.wait_for(lambda: last_said(here.bob) == said)


def test_a_button_on_another_message_does_nothing(here: Company, bot: RunningBot) -> None:
    """A forged place, or the message of another app, is no card of the request."""
    _, card = asked(here, here.alice)
    forger = here.slack.forger()
    for forged in ({"ts": "1.000001"}, {"api_app_id": "A0000ELSE"}):
        here.bob.command("/email help")
        forger.press(here.bob, card, "request_approve", **forged)
        here.slack.wait_for(lambda: "not the request's own card" in last_said(here.bob))
    assert "Waiting for 1 approval" in card.text


def test_the_home_tab_follows(here: Company, bot: RunningBot) -> None:
    """It shows one's own open requests, whose button takes them back, and those to approve."""
    address, card = asked(here, here.dora)
    here.dora.open_home()
    here.slack.wait_for(lambda: address in home_of(here.dora))
    here.bob.open_home()
    here.slack.wait_for(lambda: address in home_of(here.bob))
    home = here.dora.sees().home
    assert home is not None
    here.dora.press_in_view(home, "request_cancel")
    here.slack.wait_for(lambda: address not in home_of(here.dora))
    here.slack.wait_for(lambda: "ancelled" in card.text)


def test_the_home_tab_is_for_people_of_the_workspace(here: Company, bot: RunningBot) -> None:
    """Whatever workspace a press names: it is the presser's own, and says nothing."""
    address, card = asked(here, here.dora)
    here.dora.open_home()
    here.slack.wait_for(lambda: address in home_of(here.dora))
    home = here.dora.sees().home
    assert home is not None
    team = here.slack.world.team
    here.slack.change_user(here.dora, team="T0000ELSE")
    try:
        here.dora.press_in_view(home, "request_cancel")
        here.slack.wait_for(lambda: "People of other workspaces" in home_of(here.dora))
    finally:
        here.slack.change_user(here.dora, team=team)
    here.slack.wait_for(lambda: "ancelled" in card.text)


def test_a_changed_address_is_noticed_when_slack_tells_of_it(
    here: Company, bot: RunningBot
) -> None:
    """Whoever gets a new address in Slack has to wait before it counts."""
    eve = here.slack.person("eve", email="eve@example.com")
    eve.command("/email alias list")
    here.slack.wait_for(lambda: len(eve.sees().ephemerals) == 2)
    here.slack.change_user(eve, email=ALICE)
    eve.command("/email password")
    assert "changed" in text_of(window(here, eve, "note"))


def test_slacks_trouble_is_told_in_a_sentence(here: Company, bot: RunningBot) -> None:
    """A window that Slack does not let open is logged without values and counted."""
    before = bot.log().count("Slack does not answer")
    here.slack.faults.fail("views.open", status=503)
    here.alice.shortcut("postroom_menu")
    here.slack.wait_for(lambda: bot.log().count("Slack does not answer") > before)
    assert 'errors_total{where="listener"}' in bot.metrics()
