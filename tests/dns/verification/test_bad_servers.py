# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Servers that answer nothing, wrongly, slowly or with garbage say nothing of a record."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.postroom.email.plugins.module_utils._api.records.notation import (
    quoted,
    txt_strings,
)
from ansible_collections.postroom.email.tests.dns.verification.scene import (
    DKIM,
    MX,
    SPF,
    published,
    seen,
    shortfall,
    statuses,
)
from ansible_collections.postroom.email.tests.fakes.nameserver import habits
from ansible_collections.postroom.email.tests.fakes.nameserver.server import BadServer, misbehaving
from ansible_collections.postroom.email.tests.support.bind import BindServer, running

HOME = "example.com"
#: What is said of a server that told nothing of a record.
SAID = ("told nothing (", "is not in charge of ", "failed (")
#: Seconds for a question that is not going to be answered.
SHORT = 0.4
RIGHT = {
    (HOME, "MX"): habits.answer(MX),
    (HOME, "TXT"): habits.answer(quoted([SPF])),
    (f"service._domainkey.{HOME}", "TXT"): habits.answer(quoted(txt_strings(DKIM))),
}
NOTHING = habits.nothing_there(soa=HOME)
BAD = {
    "silent": habits.silent,
    "garbage": habits.garbage,
    "under another number": habits.wrong_id(NOTHING),
    "of another question": habits.wrong_question(NOTHING),
    "a question itself": habits.no_response(NOTHING),
    "from another port": habits.elsewhere(NOTHING),
    "too late": habits.late(30, NOTHING),
    "not an authority": habits.nothing_there("NXDOMAIN", soa=HOME, aa=False),
    "no name, by no zone": habits.nothing_there("NXDOMAIN"),
    "nothing, by no zone": habits.nothing_there(),
    "the records of another name": habits.another_name("other.example", MX),
    "a referral": habits.referral(HOME, "ns1.example.net"),
    "refused": habits.refused,
    "failed": habits.failing("SERVFAIL"),
    "not implemented": habits.failing("NOTIMP"),
    "no zone of its": habits.failing("NOTAUTH"),
    "cut, and silent over TCP": habits.truncated(habits.silent),
    "cut, and cut over TCP": habits.truncated(habits.half(NOTHING)),
    "cut, and garbage over TCP": habits.truncated(habits.garbage),
    "cut, and too slow over TCP": habits.truncated(habits.dripping(5, NOTHING)),
}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BindServer]:
    """Run an authority that has all records."""
    place = tmp_path_factory.mktemp("good")
    with running(place, {HOME: published(HOME), "bare.example": ""}) as server:
        yield server


class Spoiler:
    """A server whose answers are spoilt.

    :param changes: places and what is changed there, or what follows the number of the question
    """

    def __init__(self) -> None:
        self.server: BadServer | None = None
        self.changes: list[tuple[int, int]] | bytes = []

    def spoilt(self, habit: habits.Habit) -> habits.Habit:
        """Do as ``habit``, with the changes."""
        return lambda asked: [
            piece._replace(data=self._changed(piece.data)) for piece in habit(asked)
        ]

    def _changed(self, wire: bytes) -> bytes:
        if isinstance(self.changes, bytes):
            return wire[:2] + self.changes
        changed = bytearray(wire)
        for place, mask in self.changes:
            changed[2 + place % (len(wire) - 2)] ^= mask
        return bytes(changed)


@pytest.fixture(scope="module")
def spoiler() -> Iterator[Spoiler]:
    """Run such a server, which would have all records."""
    spoiler = Spoiler()
    with misbehaving({key: spoiler.spoilt(habit) for key, habit in RIGHT.items()}) as server:
        spoiler.server = server
        yield spoiler


def is_said(server: BadServer, text: str) -> bool:
    """Tell whether a server is named with what came of asking it."""
    return any(f"{server} {words}" in text for words in SAID)


@pytest.mark.parametrize("habit", BAD.values(), ids=BAD.keys())
def test_nothing_that_is_no_answer_makes_a_record_missing(habit: habits.Habit) -> None:
    """All that is known is that nothing is."""
    with misbehaving({("*", "*"): habit}) as bad:
        verification = seen(HOME, bad, seconds=SHORT)
    assert statuses(verification) == ["unknown"] * 3
    assert verification.stage == "unknown"
    assert set(verification.current.values()) == {None}
    assert all(is_said(bad, each.detail) for each in verification.verdicts)


def test_all_bad_servers_together_do_not_spoil_a_good_one(good: BindServer) -> None:
    """What they do is advice, one line for each record."""
    with contextlib.ExitStack() as stack:
        bad = [stack.enter_context(misbehaving({("*", "*"): habit})) for habit in BAD.values()]
        verification = seen(HOME, *bad, good)
    assert statuses(verification) == ["match"] * 3
    assert verification.stage == "published"
    told = [line for line in verification.advice if "told nothing (" in line]
    assert len(told) == 3
    assert all(is_said(server, line) for server in bad for line in told)


def test_a_bad_server_hides_nothing_that_is_wrong(good: BindServer) -> None:
    """What another says for certain counts."""
    with misbehaving({("*", "*"): habits.silent}) as bad:
        verification = seen("bare.example", good, bad, seconds=2.0)
    assert statuses(verification) == ["missing"] * 3


def test_answers_that_are_cut_over_udp_are_had_over_tcp() -> None:
    """Keys are long, and so this is no fault of anybody."""
    cut = {question: habits.truncated(habit) for question, habit in RIGHT.items()}
    with misbehaving(cut) as server:
        assert statuses(seen(HOME, server)) == ["match"] * 3
        assert {asked.over_tcp for asked in server.asked} == {False, True}


def test_what_else_comes_does_not_cover_the_answer() -> None:
    """Garbage first, and an answer under another number, and only then the right one."""
    noisy = {
        question: habits.both(habits.garbage, habits.both(habits.wrong_id(NOTHING), habit))
        for question, habit in RIGHT.items()
    }
    with misbehaving(noisy) as server:
        assert statuses(seen(HOME, server)) == ["match"] * 3


def test_one_question_that_fails_leaves_the_others_known() -> None:
    """Each record stands by itself."""
    with misbehaving({**RIGHT, (HOME, "TXT"): habits.failing("SERVFAIL")}) as server:
        verification = seen(HOME, server)
    assert statuses(verification) == ["match", "unknown", "match"]
    assert verification.stage == "unknown"


def test_a_server_that_cannot_be_reached_is_unknown() -> None:
    """Nobody listens any more."""
    with misbehaving({}) as server:
        gone = str(server)
    verification = seen(HOME, gone, seconds=SHORT)
    assert statuses(verification) == ["unknown"] * 3


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(2, 400), st.integers(1, 255)), min_size=1, max_size=6))
def test_answers_with_any_bytes_changed_come_to_a_verdict(
    spoiler: Spoiler, changes: list[tuple[int, int]]
) -> None:
    """Nothing that can be sent raises anything, and what can't be read is not missing."""
    spoiler.changes = changes
    verification = seen(HOME, spoiler.server, seconds=0.1)
    assert len(verification.verdicts) == 3
    assert verification.stage in {"created", "unknown", "published"}
    assert all(line.isprintable() for line in verification.advice)
    assert shortfall(verification).replace("\n", "").isprintable()


@settings(max_examples=30, deadline=None)
@given(st.binary(max_size=200))
def test_random_bytes_are_never_missing_records(spoiler: Spoiler, data: bytes) -> None:
    """Even under the number of the question."""
    spoiler.changes = data
    assert statuses(seen(HOME, spoiler.server, seconds=0.1)) == ["unknown"] * 3
