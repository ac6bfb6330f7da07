# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Servers that answer nothing, wrongly, slowly or with garbage say nothing of a record."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

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
    statuses,
)
from ansible_collections.postroom.email.tests.support import habits
from ansible_collections.postroom.email.tests.support.bind import BindServer, running
from ansible_collections.postroom.email.tests.support.nameserver import misbehaving

HOME = "example.com"
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


@pytest.mark.parametrize("habit", BAD.values(), ids=BAD.keys())
def test_nothing_that_is_no_answer_makes_a_record_missing(
    good: BindServer, habit: habits.Habit
) -> None:
    """Alone it leaves everything unknown; beside a good server it is advice, and no more."""
    with misbehaving({("*", "*"): habit}) as bad:
        alone = seen(HOME, bad, seconds=SHORT)
        beside = seen(HOME, good, bad, seconds=SHORT)
    assert statuses(alone) == ["unknown"] * 3
    assert alone.stage == "unknown"
    assert set(alone.current.values()) == {None}
    assert all(f"{bad} told nothing (" in each.detail for each in alone.verdicts)
    assert statuses(beside) == ["match"] * 3
    assert beside.stage == "published"
    assert f"{bad} told nothing (" in beside.advice[0]


def test_a_bad_server_hides_nothing_that_is_wrong(good: BindServer) -> None:
    """What another says for certain counts."""
    with misbehaving({("*", "*"): habits.silent}) as bad:
        verification = seen("bare.example", good, bad, seconds=SHORT)
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
