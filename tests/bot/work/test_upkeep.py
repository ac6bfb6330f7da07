# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What is done every now and then, and how long things wait; and quorums, which are arithmetic."""

from __future__ import annotations

import errno
import json

import pytest

from ansible_collections.postroom.email.tests.bot.work.office import NEW, Office
from postroom_bot.model import Quorum
from postroom_bot.store import audit, inbox, tombstones
from postroom_bot.work.backoff import LONGEST, seconds
from postroom_bot.work.standing import met
from postroom_bot.work.upkeep import KEEP_KEYS, PURGE_EVERY, Upkeep


def test_the_audit_is_written_out_as_lines(office: Office) -> None:
    """Each row once, in order, and the lines agree with the database."""
    lines: list[str] = []
    upkeep = Upkeep(office.with_(audit_lines=lines.append))
    request = office.ask()
    upkeep.run()
    office.approve(request, "bob")
    upkeep.run()
    assert [json.loads(line)["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert office.deps.database.read(lambda c: audit.verify_lines(c, lines)).count == len(lines)


def test_open_requests_are_counted(office: Office) -> None:
    """By state, so that an operator sees them pile up."""
    office.ask()
    Upkeep(office.deps).run()
    found = office.deps.metrics.registry.get_sample_value
    assert found("postroom_bot_open_requests", {"state": "pending"}) == 1
    assert found("postroom_bot_open_requests", {"state": "new"}) == 0


def test_where_lines_go_may_be_full(office: Office) -> None:
    """The rest is done all the same, and the lines are written when there is room again."""
    office.ask()

    def full(_line: str) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    with pytest.raises(OSError, match="no space left"):
        Upkeep(office.with_(audit_lines=full)).run()
    found = office.deps.metrics.registry.get_sample_value
    assert found("postroom_bot_open_requests", {"state": "pending"}) == 1
    lines: list[str] = []
    Upkeep(office.with_(audit_lines=lines.append)).run()
    assert office.deps.database.read(lambda c: audit.verify_lines(c, lines)).count == len(lines)


def test_old_keys_and_tombstones_are_forgotten(office: Office) -> None:
    """Not before nothing can come of them any more."""
    upkeep = Upkeep(office.deps)
    database, at = office.deps.database, office.clock()
    assert database.write(lambda c: inbox.first(c, "key", at=at))
    until = at + KEEP_KEYS
    database.write(lambda c: tombstones.bury(c, NEW, "erin@example.com", at=at, until=until))
    upkeep.run()
    assert not database.write(lambda c: inbox.first(c, "key", at=at))
    office.clock.advance(KEEP_KEYS + PURGE_EVERY)
    upkeep.run()
    assert database.write(lambda c: inbox.first(c, "key", at=office.clock()))
    assert database.write(lambda c: tombstones.purge(c, office.clock())) == 0


@pytest.mark.parametrize(("tries", "most"), [(1, 2), (2, 4), (5, 32), (10, LONGEST), (99, LONGEST)])
def test_pauses_grow_to_a_limit(tries: int, most: float) -> None:
    """Twice as long each time, spread a little, and never shorter than asked for."""
    for _ in range(20):
        assert 0.8 * most <= seconds(tries) <= most
        assert seconds(tries, 5000.0) == 5000.0


@pytest.mark.parametrize(
    ("quorum", "voters", "is_met"),
    [
        ({"a": 1}, "", False),
        ({"a": 1}, "a", True),
        ({"a": 2}, "a b", False),
        ({"a": 2}, "a a", True),
        ({"a": 1, "b": 1}, "ab", False),
        ({"a": 1, "b": 1}, "a a", False),
        ({"a": 1, "b": 1}, "ab a", True),
        ({"a": 2, "b": 1}, "ab b b", False),
        ({"a": 2, "b": 1}, "ab ab b", True),
        ({"a": 1, "b": 1, "c": 1}, "ab ab ab", False),
        ({"a": 1, "b": 1, "c": 1}, "ac bc c", True),
    ],
)
def test_each_approval_counts_for_one_group(
    quorum: dict[str, int], voters: str, is_met: bool
) -> None:
    """A quorum is met where each approval finds a place of its own."""
    members = [frozenset(one) for one in voters.split()]
    assert met([Quorum(*one) for one in quorum.items()], members) is is_met
