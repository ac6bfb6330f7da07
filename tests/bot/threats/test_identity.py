# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Whose mailbox is whose: addresses that were changed in Slack, and those that say nothing."""

from __future__ import annotations

import pytest

from ansible_collections.postroom.email.tests.bot.threats.scene import (
    APPROVE,
    UNBELIEVED,
    Scene,
    text_of,
)
from ansible_collections.postroom.email.tests.fakes.slack.person import Person

CHANGED = "The email address of your Slack profile has changed."


def _mailbox(person: Person) -> str:
    assert person.user.email is not None
    return person.user.email


@pytest.fixture
def eve(scene: Scene) -> Person:
    """Give somebody whom the bot has seen."""
    eve = scene.hire()
    eve.command("/email alias list")
    scene.is_told(eve, _mailbox(eve))
    return eve


@pytest.mark.parametrize("announce", [True, False])
def test_a_taken_over_address_resets_no_password(
    scene: Scene, alice: Person, eve: Person, announce: bool
) -> None:
    """Whoever takes another's address in Slack has to wait, whether or not Slack told of it."""
    scene.slack.change_user(eve, announce=announce, email=_mailbox(alice))
    with scene.no_effect():
        eve.command("/email password")
        scene.is_shown(eve, CHANGED)
    assert scene.requests_of(eve) == []
    scene.audited("person.turned_away", eve.id, CHANGED)


def test_a_window_from_before_the_change_makes_no_password(
    scene: Scene, alice: Person, eve: Person
) -> None:
    """*Make it* is looked at anew: the window's mailbox is no longer believed to be theirs."""
    eve.command("/email password")
    window = scene.window(eve, "password_confirm")
    scene.slack.change_user(eve, announce=False, email=_mailbox(alice))
    with scene.no_effect():
        eve.submit(window)
        scene.is_shown(eve, "This is not your mailbox")
    scene.audited("person.turned_away", eve.id, "This is not your mailbox")


def test_a_forged_window_makes_no_password_of_another(
    scene: Scene, alice: Person, eve: Person
) -> None:
    """The mailbox that a window brings back is no proof of anything."""
    eve.command("/email password")
    window = scene.window(eve, "password_confirm")
    with scene.slack.world.changed:
        forged = window.content["private_metadata"].replace(_mailbox(eve), _mailbox(alice))
        window.content["private_metadata"] = forged
    with scene.no_effect():
        eve.submit(window)
        scene.is_shown(eve, "This is not your mailbox")
    scene.audited("person.turned_away", eve.id, "This is not your mailbox")


def test_a_changed_address_opens_no_alias(scene: Scene, alice: Person, eve: Person) -> None:
    """Neither for the new address nor for the old one."""
    scene.slack.change_user(eve, email=_mailbox(alice))
    with scene.no_effect():
        eve.command(f"/email alias add {scene.fresh()}")
        (row,) = scene.requests_of(eve)
        scene.refuses(eve, row["id"], CHANGED)


def test_an_address_that_is_not_confirmed_is_nobodys(scene: Scene) -> None:
    """Slack's flag has to be true; where it is not, the person hears why."""
    person = scene.hire(is_email_confirmed=False)
    with scene.no_effect():
        person.command("/email password")
        scene.is_shown(person, "is not confirmed")
        person.command(f"/email alias add {scene.fresh()}")
        (row,) = scene.requests_of(person)
        scene.refuses(person, row["id"], "is not confirmed")
    scene.audited("person.turned_away", person.id, "is not confirmed")


def test_an_address_of_a_domain_that_nobody_opted_in_is_nobodys(scene: Scene) -> None:
    """The domain is ours, and still Slack's word does not count for it."""
    person = scene.hire(email=f"zoe@{UNBELIEVED}")
    with scene.no_effect():
        person.command("/email password")
        scene.is_shown(person, "Slack addresses of your domain do not count here.")
    scene.audited("person.turned_away", person.id, "do not count here")


def test_a_stolen_session_asks_for_another_s_password_in_vain(
    scene: Scene, alice: Person, eve: Person, bob: Person, carol: Person
) -> None:
    """Two people have to approve, and then the owner alone is offered to make it."""
    eve.command(f"/email password {_mailbox(alice)}")
    window = scene.window(eve, "note")
    (row,) = scene.requests_of(eve)
    assert row["id"] in text_of(window)
    asked = scene.card_of(row["id"])
    assert "2 approvals" in asked.card.text
    assert "somebody else's mailbox" in asked.card.text
    with scene.no_effect():
        bob.press(asked.card, APPROVE)
        scene.audited("vote.counted", bob.id, number=asked.id)
        assert scene.request(asked.id)["state"] == "pending"
        carol.press(asked.card, APPROVE)
        offer = scene.is_told(alice, "Make it")
        assert asked.id in offer.text
        assert not any("Make it" in message.text for message in eve.sees().direct)
        scene.slack.forger().press(eve, offer, "password_show")
        scene.is_shown(eve, "This is not your mailbox")
    scene.audited("person.turned_away", eve.id, "This is not your mailbox")


def test_a_stolen_session_makes_no_password_in_silence(scene: Scene, alice: Person) -> None:
    """Who is logged in as somebody can make their password; they and the auditors hear of it."""
    alice.command("/email password")
    alice.submit(scene.window(alice, "password_confirm"))
    scene.window(alice, "password_shown")
    scene.is_told(alice, "If you did not expect this, tell your mail administrators at once.")
    scene.slack.wait_for_message(
        scene.channels["audit"], f"make a new password for {_mailbox(alice)}"
    )
    scene.audited("request.new", alice.id, _mailbox(alice))


def test_an_alias_for_another_s_mailbox_needs_two_and_is_told(
    scene: Scene, alice: Person, eve: Person, bob: Person, carol: Person
) -> None:
    """The owner hears what was added to the mailbox, by whom, and who approved it."""
    address = scene.fresh()
    asked = scene.ask(eve, f"alias add {address} to {_mailbox(alice)}")
    with scene.no_effect():
        bob.press(asked.card, APPROVE)
        scene.audited("vote.counted", bob.id, number=asked.id)
        assert scene.request(asked.id)["state"] == "pending"
    carol.press(asked.card, APPROVE)
    scene.comes_to(asked.id, "done")
    told = scene.is_told(alice, address)
    assert all(f"<@{person.id}>" in str(told.blocks) for person in (eve, bob, carol))


def test_another_s_mailbox_is_not_to_be_looked_at(scene: Scene, alice: Person, eve: Person) -> None:
    """A list of another's addresses is refused, and that somebody tried is in the audit."""
    eve.command(f"/email alias list {_mailbox(alice)}")
    scene.is_told(eve, "You can only see your own mailbox.")
    scene.audited("person.turned_away", eve.id, "only see your own mailbox")


def test_a_changed_address_in_a_form_is_looked_at_too(scene: Scene, eve: Person) -> None:
    """A form is a command by other means."""
    scene.slack.change_user(eve, email=f"new-{_mailbox(eve)}")
    with scene.no_effect():
        scene.form(eve, "alias_add", {"address": scene.fresh()})
        (row,) = scene.requests_of(eve)
        scene.refuses(eve, row["id"], CHANGED)
