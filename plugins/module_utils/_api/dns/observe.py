# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Looking at records: all authoritative servers of all names at once, and then resolvers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

from ..errors import NameServersNotFound
from . import servers as finding
from .compare import Wanted
from .observation import Answer, Observation, Redirection, Server
from .query import ask
from .resolver import Resolvers
from .rrset import Key
from .spf_lookups import Cost
from .verdict import Verdict, is_wildcards, judge
from .wildcards import probes_of

Item = TypeVar("Item")
T = TypeVar("T")

_MOST_AT_ONCE = 32


class Asked(NamedTuple):
    """Whom to ask.

    :param nameservers: authoritative servers; where there are none, each name's own are found
        through the resolvers
    :param resolvers: where there are none, the system's are asked, and nobody if name servers are
        given, which may not be those that the world knows
    :param timeout: seconds for one question to one server
    """

    nameservers: tuple[finding.Given, ...]
    resolvers: tuple[Server, ...]
    timeout: float

    @classmethod
    def parse(cls, nameservers: Iterable[str], resolvers: Iterable[str], timeout: float) -> Asked:
        """Read servers as options give them, with or without ports.

        :param nameservers: host names or addresses
        :param resolvers: addresses
        :raises InvalidInput: one of them is no server
        """
        return cls(
            tuple(finding.parse_server(text, "nameservers") for text in nameservers),
            tuple(finding.parse_address(text, "resolvers") for text in resolvers),
            timeout,
        )


class Sight(NamedTuple):
    """What was seen of several record sets.

    :param problems: by name, why its authoritative servers are not known
    """

    observations: Mapping[Key, Observation]
    problems: Mapping[str, NameServersNotFound]

    def of(self, wanted: Wanted) -> Observation:
        """Return what was seen of one record's name and type."""
        return self.observations[wanted.key]

    @property
    def has_resolved(self) -> bool:
        """Whether any resolver told anything."""
        answers = [each for seen in self.observations.values() for each in seen.resolved]
        return any(each.kind in {"answered", "bogus"} for each in answers)

    def judged(self, wanted: Wanted, cost: Cost | None = None) -> Verdict:
        """Return the verdict on one record.

        :param cost: see `judge`
        """
        verdict = judge(wanted, self.of(wanted), cost)
        problem = self.problems.get(wanted.name)
        if problem is None:
            return verdict
        return verdict._replace(detail=problem.cause, step=problem.remedy)

    def with_wildcards(self, wildcards: Mapping[Key, Answer]) -> Sight:
        """Return the same with what wildcards answer beside it."""
        return self._replace(
            observations={
                key: seen._replace(wildcard=wildcards.get(key))
                for key, seen in self.observations.items()
            }
        )


class Observer:
    """Asks. What servers do is in the answers, and raises nothing."""

    def __init__(self, asked: Asked) -> None:
        self._given, resolvers, self._timeout = asked
        finders = resolvers or finding.system_resolvers()
        #: How the world sees the records.
        self.resolvers = Resolvers(finders if resolvers or not self._given else (), self._timeout)
        self._finders = Resolvers(finders, self._timeout)
        given = [Server("", one.host, one.port) for one in self._given if one.is_address]
        #: How to ask for names that records lead to.
        self.lookup = finding.confirmed(self.resolvers, given)

    def look(self, wanted: Sequence[Wanted]) -> Sight:
        """Ask the authoritative servers for the records."""
        zones = together({each.name for each in wanted}, self._zone)
        by_key = {each.key: each for each in wanted}
        asked = [(each, server) for each in by_key.values() for server in zones[each.name].servers]
        answers = together(asked, lambda pair: self._ask(*pair, zones[pair[0].name]))
        seen: dict[Key, list[Answer]] = {key: [] for key in by_key}
        for each, server in asked:
            seen[each.key].append(answers[each, server])
        problems = {name: zone.problem for name, zone in zones.items() if zone.problem}
        sight = Sight({key: Observation(*key, tuple(seen[key])) for key in seen}, problems)
        probes = together(wanted, lambda each: self._probe(sight, each, zones[each.name]))
        return sight.with_wildcards({each.key: probe for each, probe in probes.items() if probe})

    def resolve(self, sight: Sight) -> Sight:
        """Ask the resolvers for the same, too."""
        resolved = together(sight.observations, lambda key: self.resolvers.resolve(*key))
        observations = {
            key: seen._replace(resolved=resolved[key]) for key, seen in sight.observations.items()
        }
        return sight._replace(observations=observations)

    def _zone(self, name: str) -> _Zone:
        try:
            if self._given:
                return _Zone(finding.addresses(self._given, self._finders))
            zone = finding.servers_of(name, self._finders)
        except NameServersNotFound as error:
            return _Zone((), problem=error)
        return _Zone(zone.servers, zone.name)

    def _ask(self, wanted: Wanted, server: Server, zone: _Zone) -> Answer:
        kind = wanted.record.type
        answer = ask(server, wanted.name, kind, timeout=self._timeout, zone=zone.apex)
        cut = answer.redirection
        is_delegated = answer.kind == "lame" and cut is not None and cut.is_below(wanted.domain)
        elsewhere = wanted.name if is_delegated else answer.alias
        # A domain can't be an alias. A key can, of a name that may be kept anywhere.
        if elsewhere is None and answer.kind == "answered":
            return answer._replace(redirection=zone.delegation(wanted.domain))
        if elsewhere is None or answer.values or wanted.record.host == "@":
            return answer
        behind = self.resolvers.resolve(elsewhere, kind)
        told = [each for each in behind if each.kind == "answered"]
        if told:
            values, ttl = told[0].values, told[0].ttl
            return answer._replace(kind="answered", detail="", values=values, ttl=ttl)
        return answer if is_delegated else answer._replace(detail="no resolver tells what is there")

    def _probe(self, sight: Sight, wanted: Wanted, zone: _Zone) -> Answer | None:
        """Ask for names that are not there, where one does not hold what is wanted.

        :return: what a wildcard gives for all of them, if there is one
        """
        if wanted.name == zone.apex or sight.judged(wanted).status == "match":
            return None
        told = [each for each in sight.of(wanted).answers if each.kind == "answered"]
        suspect = next((each for each in told if each.values or each.alias), None)
        if suspect is None:
            return None
        below, beside = (
            ask(suspect.server, name, wanted.record.type, timeout=self._timeout, zone=zone.apex)
            for name in probes_of(wanted.name)
        )
        return beside if is_wildcards(below, beside) else None


class _Zone(NamedTuple):
    """Where a name is kept.

    :param apex: empty where it is not known
    :param problem: why there are no servers
    """

    servers: tuple[Server, ...]
    apex: str = ""
    problem: NameServersNotFound | None = None

    def delegation(self, domain: str) -> Redirection | None:
        """Return the delegation of a part of a domain to this zone's servers, if it is one."""
        hosts = dict.fromkeys(server.name or server.address for server in self.servers)
        delegation = Redirection("NS", self.apex, ", ".join(hosts))
        return delegation if delegation.is_below(domain) else None


def together(
    items: Collection[Item], action: Callable[[Item], T], *, most: int = _MOST_AT_ONCE
) -> dict[Item, T]:
    """Do something with all items at once, and return what came of each.

    An interrupt is not kept waiting for what is under way, which ends by itself.

    :param most: with so many of them at a time
    """
    pool = ThreadPoolExecutor(most)
    try:
        running = {item: pool.submit(action, item) for item in items}
        return {item: future.result() for item, future in running.items()}
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
