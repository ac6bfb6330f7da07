# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""SPF records by the thousand, each the same in every run, and a DNS in which they lead somewhere.

Nothing here reads SPF: records are put together from words, so that what is known of them does not
come from the code under test.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

#: What names hold, by type: texts, (priority, name), addresses.
Zone = dict[str, dict[str, list[str]]]

DOMAIN = "owner.example"
SERVICE = "ours.example"
#: Addresses that nothing here lists, with a reverse name that leads back to them.
STRANGERS = {"A": "203.0.113.77", "AAAA": "2001:db8:ffff::77"}
STRANGER = "stranger.test"

_QUALIFIERS = ("", "", "", "+", "-", "~", "?")
_NETWORKS = (
    "ip4:192.0.2.0/24", "ip4:192.0.2.128/25", "ip4:198.51.100.0/29", "ip4:198.51.100.9",
    "ip4:0.0.0.0/1", "ip6:2001:db8:a::/48", "ip6:2001:db8:5e::1", "ip6:2001:DB8:5E::/64",
)  # fmt: skip
_HOSTS = (
    "a:h1.example",
    "a:h2.example/28//64",
    "mx:h3.example",
    "a",
    "mx",
    "A:H1.Example.",
    "mx/30",
)
_RECORDS = ("include:i1.example", "include:i2.example", "include:I2.example.", "exists:h1.example")
_MINE = ("include:ours.example", "+include:OURS.example.", "Include:ours.Example")
MACROS = (
    "%{d}", "%{i}", "%{ir}.%{v}", "%{l1r-}", "%{S}", "%{o2}", "%{h}", "%%", "%_", "%-", "%{d9r.-}",
    "%{o1+,/_=}",
)  # fmt: skip
_NAMES = (
    "example.com",
    "A.b-c.Example.",
    "_spf.x.test",
    "1.2.xn--p1ai",
    "a/24.test",
    "x!$&.example",
)
_KEYS = ":/=%{}.-+~?0129azAZ_,;! "
_BREAKING = 0.5


class Record(NamedTuple):
    """An SPF record of somebody's, in words.

    :param mechanisms: those before the first ``all``
    :param rest: the first ``all`` and what follows it, and modifiers
    """

    mechanisms: tuple[str, ...]
    rest: tuple[str, ...]

    @property
    def text(self) -> str:
        """The whole record."""
        return " ".join(["v=spf1", *self.mechanisms, *self.rest])


def random(kind: str, number: int) -> Random:
    """Return the chance of one case, which is the same in every run."""
    return Random(f"{kind} {number}")  # noqa: S311 - nobody is to be kept from guessing it


def texts(number: int) -> str:
    """Return a record near the grammar: right, or with a few characters wrong."""
    chance = random("text", number)
    words = [_word(chance) for _count in range(chance.randrange(5))]
    if words and chance.random() < _BREAKING:
        place = chance.randrange(len(words))
        for _count in range(chance.randint(1, 2)):
            words[place] = _broken(chance, words[place])
    version = chance.choice(["v=spf1", "v=spf1", "V=SPF1", "v=Spf1"])
    return "".join([version, *(" " * chance.randint(1, 2) + word for word in words)])


def _word(chance: Random) -> str:
    """Return one term of the grammar."""
    name = chance.choice(
        ["a", "mx", "include", "exists", "ptr", "ip", "all", "modifier", "modifier"]
    )
    if name == "modifier":
        own = chance.choice(["redirect", "exp", "moo", "x-1.y_z", "default", "all"])
        return f"{own}={_domain(chance)}"
    if name == "ip":
        return chance.choice(_QUALIFIERS) + chance.choice(_NETWORKS)
    name = chance.choice([name, name, name.upper()])
    domain = f":{_domain(chance)}" if name.lower() in ("include", "exists") else ""
    if name.lower() in ("a", "mx", "ptr") and chance.random() < 0.6:
        domain = f":{_domain(chance)}"
    lengths = (
        chance.choice(["", "", "/24", "//64", "/0//128"]) if name.lower() in ("a", "mx") else ""
    )
    return chance.choice(_QUALIFIERS) + name + domain + lengths


def _domain(chance: Random) -> str:
    macros = "".join(chance.choice(MACROS) for _count in range(chance.choice([0, 0, 1, 2])))
    return chance.choice([macros, f"{macros}." if macros else "", ""]) + chance.choice(_NAMES)


def _broken(chance: Random, word: str) -> str:
    place = chance.randrange(len(word) + 1)
    instead = chance.choice(["", chance.choice(_KEYS), chance.choice(_KEYS)])
    return word[:place] + instead + word[place + chance.randrange(2) :]


def owners(number: int) -> Record:
    """Return a valid record, with or without the service's include, which may be out of place."""
    chance = random("owner", number)
    pools = (_NETWORKS, _NETWORKS, _HOSTS, _RECORDS)
    mechanisms = _some(chance, pools, chance.randrange(5), _QUALIFIERS)
    rest: list[str] = []
    if chance.random() < 0.7:
        rest = [chance.choice(["all", "-all", "~all", "?all", "-ALL"])]
        rest += _some(chance, pools, chance.choice([0, 0, 2]), _QUALIFIERS)
        rest += [chance.choice(_MINE)] * (chance.random() < 0.3)
    for modifier in ("redirect=r.example", "exp=e.example", "moo=cow"):
        rest += [modifier] * (chance.random() < 0.3)
    if chance.random() < 0.2:
        mine = chance.choice([*_MINE, "-include:ours.example"])
        mechanisms.insert(chance.randint(0, len(mechanisms)), mine)
    return Record(tuple(mechanisms), tuple(rest))


def _some(
    chance: Random, pools: tuple[tuple[str, ...], ...], count: int, qualifiers: tuple[str, ...]
) -> list[str]:
    return [
        chance.choice(qualifiers) + chance.choice(chance.choice(pools)) for _count in range(count)
    ]


#: What the terms of ``owners`` lead to.
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
#: Senders: in the service's networks, in the owner's, in both and in none.
SENDERS = (
    "198.51.100.1", "198.51.100.9", "198.51.100.12", "192.0.2.1", "192.0.2.7", "192.0.2.70",
    "192.0.2.200", "203.0.113.77", "2001:db8:5e::1", "2001:db8:5e::2", "2001:db8:5e:1::1",
    "2001:db8:a::1", "2001:db8:a::5", "2001:db8:c::1", "2001:db8:ffff::77",
)  # fmt: skip


def mazes(number: int) -> tuple[str, Zone]:
    """Return a record whose cost is worth counting, and a DNS with all that it leads to.

    Some names are not there, some have addresses of one family, some records are wrong, and a few
    lead back to where they came from. The record never lists the strangers.
    """
    chance = random("maze", number)
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
        for which in "ab":
            name = f"r{level}{which}.example"
            zone[name] = {**zone["both.example"], "TXT": [_maze(chance, level, name)]}
    return _maze(chance, 0, DOMAIN), zone


def _maze(chance: Random, level: int, name: str) -> str:
    terms = [_lead(chance, level) for _count in range(chance.randrange(1, 5))]
    end = chance.random()
    if end < 0.6:
        terms.append(chance.choice(["-all", "~all", "?all"]))
        terms += ["mx:ten.example", "a:no.example"] * chance.randrange(2)
    elif end < 0.8 and level < 3:
        terms.append(f"redirect={_record(chance, level)}")
    if level and chance.random() < 0.02:
        terms.insert(0, f"include:{chance.choice([name, DOMAIN, 'r1a.example'])}")
    return " ".join(["v=spf1", *terms])


def _lead(chance: Random, level: int) -> str:
    kind = chance.random()
    if kind < 0.4 and level < 3:
        return chance.choice(_QUALIFIERS) + f"include:{_record(chance, level)}"
    if kind < 0.45:
        return chance.choice(
            ["a:no.example", "exists:six.example", "a:four.example", "a:six.example"]
        )
    return chance.choice(_QUALIFIERS) + chance.choice([
        "a", "a:both.example/24", "mx:mail.example", "mx:ten.example", "ptr", "ptr:both.example",
        "a:%{o}", "ip4:192.0.2.0/24", "ip6:2001:db8::/40", "ip4:192.0.2.7", "a:Both.Example.",
    ])  # fmt: skip


def _record(chance: Random, level: int) -> str:
    """Return a name with a record, on a deeper level; seldom one without a good one."""
    if chance.random() < 0.03:
        return chance.choice(["text.example", "no.example", "two.example", "wrong.example"])
    return f"r{chance.randint(level + 1, 3)}{chance.choice('ab')}.example"
