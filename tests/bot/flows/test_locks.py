# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The locks on mailboxes are what keeps two writers apart: without them, it is seen at once.

The mail service takes its time over every write, so that whoever is not kept waiting comes between
another's look and write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.bot.flows.conftest import FreshDatabase
from ansible_collections.postroom.email.tests.bot.flows.crowd import (
    carry_through,
    lost,
    overlapping,
    wanted,
)
from ansible_collections.postroom.email.tests.bot.flows.premises import (
    Deployment,
    Plan,
    Premises,
    deployed,
    premises,
)

SLOW = "latency=100ms-300ms,methods=PATCH"
EACH = 4
PAIR = Plan("socket", "postgresql", replicas=2, copies=2)

Deploy = Callable[..., Deployment]


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Premises]:
    """Give a company whose mail service is slow to write."""
    with premises(tmp_path_factory.mktemp("slow"), faults=SLOW) as found:
        yield found


@pytest.fixture
def deploy(slow: Premises, fresh: FreshDatabase, tmp_path: Path) -> Iterator[Deploy]:
    """Give the way to run two bots, with options for the launcher, until the test ends."""
    with ExitStack() as end:

        def made(*options: str) -> Deployment:
            database = fresh(PAIR.backend, end)
            bots = deployed(slow, tmp_path, PAIR, database, options=options)
            return end.enter_context(bots)

        yield made


def found_wrong(flow: Deployment) -> list[str]:
    """Have many aliases carried out at once, and return what the checks find."""
    aliases = wanted(flow, EACH)
    writes = carry_through(flow, aliases)
    return [*lost(flow, aliases), *overlapping(writes)]


def test_with_locks_nobody_comes_in_between(deploy: Deploy) -> None:
    """However slow the mail service is, no mailbox has two writers and no alias is lost."""
    assert found_wrong(deploy()) == []


def test_without_locks_the_checks_see_it(deploy: Deploy) -> None:
    """The control: the same check finds lost aliases or overlapping writers."""
    assert found_wrong(deploy("--no-locks")) != []
