# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Requests by command, from what is typed to what the mail service then has."""

from __future__ import annotations

from functools import partial

from ansible_collections.postroom.email.tests.bot.flows.premises import (
    Deployment,
    number_of,
    with_buttons,
)
from ansible_collections.postroom.email.tests.bot.listeners.hands import (
    fresh_address,
    window,
)
from ansible_collections.postroom.email.tests.fakes.slack.person import Person
from ansible_collections.postroom.email.tests.fakes.slack.records import Message
from ansible_collections.postroom.email.tests.support.company import ALICE, BOB

OUTSIDE = "partner@elsewhere.example"


def approve(flow: Deployment, card: Message, *people: Person) -> None:
    """Have people approve, each when the card shows the approval before."""
    for number, person in enumerate(people, 1):
        assert person.press(card, "request_approve").ok
        flow.wait_for_text(card, f"({number} of ")


def members(flow: Deployment, forwarder: str) -> set[str]:
    """Return where a forwarder leads to, as the mail service has it; nothing if it is not there."""
    answer = flow.here.api.get(forwarder)
    return set(answer.json()["members"]) if answer.status_code == 200 else set()


def test_an_alias_goes_all_the_way(flow: Deployment) -> None:
    """Asked for, approved, there, told to all, in the audit and in the ledger."""
    here, address = flow.here, fresh_address()
    card = flow.card(here.alice, f"alias add {address} because customers ask")
    assert "customers ask" in card.text
    assert address not in here.aliases()
    approve(flow, card, here.bob)
    flow.wait_told(here.alice, address, "Done")
    assert address in here.aliases()
    flow.wait_for_text(card, "Done")
    here.slack.wait_for_message(flow.premises.audit, address)
    assert len(flow.cards(address)) == 1
    verified = flow.bots[0].command("audit", "verify")
    assert "in order" in verified.stdout
    (mailbox,) = [one for one in flow.ledger()["mailboxes"] if one["name"] == ALICE]
    assert address in mailbox["aliases"]


def test_an_alias_that_is_given_up_is_kept_from_others(flow: Deployment) -> None:
    """One's own goes without approval, and nobody else gets it soon."""
    here, address = flow.here, fresh_address()
    approve(flow, flow.card(here.alice, f"alias add {address}"), here.bob)
    flow.wait_told(here.alice, address, "Done")
    number = flow.asks(here.alice, f"alias remove {address}")
    flow.wait_told(here.alice, number, "Done")
    assert address not in here.aliases()
    number = flow.asks(here.carol, f"alias add {address}")
    flow.wait_told(here.carol, number, "kept free")
    assert len(flow.cards(address)) == 1


def test_what_the_policy_denies_is_not_even_shown(flow: Deployment) -> None:
    """An address for somebody else's mailbox becomes no card, and the person is told why."""
    here, address = flow.here, fresh_address()
    number = flow.asks(here.alice, f"alias add {address} to {BOB}")
    flow.wait_told(here.alice, number, "Stopped")
    assert flow.cards(address) == []


def test_mail_leaves_the_house_by_two_approvals(flow: Deployment) -> None:
    """One approval changes nothing; the second one, of the other group, makes the forwarder."""
    here, address = flow.here, fresh_address()
    card = flow.card(here.alice, f"forward add {address} to {OUTSIDE}")
    assert f"{OUTSIDE}" in card.text
    assert "Warning" in card.text
    approve(flow, card, here.bob)
    assert members(flow, address) == set()
    approve(flow, card, here.dora)
    flow.wait_told(here.alice, address, "Done")
    assert members(flow, address) == {OUTSIDE}
    number = flow.asks(here.alice, f"forward remove {address}")
    flow.wait_told(here.alice, number, "Waiting")
    approve(flow, here.slack.wait_for_message(here.approvals, number), here.carol)
    flow.wait_told(here.alice, number, "Done")
    assert members(flow, address) == set()


def test_a_denial_tells_its_reason(flow: Deployment) -> None:
    """The card and the requester say why; nothing is done, and no vote counts any more."""
    here, address = flow.here, fresh_address()
    card = flow.card(here.alice, f"alias add {address}")
    here.bob.press(card, "request_deny")
    here.bob.submit(window(here, here.bob, "deny_reason"), {"reason": "Not this year."})
    flow.wait_told(here.alice, address, "Not this year.")
    flow.wait_for_text(card, "Denied")
    late = partial(here.slack.forger().press, here.carol, with_buttons(card), "request_approve")
    flow.check_answer(here.carol, "denied already", late)
    assert address not in here.aliases()


def test_a_request_is_taken_back_by_command_and_by_button(flow: Deployment) -> None:
    """The card follows, and nothing is done."""
    here, first, second = flow.here, fresh_address(), fresh_address()
    card = flow.card(here.alice, f"alias add {first}")
    flow.asks(here.alice, f"cancel {number_of(card.text)}")
    flow.wait_for_text(card, "Cancelled")
    card = flow.card(here.alice, f"alias add {second}")
    here.alice.press(flow.wait_told(here.alice, second, "Waiting"), "request_cancel")
    flow.wait_for_text(card, "Cancelled")
    assert not {first, second} & set(here.aliases())
