# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What time brings: a reminder, the end of a request, the end of an alias."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.bot.flows.conftest import Start
from ansible_collections.postroom.email.tests.bot.flows.premises import (
    Deployment,
    put_ahead,
    with_buttons,
)
from ansible_collections.postroom.email.tests.bot.flows.test_requests import approve
from ansible_collections.postroom.email.tests.bot.listeners.hands import fresh_address
from ansible_collections.postroom.email.tests.fakes.slack.records import Message
from ansible_collections.postroom.email.tests.support.company import ALICE
from postroom_bot.model import State


@pytest.fixture
def bot(start: Start) -> Iterator[Deployment]:
    """Give one bot."""
    with start() as found:
        yield found


def test_approvers_are_reminded_and_the_request_expires(bot: Deployment, ahead: Path) -> None:
    """After four hours they are told once more, after a day it is over for good."""
    here, address = bot.here, fresh_address()
    card = bot.card(here.alice, f"alias add {address}")
    put_ahead(ahead, hours=4, minutes=1)
    here.slack.wait_for(lambda: reminders(bot, address))
    put_ahead(ahead, hours=24, minutes=1)
    bot.wait_told(here.alice, address, "Expired")
    bot.wait_for_text(card, "Expired")
    late = partial(here.slack.forger().press, here.bob, with_buttons(card), "request_approve")
    bot.check_answer(here.bob, "has expired", late)
    assert len(reminders(bot, address)) == 1
    assert address not in here.aliases()
    bot.check_audit()


def reminders(bot: Deployment, address: str) -> list[Message]:
    """Return by what approvers were reminded of a request."""
    found = bot.here.slack.messages(bot.here.approvals)
    return [one for one in found if address in one.text and "still waits" in one.text]


def test_an_alias_ends_with_its_last_day(bot: Deployment, ahead: Path) -> None:
    """The bot removes it by itself, tells the requester, and the ledger says so."""
    here, address = bot.here, fresh_address()
    last_day = (datetime.now(UTC) + timedelta(days=1)).date()
    approve(bot, bot.card(here.alice, f"alias add {address} until {last_day}"), here.bob)
    bot.wait_until_there(address, ALICE)
    put_ahead(ahead, days=3)
    here.slack.wait_for(lambda: address not in here.aliases())
    bot.wait_told(here.alice, f"remove {address}", "Done")
    states = [one.state for one in bot.requests() if one.wish.target == address]
    assert states == [State.DONE] * 2
    (mailbox,) = bot.ledger()["mailboxes"]
    assert {"address": address, "state": "absent"} in mailbox["aliases"]
    bot.check_audit()
