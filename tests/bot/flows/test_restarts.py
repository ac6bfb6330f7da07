# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""kill -9 at the worst moments.

Each process is stopped at an exact place, by holding up what it waits for. The next one continues
when the leases of the dead one, which are short, have run out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.bot.flows.conftest import FreshDatabase
from ansible_collections.postroom.email.tests.bot.flows.deployment import (
    APPROVE,
    Deployment,
    Plan,
    Premises,
    deployed,
    premises,
)
from ansible_collections.postroom.email.tests.support.company import fresh_address
from postroom_bot.model import State
from postroom_bot.store import audit

pytestmark = pytest.mark.full

POST = "chat.postMessage"
#: Seconds.
SHORT = {"lease": 4, "timeout": 3}

#: Starts a bot over what the one before it left.
Start = Callable[[], AbstractContextManager[Deployment]]


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Premises]:
    """Give a company whose bots come and go."""
    with premises(tmp_path_factory.mktemp("premises")) as found:
        yield found


@pytest.fixture
def start(there: Premises, fresh: FreshDatabase, tmp_path: Path) -> Iterator[Start]:
    """Give the way to start one bot again and again."""
    with ExitStack() as end:
        database = fresh("sqlite", end)
        there.recorder.take()
        yield lambda: deployed(there, tmp_path, Plan("socket", "sqlite"), database, SHORT)


def check_done_once(bot: Deployment, address: str) -> None:
    """Check that an alias was requested, added and reported as if nothing had happened."""
    here = bot.here
    here.wait_told(here.alice, address, "Done")
    assert here.aliases().count(address) == 1
    (request,) = [one for one in bot.requests() if one.wish.target == address]
    assert request.state is State.DONE
    writes = [one for one in bot.premises.recorder.take_writes() if one.status == 200]
    assert len(writes) == 1
    told = [one for one in here.alice.sees().direct if address in one.text and "Done" in one.text]
    assert len(told) == 1
    bot.read(audit.verify)


@pytest.mark.parametrize("after", [False, True], ids=["before the write", "after the write"])
def test_killed_while_it_writes(start: Start, after: bool) -> None:
    """Whether or not the write was done, it is done once."""
    address = fresh_address()
    with start() as bot, bot.premises.recorder.holding("PATCH", after=after) as gate:
        card = bot.card(bot.here.alice, f"alias add {address}")
        bot.here.bob.press(card, APPROVE)
        gate.wait()
        bot.bots[0].kill()
        gate.open(passes=False)
        assert (address in bot.here.aliases()) is after
    with start() as bot:
        check_done_once(bot, address)
        bot.wait_for_text(card, "Done")
        assert len(bot.cards(address)) == 1
        assert "request.resumed" in bot.events()


@pytest.mark.parametrize("is_posted", [False, True])
def test_killed_while_it_posts_the_card(start: Start, is_posted: bool) -> None:
    """The next process posts the card; the buttons of one that it does not know do nothing."""
    address = fresh_address()
    with start() as bot:
        here = bot.here
        if is_posted:
            here.slack.faults.lose_answer(POST, seconds=60)
        else:
            here.slack.faults.hang(POST)
        bot.asks(here.alice, f"alias add {address}")
        here.slack.wait_for(lambda: here.slack.faults.are_used_up)
        bot.bots[0].kill()
        orphans = bot.cards(address)
        assert len(orphans) == is_posted
    with start() as bot:
        card = here.card_of(here.alice, address)
        for orphan in orphans:
            bot.check_answer(
                here.bob,
                "not the request's own card",
                lambda: here.bob.press(orphan, APPROVE),  # noqa: B023
            )
            assert [one.state for one in bot.requests()] == [State.PENDING]
        bot.approve(card, here.bob)
        check_done_once(bot, address)
