# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The whole flow, by each transport: from what is typed to what the mail service then has."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from ansible_collections.postroom.email.tests.bot.flows.deployment import (
    APPROVE,
    Deployment,
    number_of,
)
from ansible_collections.postroom.email.tests.service.api import SECRET
from ansible_collections.postroom.email.tests.support.company import (
    ALICE,
    fresh_address,
    password_in,
    text_of,
)
from ansible_collections.postroom.email.tests.support.passwords import opens

CAROL = "carol@example.com"


def test_an_alias_goes_all_the_way(flow: Deployment) -> None:
    """It is requested, approved, created, and in all notices, the audit and the ledger."""
    here, address = flow.here, fresh_address()
    card = flow.card(here.alice, f"alias add {address} because customers ask")
    assert "customers ask" in card.text
    assert address not in here.aliases()
    flow.approve(card, here.bob)
    here.wait_told(here.alice, address, "Done")
    assert address in here.aliases()
    flow.wait_for_text(card, "Done")
    here.slack.wait_for_message(flow.premises.audit, address)
    assert len(flow.cards(address)) == 1
    verified = flow.bots[0].command("audit", "verify")
    assert verified.returncode == 0
    declared = json.loads(flow.bots[0].command("ledger").stdout)
    (mailbox,) = [one for one in declared["mailboxes"] if one["name"] == ALICE]
    assert address in mailbox["aliases"]


def test_ones_own_password(flow: Deployment) -> None:
    """It replaces the old one, and shows in its owner's modal alone, also if Slack fails once."""
    here = flow.here
    here.carol.shortcut("postroom_menu")
    here.carol.press_in_view(here.window(here.carol, "menu"), "open_password")
    confirm = here.window(here.carol, "password_confirm")
    here.slack.faults.fail("views.update")
    here.carol.submit(confirm)
    password = password_in(here.window(here.carol, "password_shown"))
    assert opens(here.mail, CAROL, password)
    assert not opens(here.mail, CAROL, SECRET)


def test_the_password_of_another_person(flow: Deployment) -> None:
    """Two people approve, and its owner makes it once."""
    here = flow.here
    here.bob.command(f"/email password {ALICE}")
    assert "Request R-" in text_of(here.window(here.bob, "note"))
    here.wait_told(here.bob, "new password", "Waiting")
    card = here.slack.wait_for_message(here.approvals, f"new password for {ALICE}")
    number = number_of(card.text)
    flow.approve(card, here.carol, here.dora)
    offer = here.wait_told(here.alice, number, "Make it")
    here.alice.press(offer, "password_show")
    here.alice.submit(here.window(here.alice, "password_confirm"))
    shown = here.window(here.alice, "password_shown")
    password = password_in(shown)
    assert opens(here.mail, ALICE, password)
    here.wait_told(here.bob, number, "Done")
    flow.wait_for_text(card, "Done")
    here.alice.close(shown)
    here.alice.press(offer, "password_show")
    here.slack.wait_for(lambda: "done already" in text_of(here.window(here.alice, "note")))


@pytest.mark.full
def test_much_at_once_is_done_once(flow: Deployment) -> None:
    """Nothing is lost or done twice, and no mailbox has two writers at the same time."""
    here, (alice, bob, carol, dora) = flow.here, flow.premises.people
    pairs = [(alice, bob), (bob, carol), (carol, dora), (dora, bob)] * 6
    wanted = [(fresh_address(), *pair) for pair in pairs]
    flow.premises.recorder.take()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda one: flow.asks(one[1], f"alias add {one[0]}"), wanted))
        list(pool.map(lambda one: one[2].press(here.card_of(one[1], one[0]), APPROVE), wanted))
    for address, requester, _ in wanted:
        here.wait_told(requester, address, "Done")
        assert address in here.aliases(str(requester.user.email))
        assert len(flow.cards(address)) == 1
    addresses = [one.wish.target for one in flow.requests()]
    assert {addresses.count(address) for address, *_ in wanted} == {1}
    writes = sorted(flow.premises.recorder.take_writes(), key=lambda one: (one.path, one.began))
    assert [one.status for one in writes] == [200] * len(wanted)
    for earlier, later in pairwise(writes):
        assert earlier.path != later.path or earlier.ended <= later.began
