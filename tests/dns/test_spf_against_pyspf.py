# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Compare the collection's SPF code with pyspf: the effect of merging, and the cost of a record.

The records are random, but the same in every run. pyspf reads from a dictionary instead of DNS.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.dns import spf as merging
from ansible_collections.postroom.email.plugins.module_utils._api.dns import spf_lookups as lookups

pyspf = pytest.importorskip("spf", reason="needs pyspf")

OWNERS, MAZES = 1500, 2000
WANTED = ("v=spf1 include:ours.example ~all", "v=spf1 ip4:198.51.100.9 ?include:ours.example -all")

#: Records by name and type.
Zone = dict[str, dict[str, list[str]]]

DOMAIN, SERVICE = "owner.example", "ours.example"
#: Addresses that no record lists, with a reverse name that resolves to them.
STRANGERS = {"A": "203.0.113.77", "AAAA": "2001:db8:ffff::77"}
STRANGER = "stranger.test"
#: Senders in the service's networks, in the owner's networks, in both and in neither.
SENDERS = (
    *("198.51.100.1", "198.51.100.9", "198.51.100.12", "192.0.2.1", "192.0.2.7", "192.0.2.70"),
    *("192.0.2.200", "203.0.113.77", "2001:db8:5e::1", "2001:db8:5e:1::1", "2001:db8:a::1"),
    *("2001:db8:c::1", "2001:db8:ffff::77"),
)
QUALIFIERS = ("", "", "", "+", "-", "~", "?")
MECHANISMS = (
    *("ip4:192.0.2.0/24", "ip4:192.0.2.128/25", "ip4:198.51.100.0/29", "ip4:198.51.100.9"),
    *("ip4:0.0.0.0/1", "ip6:2001:db8:a::/48", "ip6:2001:db8:5e::1", "ip6:2001:DB8:5E::/64"),
    *("a:h1.example", "a:h2.example/28//64", "mx:h3.example", "a", "mx", "A:H1.Example."),
    *("include:i1.example", "include:i2.example", "include:I2.example.", "exists:h1.example"),
)
MODIFIERS = ("redirect=r.example", "exp=e.example", "moo=cow")
OURS = ("include:ours.example", "+include:OURS.example.", "-include:ours.example")
#: The records to which the terms of an owner's record refer.
OWNERS_ZONE: Zone = {
    DOMAIN: {"A": ["192.0.2.5"], "AAAA": ["2001:db8:a::5"], "MX": ["h1.example", "h2.example"]},
    "h1.example": {"A": ["192.0.2.1", "198.51.100.1"], "AAAA": ["2001:db8:a::1"]},
    "h2.example": {"A": ["192.0.2.33"], "AAAA": ["2001:db8:5e::2"]},
    "h3.example": {"MX": ["h2.example"]},
    "i1.example": {"TXT": ["v=spf1 ip4:192.0.2.64/26 -ip4:192.0.2.0/24 ip6:2001:db8:a::/64 ~all"]},
    "i2.example": {
        "TXT": ["some text", "v=spf1 a:h1.example ?ip4:198.51.100.0/28 redirect=r.example"]
    },
    "r.example": {"TXT": ["v=spf1 ip4:192.0.2.200 ip6:2001:db8:c::/48 -all"]},
    SERVICE: {"TXT": ["v=spf1 ip4:198.51.100.0/28 ip6:2001:db8:5e::/48 -ip4:192.0.2.7 -all"]},
}


class Result(NamedTuple):
    """pyspf's result for a sender, and whether a mechanism matched."""

    result: str
    decided: bool
    lookups: int
    voids: int
    words: str


Check = Callable[[Zone, str, str], Result]


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch) -> Check:
    """Provide a function that checks a record for a sender with pyspf and a given zone."""

    def run(zone: Zone, text: str, sender: str) -> Result:
        def answer(name: str, kind: str, *_rest: object) -> list[tuple[tuple[str, str], Any]]:
            if name.endswith(".arpa"):
                return [((name, kind), STRANGER)]
            if name == STRANGER and kind in STRANGERS:
                return [((name, kind), STRANGERS[kind])]
            values: list[Any] = list(zone.get(name, {}).get(kind, []))
            if kind == "TXT":
                values = [(value.encode(),) for value in values]
            if kind == "MX":
                values = [(10, value) for value in values]
            return [((name, kind), value) for value in values]

        monkeypatch.setattr(pyspf, "DNSLookup", answer)
        query = pyspf.query(i=sender, s=f"info@{DOMAIN}", h="helo.example")
        result, _code, words = query.check(spf=text)
        decided = query.mechanism is not None
        return Result(result, decided, query.lookups, query.void_lookups, words)

    return run


def chance_of(kind: str, number: int) -> Random:
    """Return the random number generator of one case."""
    return Random(f"{kind} {number}")  # noqa: S311 - the same in every run


class Owner(NamedTuple):
    """An owner's record: the mechanisms before the first ``all``, and the rest."""

    mechanisms: list[str]
    rest: list[str]

    @property
    def text(self) -> str:
        """The complete record."""
        return " ".join(["v=spf1", *self.mechanisms, *self.rest])


def owner_record(number: int) -> Owner:
    """Return a valid record, with or without the service's include.

    The include may be in the wrong place.
    """
    chance = chance_of("owner", number)

    def some(count: int) -> list[str]:
        return [chance.choice(QUALIFIERS) + chance.choice(MECHANISMS) for _term in range(count)]

    owner = Owner(some(chance.randrange(5)), [])
    if chance.random() < 0.7:
        owner.rest.append(chance.choice(["all", "-all", "~all", "?all", "-ALL"]))
        owner.rest.extend(some(chance.choice([0, 0, 2])))
    owner.rest.extend(one for one in MODIFIERS if chance.random() < 0.3)
    if chance.random() < 0.3:
        # The include is before the first `all` or after it.
        words = owner.rest if len(owner.rest) > 1 else owner.mechanisms
        words.insert(chance.randint(words is owner.rest, len(words)), chance.choice(OURS))
    return owner


def contradicts(owner: Owner, wanted: str) -> bool:
    """Return whether the owner's record contradicts any of the service's mechanisms."""

    def qualified(word: str) -> tuple[str, str]:
        qualifier = word[0] if word[0] in "+-~?" else "+"
        return word.lstrip("+-~?").lower().removesuffix("."), qualifier

    asked = dict(map(qualified, wanted.split(" ")[1:-1]))
    held = map(qualified, [*owner.mechanisms, *owner.rest])
    return any(asked.get(name, qualifier) != qualifier for name, qualifier in held)


def expected_result(check: Check, owner: Owner, wanted: str, sender: str) -> str:
    """Return the expected result for a sender, based on pyspf's results for the parts."""
    before = check(OWNERS_ZONE, " ".join(["v=spf1", *owner.mechanisms]), sender)
    if before.decided:
        return before.result
    service = check(OWNERS_ZONE, wanted.rpartition(" ")[0], sender)
    return (service if service.decided else check(OWNERS_ZONE, owner.text, sender)).result


def test_what_a_merged_record_says(check: Check) -> None:
    """After a merge, the service's senders pass, and all others keep their result."""
    outcome: Counter[str] = Counter()
    for number in range(OWNERS):
        owner, wanted = owner_record(number), WANTED[number % 2]
        about = f"case {number}: {owner.text}"
        try:
            merged = merging.merge(["other text", owner.text], wanted)
        except merging.SpfConflict:
            outcome["conflict"] += 1
            assert contradicts(owner, wanted), about
            continue
        assert not contradicts(owner, wanted), about
        for sender in SENDERS[number % 3 :: 3]:
            expected = expected_result(check, owner, wanted, sender)
            result = check(OWNERS_ZONE, merged, sender).result
            assert result == expected, f"{about} to {merged} for {sender}"
            outcome[result] += 1
    assert "permerror" not in outcome
    assert outcome["conflict"]
    assert min(outcome[result] for result in ("pass", "fail", "softfail", "neutral")) > OWNERS // 5


#: Terms of the random records that `maze` generates. None of them matches STRANGERS.
COSTLY = (
    *("a", "a:both.example/24", "a:Both.Example.", "a:%{o}", "mx:mail.example", "mx:ten.example"),
    *("ptr", "ptr:both.example", "ip4:192.0.2.0/24", "ip6:2001:db8::/40", "a:four.example"),
)
RARE = ("a:no.example", "exists:six.example", "a:six.example")
ASTRAY = ("text.example", "no.example", "two.example", "wrong.example")


def maze(number: int) -> tuple[str, Zone]:
    """Return a record whose cost is hard to count, and a zone with everything that it refers to.

    Some names don't exist, some have addresses of only one family, some records are invalid, and a
    few form a loop.
    """
    chance = chance_of("maze", number)
    zone: Zone = {
        "both.example": {"A": ["192.0.2.1"], "AAAA": ["2001:db8::1"]},
        "four.example": {"A": ["192.0.2.4"]},
        "six.example": {"AAAA": ["2001:db8::6"]},
        "ten.example": {"MX": ["both.example"] * chance.choice([2, 10, 10, 11])},
        "mail.example": {"MX": chance.sample(["both.example", "four.example", "no.example"], 2)},
        "text.example": {"TXT": ["no SPF here"]},
        "two.example": {"TXT": ["v=spf1 a", "v=spf1 -all"]},
        "wrong.example": {"TXT": ["v=spf1 moo -all"]},
        DOMAIN: {"A": ["192.0.2.2"], "AAAA": ["2001:db8::2"], "MX": ["both.example"]},
    }
    for level in (1, 2, 3):
        for name in (f"r{level}a.example", f"r{level}b.example"):
            zone[name] = {**zone["both.example"], "TXT": [maze_record(chance, level, name)]}
    return maze_record(chance, 0, DOMAIN), zone


def maze_record(chance: Random, level: int, name: str) -> str:
    """Return a record that refers to records at deeper levels."""

    def deeper() -> str:
        if chance.random() < 0.03:
            return chance.choice(ASTRAY)
        return f"r{chance.randint(level + 1, 3)}{chance.choice('ab')}.example"

    def term() -> str:
        kind = chance.random()
        if kind < 0.4 and level < 3:
            return f"{chance.choice(QUALIFIERS)}include:{deeper()}"
        return (
            chance.choice(RARE)
            if kind < 0.45
            else chance.choice(QUALIFIERS) + chance.choice(COSTLY)
        )

    terms = [term() for _term in range(chance.randrange(1, 5))]
    end = chance.random()
    if end < 0.6:
        terms.append(chance.choice(["-all", "~all", "?all"]))
        terms += ["mx:ten.example", "a:no.example"] * chance.randrange(2)
    elif end < 0.8 and level < 3:
        terms.append(f"redirect={deeper()}")
    if level and chance.random() < 0.02:
        terms.insert(0, f"include:{chance.choice([name, DOMAIN, 'r1a.example'])}")
    return " ".join(["v=spf1", *terms])


def cause_of(result: Result) -> str:
    """Return pyspf's reason for giving up, or an empty string."""
    if result.result != "permerror":
        return ""
    if "Too many DNS lookups" in result.words:
        return "lookups"
    return "voids" if "Void lookup limit" in result.words else "problem"


def causes_of(cost: lookups.Cost) -> set[str]:
    """Return the reasons for which receivers give up, according to the code under test."""
    causes = {
        "lookups": cost.lookups > lookups.MAX_LOOKUPS,
        "voids": cost.voids > lookups.MAX_VOIDS,
        "problem": cost.problem is not None,
    }
    if cost.problem and "leads back" in cost.problem:
        # pyspf follows a loop until it exceeds one of the limits.
        return set(causes)
    return {cause for cause, holds in causes.items() if holds}


def test_what_a_record_costs(check: Check) -> None:
    """The lookup count and the reasons to give up agree with pyspf for IPv4 senders."""
    outcome: Counter[str] = Counter()
    for number in range(MAZES):
        text, zone = maze(number)

        def ask(name: str, kind: str, zone: Zone = zone) -> tuple[str, ...]:
            return tuple(zone.get(name, {}).get(kind, ()))

        cost = lookups.count(text, DOMAIN, ask)
        result = check(zone, text, STRANGERS["A"])
        about = f"case {number}: {text} {zone} {cost} {result}"
        cause = cause_of(result)
        outcome[cause or "counted"] += 1
        assert bool(cause) is bool(causes_of(cost)), about
        if cause:
            assert cause in causes_of(cost), about
        else:
            assert (result.lookups, result.voids) == (cost.lookups, cost.voids), about
    assert outcome["counted"] > MAZES // 2
    assert min(outcome[cause] for cause in ("lookups", "voids", "problem")) > MAZES // 50
