# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""kill -9 while a write is held up; the next process continues after the dead one's lease."""

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
        assert "request.resumed" in [row.event for row in bot.read(audit.rows)]
