# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""kill -9 at the worst moments, and SIGTERM with everything under way.

Each process is stopped at an exact place, by holding up what it waits for. The one that comes after
it starts when the leases of the dead one have run out.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.bot.flows.conftest import Start
from ansible_collections.postroom.email.tests.bot.flows.premises import (
    Deployment,
    put_ahead,
)
from ansible_collections.postroom.email.tests.bot.flows.test_requests import approve
from ansible_collections.postroom.email.tests.bot.listeners.hands import (
    card_of,
    fresh_address,
)
from ansible_collections.postroom.email.tests.fakes.slack.records import Message
from ansible_collections.postroom.email.tests.support.company import ALICE
from postroom_bot.model import State

#: Longer than any lease.
LATER = 130.0
POST = "chat.postMessage"


def check_done_once(bot: Deployment, address: str) -> None:
    """See that an alias was asked for, carried out and told as if nothing had happened."""
    here = bot.here
    bot.wait_told(here.alice, address, "Done")
    assert here.aliases().count(address) == 1
    (request,) = [one for one in bot.requests() if one.wish.target == address]
    assert request.state is State.DONE
    writes = [one for one in bot.premises.recorder.take_writes() if one.status == 200]
    assert len(writes) == 1
    told = [one for one in here.alice.sees().direct if address in one.text and "Done" in one.text]
    assert len(told) == 1
    bot.check_audit()


@pytest.mark.parametrize("after", [False, True], ids=["before the write", "after the write"])
def test_killed_while_it_writes(start: Start, ahead: Path, after: bool) -> None:
    """Between look and write nothing has been done, after the write all has: once either way."""
    address = fresh_address()
    with start() as bot, bot.premises.recorder.holding("PATCH", after=after) as gate:
        card = bot.card(bot.here.alice, f"alias add {address}")
        bot.here.bob.press(card, "request_approve")
        gate.wait()
        bot.bots[0].kill()
        gate.open(passes=False)
        assert (address in bot.here.aliases()) is after
    put_ahead(ahead, seconds=LATER)
    with start() as bot:
        check_done_once(bot, address)
        bot.wait_for_text(card, "Done")
        assert len(bot.cards(address)) == 1
        assert "request.resumed" in bot.events()


def test_killed_before_the_card_is_posted(start: Start, ahead: Path) -> None:
    """The next process posts it."""
    address = fresh_address()
    with start() as bot:
        slack = bot.here.slack
        slack.faults.hang(POST)
        bot.asks(bot.here.alice, f"alias add {address}")
        slack.wait_for(lambda: slack.faults.are_used_up)
        bot.bots[0].kill()
    put_ahead(ahead, seconds=LATER)
    with start() as bot:
        approve(bot, card_of(bot.here, bot.here.alice, address), bot.here.bob)
        check_done_once(bot, address)
        assert len(bot.cards(address)) == 1


def test_killed_before_it_knows_that_the_card_is_posted(start: Start, ahead: Path) -> None:
    """There are two cards then; the buttons of the one that nobody knows of do nothing."""
    address = fresh_address()
    with start() as bot:
        orphan = orphaned(bot, address)
    put_ahead(ahead, seconds=LATER)
    with start() as bot:
        here = bot.here
        card = card_of(here, here.alice, address)
        assert card is not orphan
        bot.check_answer(
            here.bob,
            "not the request's own card",
            lambda: here.bob.press(orphan, "request_approve"),
        )
        assert [one.state for one in bot.requests()] == [State.PENDING]
        approve(bot, card, here.bob)
        check_done_once(bot, address)


def orphaned(bot: Deployment, address: str) -> Message:
    """Have somebody ask, kill the bot when their card is there and it is not told so; return it."""
    slack = bot.here.slack
    slack.faults.lose_answer(POST, seconds=60)
    bot.asks(bot.here.alice, f"alias add {address}")
    card = slack.wait_for_message(bot.here.approvals, address)
    bot.bots[0].kill()
    return card


def test_told_to_end_in_the_midst_of_everything(start: Start) -> None:
    """It finishes what it is at and exits with 0; the next one goes on at once, with all of it."""
    begun, voted, *asked = (fresh_address() for _ in range(6))
    with start() as bot, bot.premises.recorder.holding("PATCH") as gate:
        here = bot.here
        cards = [bot.card(here.alice, f"alias add {address}") for address in (begun, voted)]
        here.bob.press(cards[0], "request_approve")
        gate.wait()
        for address in asked:
            bot.asks(here.alice, f"alias add {address}")
        here.bob.press(cards[1], "request_approve")
        bot.bots[0].process.terminate()
        gate.open()
        assert bot.bots[0].process.wait(60) == 0
    assert begun in here.aliases()
    with start() as bot:
        for address in asked:
            approve(bot, card_of(here, here.alice, address), here.bob)
        for address in (begun, voted, *asked):
            bot.wait_until_there(address, ALICE)
            bot.wait_told(here.alice, address, "Done")
        assert {one.state for one in bot.requests()} == {State.DONE}
        assert len(bot.requests()) == len(asked) + 2
        assert [len(bot.cards(address)) for address in (begun, voted, *asked)] == [1] * 6
        bot.check_audit()
