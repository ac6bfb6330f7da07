# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What is done by windows and buttons, and what is only looked at."""

from __future__ import annotations

import pytest

from ansible_collections.postroom.email.tests.bot.flows.premises import Deployment
from ansible_collections.postroom.email.tests.bot.listeners.hands import (
    card_of,
    fresh_address,
    home_of,
    text_of,
    window,
)
from ansible_collections.postroom.email.tests.support.company import ALICE, BOB


def test_a_form_becomes_an_alias(flow: Deployment) -> None:
    """From the shortcut over the menu and the form to the address that is there."""
    here, address = flow.here, fresh_address()
    here.alice.shortcut("postroom_menu")
    here.alice.press_in_view(window(here, here.alice, "menu"), "open_alias_add")
    form = window(here, here.alice, "alias_add")
    here.alice.submit(form, {"address": address, "reason": "by form"})
    assert "Request R-" in text_of(window(here, here.alice, "note"))
    card = card_of(here, here.alice, address)
    here.bob.press(card, "request_approve")
    flow.wait_until_there(address, ALICE)
    assert len(flow.cards(address)) == 1
    assert here.alice.sees().errors == []


def test_a_form_from_the_typed_menu_becomes_a_forwarder(flow: Deployment) -> None:
    """The command alone opens the same menu; a mistake is told at its field and can be mended."""
    here, address = flow.here, fresh_address()
    here.carol.command("/email")
    here.carol.press_in_view(window(here, here.carol, "menu"), "open_forward_add")
    form = window(here, here.carol, "forward_add")
    ack = here.carol.submit(form, {"address": "nonsense", "destinations": ALICE})
    assert set(ack.body["errors"]) == {"address"}
    here.carol.submit(form, {"address": address, "destinations": ALICE})
    card = card_of(here, here.carol, address)
    here.bob.press(card, "request_approve")
    flow.wait_told(here.carol, address, "Done")
    assert here.api.get(address).json()["members"] == [ALICE]


def test_the_home_tab_shows_what_there_is_to_do(flow: Deployment) -> None:
    """Requesters see their requests and can take them back, approvers what waits for them."""
    here, address = flow.here, fresh_address()
    card = flow.card(here.alice, f"alias add {address}")
    for person in (here.alice, here.bob):
        person.open_home()
        here.slack.wait_for(lambda: address in home_of(person))  # noqa: B023
    home = here.alice.sees().home
    assert home is not None
    here.alice.press_in_view(home, "request_cancel")
    flow.wait_for_text(card, "Cancelled")
    here.slack.wait_for(lambda: address not in home_of(here.alice))


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("alias list", ALICE),
        ("forward list", f"goes on to `{ALICE}`"),
        ("dns example.com", "MX record"),
        (f"alias list {BOB}", "own mailbox"),
        ("help", "/email alias add"),
        ("status", "R-"),
    ],
)
def test_what_is_only_looked_at_is_answered(flow: Deployment, text: str, answer: str) -> None:
    """The person alone sees it, and no request comes of it."""
    here = flow.here
    here.api.forwarder(fresh_address(), [ALICE])
    flow.asks(here.alice, f"alias add {fresh_address()}")
    before, asked = len(here.alice.sees().ephemerals), len(flow.requests())
    here.alice.command(f"/email {text}")
    here.slack.wait_for(
        lambda: any(answer in one.text for one in here.alice.sees().ephemerals[before:])
    )
    assert len(flow.requests()) == asked
