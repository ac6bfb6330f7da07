# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the tests do and look at again and again."""

from __future__ import annotations

import itertools

from ansible_collections.postroom.email.tests.fakes.slack.person import Person
from ansible_collections.postroom.email.tests.fakes.slack.records import Message, View
from ansible_collections.postroom.email.tests.support.company import DOMAIN, Company

_numbers = itertools.count(1)


def fresh_address() -> str:
    """Return an address that nobody has."""
    return f"project-{next(_numbers)}@{DOMAIN}"


def card_of(here: Company, person: Person, part: str) -> Message:
    """Wait for the card of somebody's request, of which the card says this.

    The requester is told when the bot knows which message is the card; before, it is none.
    """
    here.slack.wait_for_message(person.direct_channel, part)
    return here.slack.wait_for_message(here.approvals, part)


def asked(here: Company, person: Person) -> tuple[str, Message]:
    """Have somebody ask for an alias; return it and the card."""
    address = fresh_address()
    assert person.command(f"/email alias add {address}").ok
    return address, card_of(here, person, address)


def window(here: Company, person: Person, callback_id: str) -> View:
    """Wait until this window is in front of somebody."""

    def shown() -> View | None:
        modals = person.sees().modals
        return modals[-1] if modals and modals[-1].content["callback_id"] == callback_id else None

    found = here.slack.wait_for(shown)
    assert found is not None
    return found


def text_of(view: View) -> str:
    """Return all that a window says."""
    return str(view.content["blocks"])


def home_of(person: Person) -> str:
    """Return all that somebody's Home tab says."""
    home = person.sees().home
    return text_of(home) if home else ""


def last_said(person: Person) -> str:
    """Return the latest message that only this person sees, "" before there is one."""
    seen = person.sees().ephemerals
    return seen[-1].text if seen else ""
