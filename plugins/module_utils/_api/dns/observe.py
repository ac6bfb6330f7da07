# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Ask all authoritative servers for all records at once, and then resolvers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

from ..errors import NameServersNotFound
from .answers import Answer, Observation, Redirection, Server
from .compare import Wanted
from .query import ask, random_names
from .resolver import (
    NameServer,
    Resolvers,
    Zone,
    addresses,
    confirmed,
    parse_address,
    parse_server,
    servers_of,
    system_resolvers,
)
from .rrset import Key
from .verdict import is_wildcards, judge

Item = TypeVar("Item")
T = TypeVar("T")
Observations = dict[Key, Observation]

_MAX_CONCURRENCY = 32


class Asked(NamedTuple):
    """The servers to ask.

    :param nameservers: authoritative servers; if there are none, each name's own are found through
        the resolvers
    :param resolvers: if there are none, the system's are asked, except with given name servers,
        which may not be the public ones
    :param timeout: seconds for one question to one server
    """

    nameservers: tuple[NameServer, ...]
    resolvers: tuple[Server, ...]
    timeout: float

    @classmethod
    def parse(cls, nameservers: Iterable[str], resolvers: Iterable[str], timeout: float) -> Asked:
        """Parse servers as options have them, with or without ports.

        :param nameservers: host names or addresses
        :param resolvers: addresses
        :raises InvalidInput: one of them is invalid
        """
        return cls(
            tuple(parse_server(text, "nameservers") for text in nameservers),
            tuple(parse_address(text, "resolvers") for text in resolvers),
            timeout,
        )


class _Source(NamedTuple):
    """The servers of a name.

    :param apex: the name of the zone; empty if it is not known
    :param problem: why there are no servers
    """

    servers: tuple[Server, ...]
    apex: str = ""
    problem: NameServersNotFound | None = None

    def delegation(self, domain: str) -> Redirection | None:
        """Return the delegation of a part of a domain to these servers, if it is one."""
        hosts = dict.fromkeys(server.name or server.address for server in self.servers)
        delegation = Redirection("NS", self.apex, ", ".join(hosts))
        return delegation if delegation.is_below(domain) else None


class Observer:
    """Asks servers. Their failures are in the answers."""

    def __init__(self, asked: Asked) -> None:
        self._given, resolvers, self._timeout = asked
        finders = resolvers or system_resolvers()
        self._finders = Resolvers(finders, self._timeout)
        self._resolvers = Resolvers(finders if resolvers or not self._given else (), self._timeout)
        given = [Server("", one.host, one.port) for one in self._given if one.is_address]
        #: The function that looks up names that records lead to.
        self.lookup = confirmed(self._resolvers, given)

    def observe(
        self, wanted: Sequence[Wanted]
    ) -> tuple[Observations, Mapping[str, NameServersNotFound]]:
        """Ask the authoritative servers for records.

        :returns: the observations, and why the servers of a name are not known, by name
        """
        sources = map_concurrently({each.name for each in wanted}, self._source)
        by_key = {each.key: each for each in wanted}
        asked = [
            (each, server) for each in by_key.values() for server in sources[each.name].servers
        ]
        answers = map_concurrently(asked, lambda pair: self._ask(*pair, sources[pair[0].name]))
        seen: dict[Key, list[Answer]] = {key: [] for key in by_key}
        for each, server in asked:
            seen[each.key].append(answers[each, server])
        found = {key: Observation(*key, tuple(seen[key])) for key in seen}
        probes = map_concurrently(
            wanted, lambda each: self._probe(found[each.key], each, sources[each.name])
        )
        for each, wildcard in probes.items():
            if wildcard is not None:
                found[each.key] = found[each.key]._replace(wildcard=wildcard)
        return found, {name: one.problem for name, one in sources.items() if one.problem}

    def resolve(self, seen: Observations) -> Observations:
        """Ask the resolvers for the same records."""
        resolved = map_concurrently(seen, lambda key: self._resolvers.resolve(*key))
        return {key: each._replace(resolved=resolved[key]) for key, each in seen.items()}

    def _source(self, name: str) -> _Source:
        try:
            if self._given:
                return _Source(addresses(self._given, self._finders))
            zone: Zone = servers_of(name, self._finders)
        except NameServersNotFound as error:
            return _Source((), problem=error)
        return _Source(zone.servers, zone.name)

    def _ask(self, wanted: Wanted, server: Server, source: _Source) -> Answer:
        answer = ask(server, wanted.name, wanted.type, timeout=self._timeout, zone=source.apex)
        cut = answer.redirection
        is_delegated = answer.kind == "lame" and cut is not None and cut.is_below(wanted.domain)
        elsewhere = wanted.name if is_delegated else answer.alias
        if elsewhere is None and answer.kind == "answered":
            return answer._replace(redirection=source.delegation(wanted.domain))
        # A domain can't be an alias. A key can, of a name in any zone.
        if elsewhere is None or answer.values or wanted.name == wanted.domain:
            return answer
        for behind in self._resolvers.resolve(elsewhere, wanted.type):
            if behind.kind == "answered":
                values, ttl = behind.values, behind.ttl
                return answer._replace(kind="answered", detail="", values=values, ttl=ttl)
        if is_delegated:
            return answer
        return answer._replace(detail="no resolver found what is there")

    def _probe(self, seen: Observation, wanted: Wanted, source: _Source) -> Answer | None:
        """Return the answer of a wildcard, if the name is not as it should be and has one."""
        if wanted.name == source.apex or judge(wanted, seen).status == "match":
            return None
        answered = [each for each in seen.answers if each.kind == "answered"]
        suspect = next((each for each in answered if each.values or each.alias), None)
        if suspect is None:
            return None
        below, beside = (
            ask(suspect.server, name, wanted.type, timeout=self._timeout, zone=source.apex)
            for name in random_names(wanted.name)
        )
        return beside if is_wildcards(below, beside) else None


def map_concurrently(
    items: Collection[Item], action: Callable[[Item], T], *, most: int = _MAX_CONCURRENCY
) -> dict[Item, T]:
    """Call a function with all items concurrently, and return the results.

    An interrupt does not wait for running calls, which end on their own.
    """
    pool = ThreadPoolExecutor(most)
    try:
        running = {item: pool.submit(action, item) for item in items}
        return {item: future.result() for item, future in running.items()}
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
