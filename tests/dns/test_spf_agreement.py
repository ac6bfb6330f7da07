# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Agreement with pyspf about SPF: which texts are records, what merging changes, and the cost.

Records are random, but the same in every run, and put together from words, so that nothing that is
known of them comes from the code under test. pyspf asks a dictionary in place of DNS.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.records import (
    lookups,
    merging,
    spf,
)

pyspf = pytest.importorskip("spf", reason="needs pyspf")

TEXTS, OWNERS, MAZES = 4000, 1500, 2000
WANTED = ("v=spf1 include:ours.example ~all", "v=spf1 ip4:198.51.100.9 ?include:ours.example -all")

#: Records by name and type.
Zone = dict[str, dict[str, list[str]]]

DOMAIN, SERVICE = "owner.example", "ours.example"
#: Addresses that no record lists, with a reverse name that leads back to them.
STRANGERS = {"A": "203.0.113.77", "AAAA": "2001:db8:ffff::77"}
STRANGER = "stranger.test"
#: Senders in the service's networks, in the owner's, in both and in neither.
SENDERS = (
    "198.51.100.1",
    "198.51.100.9",
    "198.51.100.12",
    "192.0.2.1",
    "192.0.2.7",
    "192.0.2.70",
    "192.0.2.200",
    "203.0.113.77",
    "2001:db8:5e::1",
    "2001:db8:5e::2",
    "2001:db8:5e:1::1",
    "2001:db8:a::1",
    "2001:db8:a::5",
    "2001:db8:c::1",
    "2001:db8:ffff::77",
)
QUALIFIERS = ("", "", "", "+", "-", "~", "?")
NETWORKS = (
    "ip4:192.0.2.0/24",
    "ip4:192.0.2.128/25",
    "ip4:198.51.100.0/29",
    "ip4:198.51.100.9",
    "ip4:0.0.0.0/1",
    "ip6:2001:db8:a::/48",
    "ip6:2001:db8:5e::1",
    "ip6:2001:DB8:5E::/64",
)
HOSTS = ("a:h1.example", "a:h2.example/28//64", "mx:h3.example", "a", "mx", "A:H1.Example.")
RECORDS = ("include:i1.example", "include:i2.example", "include:I2.example.", "exists:h1.example")
OURS = ("include:ours.example", "+include:OURS.example.", "Include:ours.Example")
MACROS = (
    "%{d}",
    "%{i}",
    "%{ir}.%{v}",
    "%{l1r-}",
    "%{S}",
    "%{o2}",
    "%{h}",
    "%%",
    "%_",
    "%-",
    "%{d9r.-}",
    "%{o1+,/_=}",
)
NAMES = ("example.com", "A.b-c.Example.", "_spf.x.test", "1.xn--p1ai", "a/24.test", "x!$&.test")
KEYS = ":/=%{}.-+~?0129azAZ_,;! "
#: Where the terms of ``owner_record`` lead.
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
    """The result of pyspf for a sender.

    :param decided: whether a mechanism matched
    :param lookups: how many terms asked DNS
    :param voids: how many questions found nothing
    """

    result: str
    decided: bool
    lookups: int
    voids: int
    words: str


Check = Callable[[Zone, str, str], Result]


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch) -> Check:
    """Return a function that has pyspf check a record for a sender, over a zone."""

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
    """Return the random numbers of one case."""
    return Random(f"{kind} {number}")  # noqa: S311 - the same in every run


def some(chance: Random, count: int, *pools: tuple[str, ...]) -> list[str]:
    """Return terms of some pools with qualifiers."""
    return [chance.choice(QUALIFIERS) + chance.choice(chance.choice(pools)) for _ in range(count)]


def near_record(number: int) -> str:
    """Return a record near the grammar: right, or with a few characters wrong."""
    chance = chance_of("text", number)
    words = [random_term(chance) for _count in range(chance.randrange(5))]
    if words and chance.random() < 0.5:
        place = chance.randrange(len(words))
        for _count in range(chance.randint(1, 2)):
            word, at = words[place], chance.randrange(len(words[place]) + 1)
            instead = chance.choice(["", chance.choice(KEYS), chance.choice(KEYS)])
            words[place] = word[:at] + instead + word[at + chance.randrange(2) :]
    version = chance.choice(["v=spf1", "v=spf1", "V=SPF1", "v=Spf1"])
    return "".join([version, *(" " * chance.randint(1, 2) + word for word in words)])


def random_term(chance: Random) -> str:
    """Return one term of the grammar."""
    name = chance.choice(["a", "mx", "include", "exists", "ptr", "ip", "all", "mod", "mod"])
    macros = "".join(chance.choice(MACROS) for _count in range(chance.choice([0, 0, 1, 2])))
    domain = chance.choice([macros, f"{macros}." if macros else "", ""]) + chance.choice(NAMES)
    if name == "mod":
        return f"{chance.choice(['redirect', 'exp', 'moo', 'x-1.y_z', 'default', 'all'])}={domain}"
    if name == "ip":
        return chance.choice(QUALIFIERS) + chance.choice(NETWORKS)
    needed = name in ("include", "exists")
    possible = name in ("a", "mx", "ptr") and chance.random() < 0.6
    lengths = chance.choice(["", "", "/24", "//64", "/0//128"]) if name in ("a", "mx") else ""
    spelt = chance.choice([name, name, name.upper()])
    return (
        chance.choice(QUALIFIERS) + spelt + (f":{domain}" if needed or possible else "") + lengths
    )


def problem_of(text: str) -> str:
    """Return what our grammar objects to; empty for a record."""
    try:
        spf.parse(text)
    except spf.SpfError as error:
        return str(error)
    return ""


def is_record(check: Check, text: str) -> bool:
    """Return whether pyspf accepts a text.

    The first mechanism decides, so that only the grammar can be an error.
    """
    return check(OWNERS_ZONE, f"{text[:6]} +all{text[6:]}", STRANGERS["A"]).result == "pass"


def is_explained(text: str, problem: str) -> bool:
    """Return whether a difference between pyspf and our grammar is a known one."""
    words = text.split(" ")[1:]
    if "DNS cannot hold" in problem:
        # pyspf accepts labels that no name has, and never asks for them.
        return any(sign in text for sign in ("..", ":.", "=."))
    if problem:
        # pyspf accepts a macro without an end, any transformers, and anything in `default=`.
        for macro in MACROS:
            text = text.replace(macro, "")
        return "%{" in text or ("%" in text and any(word.startswith("default=") for word in words))
    # RFC 7208, 6: only redirect and exp must not be repeated.
    modifiers = [word.partition("=")[0] for word in words if "=" in word]
    return len(set(modifiers)) < len(modifiers)


def test_what_is_a_record(check: Check) -> None:
    """Both accept the same of thousands of texts near the grammar, except for known differences."""
    outcome: Counter[str] = Counter()
    for number in range(TEXTS):
        text = near_record(number)
        problem = problem_of(text)
        if is_record(check, text) is (not problem):
            outcome["malformed" if problem else "valid"] += 1
            continue
        assert is_explained(text, problem), f"case {number}: {text!r} {problem}"
        outcome["explained"] += 1
    assert outcome["valid"] > TEXTS // 2
    assert outcome["malformed"] > TEXTS // 6
    assert outcome["explained"] < TEXTS // 20


@pytest.mark.parametrize(
    ("text", "pyspf_accepts"),
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
        # No error of grammar; before `all`, counting the look-ups finds the loop.
        ("v=spf1 ~all include:owner.example", False),
    ],
)
def test_deliberate_differences(check: Check, text: str, pyspf_accepts: bool) -> None:
    """Pyspf is more lenient than the grammar, or stricter."""
    assert is_record(check, text) is pyspf_accepts
    assert (not problem_of(text)) is not pyspf_accepts


class Owner(NamedTuple):
    """An owner's record, in words.

    :param mechanisms: those before the first ``all``
    :param rest: the first ``all`` and what follows it, and modifiers
    """

    mechanisms: list[str]
    rest: list[str]

    @property
    def text(self) -> str:
        """The whole record."""
        return " ".join(["v=spf1", *self.mechanisms, *self.rest])


def owner_record(number: int) -> Owner:
    """Return a valid record, with or without the service's include, which may be out of place."""
    chance = chance_of("owner", number)
    pools = (NETWORKS, NETWORKS, HOSTS, RECORDS)
    mechanisms = some(chance, chance.randrange(5), *pools)
    rest: list[str] = []
    if chance.random() < 0.7:
        rest = [chance.choice(["all", "-all", "~all", "?all", "-ALL"])]
        rest += some(chance, chance.choice([0, 0, 2]), *pools)
        rest += [chance.choice(OURS)] * (chance.random() < 0.3)
    for modifier in ("redirect=r.example", "exp=e.example", "moo=cow"):
        rest += [modifier] * (chance.random() < 0.3)
    if chance.random() < 0.2:
        ours = chance.choice([*OURS, "-include:ours.example"])
        mechanisms.insert(chance.randint(0, len(mechanisms)), ours)
    return Owner(mechanisms, rest)


def contradicts(owner: Owner, wanted: str) -> bool:
    """Return whether the owner has a mechanism of the service with another qualifier."""

    def qualified(word: str) -> tuple[str, str]:
        qualifier = word[0] if word[0] in "+-~?" else "+"
        return word.lstrip("+-~?").lower().removesuffix("."), qualifier

    asked = dict(map(qualified, wanted.split(" ")[1:-1]))
    held = map(qualified, [*owner.mechanisms, *owner.rest])
    return any(asked.get(name, qualifier) != qualifier for name, qualifier in held)


def expected_result(check: Check, owner: Owner, wanted: str, sender: str) -> str:
    """Return the result for a sender, put together from what pyspf says of the parts."""
    before = check(OWNERS_ZONE, " ".join(["v=spf1", *owner.mechanisms]), sender)
    if before.decided:
        return before.result
    service = check(OWNERS_ZONE, wanted.rpartition(" ")[0], sender)
    return (service if service.decided else check(OWNERS_ZONE, owner.text, sender)).result


def test_what_a_merged_record_says(check: Check) -> None:
    """The service's senders pass unless the owner decided before; all others keep their result."""
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


def test_what_a_record_says_after_a_withdrawal(check: Check) -> None:
    """A record without the service gives every sender the result from before it was merged."""
    compared = 0
    for number in range(0, OWNERS, 2):
        owner = owner_record(number)
        if SERVICE in owner.text.lower():
            continue
        left = merging.withdraw([merging.merge([owner.text], WANTED[0])], WANTED[0])
        if left is None:
            assert owner.text in ("v=spf1", "v=spf1 ~all")
            continue
        for sender in SENDERS[number % 3 :: 3]:
            results = [check(OWNERS_ZONE, text, sender) for text in (left, owner.text)]
            assert results[0] == results[1], f"case {number}: {owner.text} to {left} for {sender}"
            compared += 1
    assert compared > OWNERS


def maze(number: int) -> tuple[str, Zone]:
    """Return a record whose cost is worth counting, and a DNS with all that it leads to.

    Some names are absent, some have addresses of one family, some records are wrong, and a few form
    a loop. The record never lists the strangers.
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
    """Return a record that leads to deeper levels."""

    def deeper() -> str:
        if chance.random() < 0.03:
            return chance.choice(["text.example", "no.example", "two.example", "wrong.example"])
        return f"r{chance.randint(level + 1, 3)}{chance.choice('ab')}.example"

    def term() -> str:
        kind = chance.random()
        if kind < 0.4 and level < 3:
            return f"{chance.choice(QUALIFIERS)}include:{deeper()}"
        if kind < 0.45:
            rare = ("a:no.example", "exists:six.example", "a:four.example", "a:six.example")
            return chance.choice(rare)
        return chance.choice(QUALIFIERS) + chance.choice(
            [
                "a",
                "a:both.example/24",
                "mx:mail.example",
                "mx:ten.example",
                "ptr",
                "ptr:both.example",
                "a:%{o}",
                "ip4:192.0.2.0/24",
                "ip6:2001:db8::/40",
                "ip4:192.0.2.7",
                "a:Both.Example.",
            ]
        )

    terms = [term() for _count in range(chance.randrange(1, 5))]
    end = chance.random()
    if end < 0.6:
        terms.append(chance.choice(["-all", "~all", "?all"]))
        terms += ["mx:ten.example", "a:no.example"] * chance.randrange(2)
    elif end < 0.8 and level < 3:
        terms.append(f"redirect={deeper()}")
    if level and chance.random() < 0.02:
        terms.insert(0, f"include:{chance.choice([name, DOMAIN, 'r1a.example'])}")
    return " ".join(["v=spf1", *terms])


def asker(zone: Zone) -> lookups.Ask:
    """Return a resolver for a zone."""

    def ask(name: str, kind: str) -> lookups.Lookup:
        values = tuple(zone.get(name, {}).get(kind, ()))
        return lookups.Lookup("found" if values else "void", values)

    return ask


def cause_of(result: Result) -> str:
    """Return why pyspf gives a record up; empty where it does not."""
    if result.result != "permerror":
        return ""
    if "Too many DNS lookups" in result.words:
        return "lookups"
    return "voids" if "Void lookup limit" in result.words else "problem"


def causes_of(cost: lookups.Cost) -> set[str]:
    """Return why receivers give a record up, by our count."""
    causes = {
        "lookups": cost.lookups > lookups.MOST_LOOKUPS,
        "voids": max(cost.voids, cost.voids_ipv6) > lookups.MOST_VOIDS,
        "problem": cost.problem is not None,
    }
    if cost.problem and "leads back" in cost.problem:
        # pyspf goes round until it has counted too many of either.
        return set(causes)
    return {cause for cause, holds in causes.items() if holds}


def test_what_a_record_costs(check: Check) -> None:
    """Look-ups, void ones and why receivers give up are the same, for IPv4 and IPv6 senders."""
    outcome: Counter[str] = Counter()
    for number in range(MAZES):
        text, zone = maze(number)
        cost = lookups.count(text, DOMAIN, asker(zone))
        results = [check(zone, text, sender) for sender in STRANGERS.values()]
        about = f"case {number}: {text} {zone} {cost} {results}"
        found = {cause_of(result) for result in results} - {""}
        outcome.update(found or {"counted"})
        assert found <= causes_of(cost), about
        assert bool(found) is bool(causes_of(cost)), about
        if not found:
            assert {result.lookups for result in results} == {cost.lookups}, about
            most = max(result.voids for result in results)
            assert most == max(cost.voids, cost.voids_ipv6), about
    assert outcome["counted"] > MAZES // 2
    assert min(outcome[cause] for cause in ("lookups", "voids", "problem")) > MAZES // 50
    # RFC 7208, 6.1: beside `all`, a redirect is ignored, which pyspf counts.
    text = "v=spf1 a:h1.example redirect=r.example -all"
    assert check(OWNERS_ZONE, text, STRANGERS["A"]).lookups == 2
    assert lookups.count(text, DOMAIN, asker(OWNERS_ZONE)).lookups == 1
