# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause


"""Query all authoritative servers of a domain, and the resolvers, for the domain's records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..concurrency import map_concurrently
from ..errors import NameServersNotFound
from .compare import WantedRecord, compare
from .query import Answer, Server, query, random_names
from .record_types import Key
from .resolver import Resolvers, addresses, parse_server, servers_of, system_resolvers


class Servers(NamedTuple):
    """The servers to query.

    :param nameservers: the authoritative servers; if empty, the resolvers find the servers of each
        name
    :param resolvers: the resolvers; if empty, the system's. If ``nameservers`` is set, records are
        not verified at the system's resolvers, because the given name servers may not be the public
        ones.
    :param timeout: the timeout of one query to one server, in seconds
    """

    nameservers: tuple[Server, ...]
    resolvers: tuple[Server, ...]
    timeout: float

    @classmethod
    def parse(cls, nameservers: Iterable[str], resolvers: Iterable[str], timeout: float) -> Servers:
        """Parse the servers in a module's options, with or without ports.

        :raises InvalidInput: if a server is invalid
        """
        return cls(
            tuple(parse_server(text, "nameservers") for text in nameservers),
            tuple(parse_server(text, "resolvers", is_resolver=True) for text in resolvers),
            timeout,
        )


class Observation(NamedTuple):
    """All answers for one name and type.

    :param wildcard: one server's answer for a random sibling name, if it came from a wildcard
    """

    answers: tuple[Answer, ...] = ()
    wildcard: Answer | None = None
    resolved: tuple[Answer, ...] = ()
    problem: NameServersNotFound | None = None

    @property
    def own(self) -> list[Answer]:
        """The successful answers that don't come from a wildcard."""
        answered = [answer for answer in self.answers if answer.kind == "answered"]
        return [answer for answer in answered if not comes_from_wildcard(answer, self.wildcard)]


def comes_from_wildcard(answer: Answer, wildcard: Answer | None) -> bool:
    """Return whether an answer comes from a wildcard."""
    has_records = bool(answer.values) or answer.alias is not None
    return wildcard is not None and has_records and answer.is_like(wildcard)


class Observer:
    """A client that queries the servers. It returns their failures as answers."""

    def __init__(self, servers: Servers) -> None:
        self._given, resolvers, self._timeout = servers
        finders = resolvers or system_resolvers()
        self._finders = Resolvers(finders, self._timeout)
        #: The resolvers used to verify records.
        known = finders if resolvers or not self._given else ()
        self.resolvers = Resolvers(known, self._timeout, self._given)

    def observe(self, wanted: Sequence[WantedRecord]) -> dict[Key, Observation]:
        """Query the authoritative servers for records, and then the resolvers."""
        by_key = {each.key: each for each in wanted}
        zones = map_concurrently({each.name for each in wanted}, self._zone)
        pairs = [(key, server) for key in by_key for server in zones[key[0]][1]]
        answers = map_concurrently(
            pairs, lambda pair: self._ask(by_key[pair[0]], pair[1], zones[pair[0][0]][0])
        )
        seen = {
            key: Observation(
                tuple(answers[pair] for pair in pairs if pair[0] == key), problem=zones[key[0]][2]
            )
            for key in by_key
        }
        probes = map_concurrently(
            wanted, lambda each: self._probe(each, seen[each.key], zones[each.name][0])
        )
        for each, wildcard in probes.items():
            if wildcard is not None:
                seen[each.key] = seen[each.key]._replace(wildcard=wildcard)
        resolved = map_concurrently(list(seen), lambda key: self.resolvers.all_answers(*key))
        return {key: each._replace(resolved=resolved[key]) for key, each in seen.items()}

    def _zone(self, name: str) -> tuple[str, tuple[Server, ...], NameServersNotFound | None]:
        """Return a name's zone (empty if unknown), its servers, and an error if none were found."""
        try:
            if self._given:
                return "", addresses(self._given, self._finders), None
            return *servers_of(name, self._finders), None
        except NameServersNotFound as error:
            return "", (), error

    def _ask(self, wanted: WantedRecord, server: Server, zone: str) -> Answer:
        """Query a server, and also the resolvers if the name is redirected."""
        answer = query(server, wanted.name, wanted.type, timeout=self._timeout, zone=zone)
        redirection = answer.redirection
        # A domain can't be an alias, but a DKIM key's name can be an alias of a name in another
        # zone.
        if redirection is None or answer.values or wanted.name == wanted.domain:
            return answer
        if redirection.type == "NS" and not redirection.owner.endswith(f".{wanted.domain}"):
            return answer._replace(redirection=None)
        at_target = self.resolvers.first_answer(answer.alias or wanted.name, wanted.type)
        if at_target.kind != "answered":
            return answer._replace(detail="no resolver answered")
        return answer._replace(
            kind="answered", detail="", values=at_target.values, ttl=at_target.ttl
        )

    def _probe(self, wanted: WantedRecord, seen: Observation, zone: str) -> Answer | None:
        """Return the wildcard's answer if the wanted name has records only from a wildcard."""
        answered = [answer for answer in seen.answers if answer.kind == "answered"]
        suspects = [answer for answer in answered if answer.values or answer.alias]
        compared = [compare(wanted, answer.values).status for answer in answered]
        if wanted.name == zone or not suspects or set(compared) == {"match"}:
            return None
        below, beside = (
            query(suspects[0].server, name, wanted.type, timeout=self._timeout, zone=zone)
            for name in random_names(wanted.name)
        )
        return beside if comes_from_wildcard(below, beside) else None
