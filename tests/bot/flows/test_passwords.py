# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""New passwords: the mail service takes them, and nobody but the mailbox's owner sees them."""

from __future__ import annotations

from ansible_collections.postroom.email.tests.bot.flows.premises import Deployment, number_of
from ansible_collections.postroom.email.tests.bot.flows.test_requests import approve
from ansible_collections.postroom.email.tests.bot.listeners.hands import text_of, window
from ansible_collections.postroom.email.tests.fakes.slack.person import Person
from ansible_collections.postroom.email.tests.service.api import SECRET
from ansible_collections.postroom.email.tests.support.company import ALICE
from ansible_collections.postroom.email.tests.support.passwords import opens

CAROL = "carol@example.com"


def make_it(flow: Deployment, person: Person) -> str:
    """Say yes in the window before a new password, and return what is shown."""
    person.submit(window(flow.here, person, "password_confirm"))
    shown = window(flow.here, person, "password_shown")
    password: str = shown.blocks[1]["elements"][0]["elements"][0]["text"]
    return password


def seen_elsewhere(flow: Deployment, owner: Person, password: str) -> list[str]:
    """Return where a password is to be found, beside the windows of its owner."""
    here = flow.here
    others = [person for person in flow.premises.people if person.id != owner.id]
    windows = [text_of(view) for person in others for view in here.slack.modals(person)]
    places = {
        "messages": here.slack.log(without="views."),
        "others' windows": "".join(windows),
        "logs": "".join(bot.log() for bot in flow.bots),
        "requests": str(flow.requests()),
        "the audit": flow.bots[0].command("audit", "show").stdout,
    }
    return [place for place, text in places.items() if password in text]


def test_ones_own_password(flow: Deployment) -> None:
    """It replaces the old one at the mail service, and is in its owner's window alone."""
    here = flow.here
    here.carol.command("/email password")
    password = make_it(flow, here.carol)
    assert opens(flow.here.mail, CAROL, password)
    assert not opens(flow.here.mail, CAROL, SECRET)
    assert seen_elsewhere(flow, here.carol, password) == []


def test_the_password_of_somebody_else(flow: Deployment) -> None:
    """Two people approve, the owner alone is shown it, and whoever asked for it is not."""
    here = flow.here
    here.bob.command(f"/email password {ALICE}")
    assert "Request R-" in text_of(window(here, here.bob, "note"))
    flow.wait_told(here.bob, "new password", "Waiting")
    card = here.slack.wait_for_message(here.approvals, f"new password for {ALICE}")
    number = number_of(card.text)
    approve(flow, card, here.carol, here.dora)
    offer = flow.wait_told(here.alice, number, "Make it")
    here.slack.forger().press(here.bob, offer, "password_show")
    here.slack.wait_for(lambda: "not your mailbox" in text_of(window(here, here.bob, "note")))
    here.alice.press(offer, "password_show")
    password = make_it(flow, here.alice)
    assert opens(flow.here.mail, ALICE, password)
    flow.wait_told(here.bob, number, "Done")
    flow.wait_for_text(card, "Done")
    assert seen_elsewhere(flow, here.alice, password) == []
    here.alice.close(window(here, here.alice, "password_shown"))
    here.alice.press(offer, "password_show")
    here.slack.wait_for(lambda: "done already" in text_of(window(here, here.alice, "note")))
