# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Random tenants with random definitions, and a model in plain sets of what must come of them.

The model knows nothing of the planner: it is the documentation of `email_tenant`, written down
once more, over the finished state in place of changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from random import Random
from typing import Any

from ansible_collections.postroom.email.tests.support.wishes import (
    Addresses,
    Box,
    Impossible,
    World,
    domain_of,
)

HOME, AWAY, NEW, STILL = "home.example", "away.example", "new.example", "still.example"
PAST, FUTURE = "2001-02-03", "2999-12-31"
PASSWORD = "correct-horse/battery#staple"
#: Is in no definition and out of every scope.
BYSTANDERS = World(
    frozenset({STILL}),
    {
        f"m1@{STILL}": Box(frozenset({f"a1@{STILL}"})),
        f"f1@{STILL}": Box(members=frozenset({f"m1@{HOME}", f"f1@{HOME}"})),
    },
)
SCOPE = [f"*@{HOME}", f"*@{AWAY}", HOME, AWAY]
_MOST_TRIES = 40


@dataclass(frozen=True)
class Declared:
    """A mailbox, or with members a forwarder, as a definition has it.

    :param why_gone: how it is declared not to be there; empty where it is to be
    :param aliases: those that are to be there; None where none are given
    :param lacks: those that are not, each with how that is declared
    """

    members: Addresses = frozenset()
    why_gone: str = ""
    aliases: Addresses | None = None
    lacks: dict[str, str] = field(default_factory=dict)

    def as_entry(self, name: str) -> dict[str, Any]:
        """Return its entry in a definition."""
        entry: dict[str, Any] = {"name": name}
        if self.why_gone == "absent":
            return {**entry, "state": "absent"}
        if self.members:
            entry["members"] = sorted(self.members)
        if self.why_gone:
            entry["expires"] = self.why_gone
        if self.aliases is not None:
            entry["aliases"] = [*sorted(self.aliases), *_lacking(self.lacks)]
        return entry


def _lacking(lacks: dict[str, str]) -> Iterator[dict[str, str]]:
    for address, how in lacks.items():
        key = "state" if how == "absent" else "expires"
        yield {"address": address, key: how}


@dataclass(frozen=True)
class Case:
    """What a tenant holds, what is declared of it, and what may be purged.

    :param domains: each declared domain with `present`, `absent` or `force`
    :param forwarders: which of the boxes are forwarders, also of those that are to be absent
    """

    start: World
    domains: dict[str, str]
    boxes: dict[str, Declared]
    forwarders: Addresses
    purge: frozenset[str]
    ignore: tuple[str, ...]
    max_deletions: int

    def options(self) -> dict[str, Any]:
        """Return the options of the task."""
        rows = {name: declared.as_entry(name) for name, declared in self.boxes.items()}
        return {
            "domains": [_domain_entry(*item) for item in self.domains.items()],
            "mailboxes": [row for name, row in rows.items() if name not in self.forwarders],
            "forwarders": [row for name, row in rows.items() if name in self.forwarders],
            "passwords": {name: PASSWORD for name in rows if name not in self.forwarders},
            "purge": sorted(self.purge),
            "scope": SCOPE,
            "ignore": list(self.ignore),
            "max_deletions": self.max_deletions,
        }

    def outcome(self) -> World:
        """Return the tenant as it must be afterwards.

        :raises Impossible: it must be refused
        """
        return _Outcome(self).world()


def _domain_entry(name: str, how: str) -> str | dict[str, Any]:
    if how == "present":
        return name
    return {"name": name, "state": "absent", **({"force": True} if how == "force" else {})}


class _Outcome:
    """The rules, one after the other."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._start = case.start
        self._live = {name: box for name, box in case.boxes.items() if not box.why_gone}
        self._unnamed = 0

    def world(self) -> World:
        self._check_kinds()
        boxes = self._staying()
        claims = self._claims()
        for name, declared in self._live.items():
            box = boxes.get(name, Box())
            boxes[name] = Box(self._aliases(name, box, declared, claims), declared.members)
        for name in boxes.keys() - self._live.keys():
            if boxes[name].aliases & claims.keys() or name in claims:
                raise Impossible
        world = self._without_domains(World(self._domains(), boxes), claims)
        if self._unnamed > self._case.max_deletions:
            raise Impossible
        return _checked(world, claims)

    def _check_kinds(self) -> None:
        for name in self._case.boxes.keys() & self._start.boxes.keys():
            if bool(self._start.boxes[name].members) != (name in self._case.forwarders):
                raise Impossible

    def _takes(self, kind: str, name: str, addresses: Addresses = frozenset()) -> bool:
        """Tell whether something that is not declared is to go."""
        return (
            kind in self._case.purge
            and any(fnmatchcase(name, pattern) for pattern in SCOPE)
            and not self._ignores(addresses | {name})
        )

    def _ignores(self, addresses: Addresses) -> bool:
        return any(fnmatchcase(one, p) for p in self._case.ignore for one in addresses)

    def _check_members(self, purged: Addresses) -> None:
        """Purge takes nothing that a declared forwarder needs, unless somebody else gets it."""
        for box in self._live.values():
            if box.members & purged - self._claims().keys():
                raise Impossible

    def _staying(self) -> dict[str, Box]:
        boxes = {}
        for name, box in self._start.boxes.items():
            kind = "forwarder" if box.members else "mailbox"
            if name in self._case.boxes:
                if name in self._live:
                    boxes[name] = box
            elif self._takes(kind, name, box.aliases):
                self._check_members(box.aliases | {name})
                self._unnamed += 1
            else:
                boxes[name] = box
        return boxes

    def _claims(self) -> dict[str, str]:
        """Return whose each declared address is to be."""
        claims: dict[str, str] = {}
        for name, declared in self._live.items():
            for address in (declared.aliases or frozenset()) | {name}:
                if claims.setdefault(address, name) != name:
                    raise Impossible
        return claims

    def _aliases(
        self, name: str, box: Box, declared: Declared, claims: dict[str, str]
    ) -> Addresses:
        held = frozenset(a for a in box.aliases if claims.get(a, name) == name)
        if declared.aliases is None:
            if held != box.aliases:
                raise Impossible
            return held
        undeclared = held - declared.aliases - declared.lacks.keys()
        purged = {alias for alias in undeclared if self._takes("alias", alias)}
        self._check_members(frozenset(purged))
        self._unnamed += len(purged)
        return (held | declared.aliases) - declared.lacks.keys() - purged

    def _domains(self) -> Addresses:
        domains = self._start.domains | {
            d for d, how in self._case.domains.items() if how == "present"
        }
        for domain in self._start.domains - self._case.domains.keys():
            if self._takes("domain", domain):
                if any(domain in map(domain_of, a) for a in _all_addresses(self._start)):
                    raise Impossible
                self._unnamed += 1
                domains -= {domain}
        return domains

    def _without_domains(self, world: World, claims: dict[str, str]) -> World:
        for domain, how in self._case.domains.items():
            if how == "present":
                continue
            if any(domain_of(address) == domain for address in claims):
                raise Impossible
            world = self._without_domain(world, domain, force=how == "force")
        return world

    def _without_domain(self, world: World, domain: str, *, force: bool) -> World:
        boxes: dict[str, Box] = {}
        for name, box in world.boxes.items():
            is_named_there = domain_of(name) == domain
            leaves = {a for a in box.aliases if domain_of(a) == domain}
            if self._ignores(frozenset(box.aliases | {name} if is_named_there else leaves)):
                raise Impossible
            if not is_named_there:
                boxes[name] = replace(box, aliases=box.aliases - leaves)
                self._unnamed += len(leaves)
            else:
                self._unnamed += 1
        # A domain that is not there holds nothing.
        if boxes != world.boxes and not force:
            raise Impossible
        return World(world.domains - {domain}, boxes)


def _all_addresses(world: World) -> Iterator[Addresses]:
    for name, box in world.boxes.items():
        yield box.aliases | {name}


def _checked(world: World, claims: dict[str, str]) -> World:
    if any(domain_of(address) not in world.domains for address in claims):
        raise Impossible
    for name, box in world.boxes.items():
        # Raises if mail would run in a circle or an address has two owners.
        world.having(name, box)
    return world


def random_case(seed: int) -> Case:
    """Return a tenant and a definition for it, which is seldom one that must be refused."""
    rng = Random(seed)  # noqa: S311 - any tenant will do
    may_be_refused = rng.random() < 0.15
    for _try in range(_MOST_TRIES):
        case = _Maker(rng).case()
        try:
            case.outcome()
        except Impossible:
            if may_be_refused:
                return case
        else:
            if not may_be_refused:
                return case
    return case


class _Maker:
    def __init__(self, rng: Random) -> None:
        self._rng = rng

    def case(self) -> Case:
        start = self._start()
        domains = {d: self._fate() for d in sorted(start.domains - {STILL}) if self._likely(0.7)}
        if self._likely(0.2):
            domains[NEW] = "present"
        there = [d for d in (HOME, AWAY, NEW) if d in start.domains or domains.get(d) == "present"]
        names = [name for name in sorted(start.boxes) if domain_of(name) != STILL]
        boxes = {n: self._declared(n, start.boxes[n], there) for n in names if self._likely(0.75)}
        for name in self._some(self._names("mf", there), 3):
            boxes.setdefault(name, self._declared(name, start.boxes.get(name, Box()), there))
        purge = {kind for kind in ("alias", "mailbox", "forwarder") if self._likely(0.3)}
        return Case(
            start,
            domains,
            boxes,
            frozenset(name for name in boxes if name.startswith("f")),
            frozenset(purge | ({"domain"} if self._likely(0.1) else set())),
            ("a1@*",) if self._likely(0.5) else (),
            1000 if self._likely(0.95) else 0,
        )

    def _likely(self, share: float) -> bool:
        return self._rng.random() < share

    def _some(self, things: list[str], most: int) -> list[str]:
        return self._rng.sample(things, min(len(things), self._rng.randint(0, most)))

    def _fate(self) -> str:
        return self._rng.choices(["present", "absent", "force"], [85, 5, 10])[0]

    def _names(self, letters: str, domains: list[str]) -> list[str]:
        return [f"{letter}{n}@{domain}" for letter in letters for n in "1234" for domain in domains]

    def _start(self) -> World:
        domains = [HOME, AWAY] if self._likely(0.9) else [HOME]
        world = World(BYSTANDERS.domains | set(domains), dict(BYSTANDERS.boxes))
        for name in self._some(self._names("mf", domains), 7):
            aliases = frozenset(self._some(self._names("am", domains), 3)) - {name}
            box = Box(aliases, self._members(name, domains))
            try:
                world = world.having(name, box)
            except Impossible:
                continue
        return world

    def _members(self, name: str, domains: list[str]) -> Addresses:
        if not name.startswith("f"):
            return frozenset()
        inside = self._names("f", domains) + self._names("fma", domains)
        return frozenset(self._some(inside, 3)) - {name} | {f"{name[0]}@far.example"}

    def _declared(self, name: str, now: Box, domains: list[str]) -> Declared:
        members = self._members(name, domains)
        if self._likely(0.12):
            past = bool(members) and self._likely(0.5)
            return Declared(members, PAST if past else "absent")
        if self._likely(0.2):
            return Declared(members)
        kept = {alias for alias in now.aliases if self._likely(0.6)}
        added = set(self._some(self._names("aam", domains), 3)) - {name}
        dropped = sorted(now.aliases - kept - added)
        lacks = {a: self._rng.choice(["absent", PAST]) for a in dropped if self._likely(0.6)}
        return Declared(members, aliases=frozenset(kept | added), lacks=lacks)
