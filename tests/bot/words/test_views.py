# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Modal windows: the menu, a new password, a denial, notes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from ansible_collections.postroom.email.tests.bot.words import drawn, samples
from postroom_bot.model import Posted
from postroom_bot.words import catalog, ids, views

PASSWORD = "*kx7q*-`w2mp`-<d9tz>-:up:"


def test_menu() -> None:
    """The menu opens every form, and shows what can be typed."""
    menu = views.menu()
    assert {one["action_id"] for one in drawn.buttons(menu)} == {*ids.FORM_OF, ids.OPEN_PASSWORD}
    for entry in catalog.ENTRIES:
        assert f"`/email {entry.usage}`" in drawn.seen(menu)
    drawn.check(menu)


def test_password_confirm() -> None:
    """Before a password is made, it says what will stop working; *Make it* knows the mailbox."""
    view = views.password_confirm("alice@example.com", "R-7K2M")
    assert drawn.seen(view) == (
        "A new password for `alice@example.com` will be made. The old one stops working at once, "
        "on every phone and mail program."
    )
    assert (view["submit"]["text"], view["close"]["text"]) == ("Make it", "Cancel")
    confirmed = views.read_password_confirm(view["private_metadata"])
    assert confirmed == ("alice@example.com", "R-7K2M")


def test_password_confirm_for_oneself() -> None:
    """For one's own mailbox there is no request yet."""
    view = views.password_confirm("alice@example.com")
    assert views.read_password_confirm(view["private_metadata"]) == ("alice@example.com", None)


def test_password_shown() -> None:
    """The password stands there as it is, once, where nothing in it is markup."""
    view = views.password_shown("alice@example.com", PASSWORD, "mail.example.com")
    assert json.dumps(view).count(json.dumps(PASSWORD)) == 1
    assert {
        "type": "rich_text_preformatted",
        "elements": [{"type": "text", "text": PASSWORD}],
    } in view["blocks"][1]["elements"]
    for said in (
        "Shown once. Copy it now; closing this window removes it.",
        "User name: `alice@example.com`",
        "Incoming mail (IMAP): `mail.example.com`, port 993, SSL/TLS",
        "Outgoing mail (SMTP): `mail.example.com`, port 587, STARTTLS",
    ):
        assert said in drawn.seen(view)
    drawn.check(view)


def test_password_shown_sends_nothing() -> None:
    """Nothing of the window that shows a password ever comes back to the bot."""
    view = views.password_shown("alice@example.com", PASSWORD, "mail.example.com")
    assert "submit" not in view
    assert "private_metadata" not in view
    assert all(block["type"] != "input" for block in view["blocks"])


def test_deny_reason() -> None:
    """A denial comes back with the request, the card and the reason in one line."""
    view = views.deny_reason("R-7K2M", samples.CARD)
    values = {ids.REASON: {ids.VALUE: {"type": "plain_text_input", "value": " no\nfair "}}}
    denial = views.read_deny_reason(view["private_metadata"], values)
    assert denial == ("R-7K2M", Posted(*samples.CARD), "no fair")
    drawn.check(view)


@pytest.mark.parametrize("metadata", ["", "[]", "{}", '{"request": "R-7K2M"}', "null"])
def test_foreign_metadata_is_refused(metadata: str) -> None:
    """What did not go out with a view is not taken for something that came back with it."""
    with pytest.raises(ValueError, match=r"."):
        views.read_password_confirm(metadata)
    with pytest.raises(ValueError, match=r"."):
        views.read_deny_reason(metadata, {})


@drawn.steady
@given(drawn.texts, drawn.addresses, drawn.request_ids)
def test_all_views_are_right(text: str, address: str, request_id: str) -> None:
    """Slack takes every view, and nobody speaks through it."""
    drawn.check(views.password_confirm(address, request_id))
    drawn.check(views.password_shown(address, PASSWORD, address))
    drawn.check(views.deny_reason(request_id, samples.CARD))
    drawn.check(views.working(text))
    drawn.check(views.note(text, text))
