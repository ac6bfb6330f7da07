# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Two readings of RFC 7208: what is parsed, merged and counted here, and what pyspf makes of it.

Every case is numbered and the same in every run. pyspf asks a dictionary in place of DNS.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.records import (
    lookups,
    merging,
    spf,
)
from ansible_collections.postroom.email.tests.support import spf_worlds as worlds

pyspf = pytest.importorskip("spf", reason="needs pyspf")

TEXTS = 4000
OWNERS = 1500
MAZES = 2500
WANTED = ("v=spf1 include:ours.example ~all", "v=spf1 ip4:198.51.100.9 ?include:ours.example -all")


class Result(NamedTuple):
    """What pyspf says of a sender.

    :param decided: whether a mechanism matched
    :param lookups: how many terms asked DNS
    :param voids: how many questions found nothing
    """

    result: str
    decided: bool
    lookups: int
    voids: int
    words: str


Check = Callable[[worlds.Zone, str, str], Result]


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Check:
    """Return how to have pyspf check a record for a sender, over a zone."""

    def check(zone: worlds.Zone, text: str, sender: str) -> Result:
        monkeypatch.setattr(
            pyspf, "DNSLookup", lambda name, kind, *_rest: _answer(zone, name, kind)
        )
        query = pyspf.query(i=sender, s=f"info@{worlds.DOMAIN}", h="helo.example")
        result, _code, words = query.check(spf=text)
        decided = query.mechanism is not None
        return Result(result, decided, query.lookups, query.void_lookups, words)

    return check


def _answer(zone: worlds.Zone, name: str, kind: str) -> list[tuple[tuple[str, str], Any]]:
    """Answer as pyspf's own driver does."""
    if name.endswith(".arpa"):
        return [((name, kind), worlds.STRANGER)]
    if name == worlds.STRANGER and kind in worlds.STRANGERS:
        return [((name, kind), worlds.STRANGERS[kind])]
    shapes: dict[str, Callable[[str], Any]] = {
        "TXT": lambda text: (text.encode(),),
        "MX": lambda host: (10, host),
    }
    values = zone.get(name, {}).get(kind, [])
    return [((name, kind), shapes.get(kind, str)(value)) for value in values]


def _problem(text: str) -> str:
    """Return what the grammar says of a text; nothing where it is a record."""
    try:
        spf.parse(text)
    except spf.SpfError as error:
        return str(error)
    return ""


def _is_record(ask: Check, text: str) -> bool:
    """Tell whether pyspf takes a text.

    What stands first in it decides, so that nothing but the grammar can be an error.
    """
    probed = f"{text[:6]} +all{text[6:]}"
    return ask(worlds.OWNERS_ZONE, probed, worlds.STRANGERS["A"]).result == "pass"


def _is_explained(text: str, problem: str) -> bool:
    """Tell whether it is known why pyspf and the grammar are not of one mind."""
    words = text.split(" ")[1:]
    if "DNS cannot hold" in problem:
        # pyspf takes labels that no name has, and never asks for them.
        return any(sign in text for sign in ("..", ":.", "=."))
    if problem:
        # pyspf takes a macro without an end, any transformers, and anything in `default=`.
        for macro in worlds.MACROS:
            text = text.replace(macro, "")
        return "%{" in text or ("%" in text and any(word.startswith("default=") for word in words))
    # RFC 7208, 6: only redirect and exp must not be repeated.
    modifiers = [word.partition("=")[0] for word in words if "=" in word]
    return len(set(modifiers)) < len(modifiers)


def test_what_is_a_record(ask: Check) -> None:
    """Both take the same of thousands of texts near the grammar, but for what is written down."""
    outcome: Counter[str] = Counter()
    for number in range(TEXTS):
        text = worlds.texts(number)
        problem = _problem(text)
        if _is_record(ask, text) is (not problem):
            outcome["malformed" if problem else "valid"] += 1
            continue
        assert _is_explained(text, problem), f"case {number}: {text!r} {problem}"
        outcome["explained"] += 1
    assert outcome.total() == TEXTS
    assert outcome["valid"] > TEXTS // 2
    assert outcome["malformed"] > TEXTS // 6
    assert outcome["explained"] < TEXTS // 20


@pytest.mark.parametrize(
    ("text", "takes"),
    [
        ("v=spf1 exists:%{d.example.com", True),
        ("v=spf1 exists:%{d0}.example.com", True),
        ("v=spf1 exists:%{d!}.example.com", True),
        ("v=spf1 a:example..com", True),
        (f"v=spf1 a:{'a' * 64}.example", True),
        ("v=spf1 ip4:192.0.2.1\n", True),
        ("v=spf1 EXP=localhost", True),
        ("v=spf1 redirect=a.example REDIRECT=b.example", True),
        ("v=spf1 moo=1 moo=2", False),
        ("v=spf1 ~all include:owner.example", False),
    ],
)
def test_where_both_differ_on_purpose(ask: Check, text: str, takes: bool) -> None:
    """Each kind of difference: pyspf is more lenient than the grammar, or stricter.

    An include of the record's own domain is no error of grammar, and behind `all` it is none at
    all; before it, counting finds it.
    """
    assert _is_record(ask, text) is takes
    assert (not _problem(text)) is not takes


def _expected(ask: Check, owner: worlds.Record, wanted: str, sender: str) -> str:
    """Return the result for a sender, put together from what pyspf says of the parts."""
    zone = worlds.OWNERS_ZONE
    before = ask(zone, " ".join(["v=spf1", *owner.mechanisms]), sender)
    if before.decided:
        return before.result
    service = ask(zone, wanted.rpartition(" ")[0], sender)
    return (service if service.decided else ask(zone, owner.text, sender)).result


@pytest.mark.parametrize("wanted", WANTED)
def test_what_a_merged_record_says(ask: Check, wanted: str) -> None:
    """The service's senders are let in unless the owner decided before; nobody else notices."""
    outcome: Counter[str] = Counter()
    for number in range(OWNERS):
        owner = worlds.owners(number)
        try:
            merged = merging.merge(["other text", owner.text], wanted)
        except merging.SpfConflict:
            outcome["conflict"] += 1
            assert _contradicts(owner, wanted), f"case {number}: {owner.text}"
            continue
        assert not _contradicts(owner, wanted), f"case {number}: {owner.text}"
        for sender in worlds.SENDERS[number % 3 :: 3]:
            expected = _expected(ask, owner, wanted, sender)
            result = ask(worlds.OWNERS_ZONE, merged, sender).result
            assert result == expected, f"case {number}: {owner.text} to {merged} for {sender}"
            outcome[result] += 1
    assert "permerror" not in outcome
    assert min(outcome[result] for result in ("pass", "fail", "softfail", "neutral")) > OWNERS // 5


def _contradicts(owner: worlds.Record, wanted: str) -> bool:
    """Tell whether the owner has a mechanism of the service under another qualifier."""
    asked = dict(map(_qualified, wanted.split(" ")[1:-1]))
    held = map(_qualified, [*owner.mechanisms, *owner.rest])
    return any(asked.get(name, qualifier) != qualifier for name, qualifier in held)


def _qualified(word: str) -> tuple[str, str]:
    """Return a word as it is compared, and its qualifier."""
    qualifier = word[0] if word[0] in "+-~?" else "+"
    return word.lstrip("+-~?").lower().removesuffix("."), qualifier


def test_what_a_record_says_after_a_withdrawal(ask: Check) -> None:
    """A record that never had the service says of everybody what it said before it was merged."""
    compared = 0
    for number in range(OWNERS):
        owner = worlds.owners(number)
        if worlds.SERVICE in owner.text.lower():
            continue
        left = merging.withdraw([merging.merge([owner.text], WANTED[0])], WANTED[0])
        if left is None:
            assert owner.text in ("v=spf1", "v=spf1 ~all")
            continue
        for sender in worlds.SENDERS[number % 3 :: 3]:
            results = [ask(worlds.OWNERS_ZONE, text, sender) for text in (left, owner.text)]
            assert results[0] == results[1], f"case {number}: {owner.text} to {left} for {sender}"
            compared += 1
    assert compared > 2 * OWNERS


def _asker(zone: worlds.Zone) -> lookups.Ask:
    def ask_zone(name: str, kind: str) -> lookups.Lookup:
        values = tuple(zone.get(name, {}).get(kind, ()))
        return lookups.Lookup("found" if values else "void", values)

    return ask_zone


def _cause(result: Result) -> str:
    """Return why pyspf gives a record up; empty where it does not."""
    if result.result != "permerror":
        return ""
    if "Too many DNS lookups" in result.words:
        return "lookups"
    return "voids" if "Void lookup limit" in result.words else "problem"


def _causes(cost: lookups.Cost) -> set[str]:
    """Return why receivers give a record up, as it was counted."""
    causes = {
        "lookups": cost.lookups > lookups.MOST_LOOKUPS,
        "voids": _voids(cost) > lookups.MOST_VOIDS,
        "problem": cost.problem is not None,
    }
    if cost.problem and "leads back" in cost.problem:
        # pyspf goes round until it has counted too many of either.
        return set(causes)
    return {cause for cause, holds in causes.items() if holds}


def _voids(cost: lookups.Cost) -> int:
    """Return how many questions find nothing, for whom it is worse."""
    return max(cost.voids, cost.voids_ipv6)


def test_what_a_record_costs(ask: Check) -> None:
    """Look-ups, those that find nothing, and why receivers give up, for senders of either kind."""
    outcome: Counter[str] = Counter()
    for number in range(MAZES):
        text, zone = worlds.mazes(number)
        cost = lookups.count(text, worlds.DOMAIN, _asker(zone))
        results = [ask(zone, text, sender) for sender in worlds.STRANGERS.values()]
        about = f"case {number}: {text} {zone} {cost} {results}"
        found = {_cause(result) for result in results} - {""}
        outcome.update(found or {"counted"})
        assert found <= _causes(cost), about
        assert bool(found) is bool(_causes(cost)), about
        if not found:
            assert {result.lookups for result in results} == {cost.lookups}, about
            assert max(result.voids for result in results) == _voids(cost), about
    assert outcome["counted"] > MAZES // 2
    assert min(outcome[cause] for cause in ("lookups", "voids", "problem")) > MAZES // 50


def test_a_redirect_beside_all_is_counted_by_pyspf_alone(ask: Check) -> None:
    """RFC 7208, 6.1: it is ignored there, so it takes no look-up."""
    text = "v=spf1 a:h1.example redirect=r.example -all"
    assert ask(worlds.OWNERS_ZONE, text, worlds.STRANGERS["A"]).lookups == 2
    assert lookups.count(text, worlds.DOMAIN, _asker(worlds.OWNERS_ZONE)).lookups == 1
