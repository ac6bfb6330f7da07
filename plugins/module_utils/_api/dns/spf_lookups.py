# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Count the DNS lookups that receivers need for an SPF record (RFC 7208, 4.6.4).

Receivers return a permanent error after more than ten lookups. Many of them also do so if more
than two lookups find nothing. The count assumes the worst case: a sender with an IPv4 address that
matches no mechanism before the first ``all``. The caller provides the function that looks up names.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import NamedTuple, Optional

from ..errors import InvalidInput, TooExpensive
from . import messages
from .messages import join_words
from .spf import Spf, Term, folded, is_spf, parse

#: A function that looks up a name and a type (``TXT``, ``MX`` or ``A``) and follows aliases. It
#: returns texts, host names or addresses, possibly none, or None if there is no reliable answer.
# Optional is used because pylint mistakes | for arithmetic.
Ask = Callable[[str, str], Optional[tuple[str, ...]]]  # noqa: UP045

MAX_LOOKUPS = 10
MAX_VOIDS = 2
#: The timeout for all queries about SPF records, in seconds.
SPF_TIMEOUT = 10.0
_MAX_EXCHANGES = 10
_MAX_NAMED = 3
_COUNTED = ("include", "a", "mx", "ptr", "exists")


class Cost(NamedTuple):
    """The cost of evaluating an SPF record.

    :param lookups: the number of lookups; a lower bound if ``too_many``, because nothing is looked
        up beyond the limit
    :param voids: the number of lookups without results, except for ``ptr``
    :param problem: any other reason why receivers reject the record, as a clause, or None
    :param unknown: the names that could not be looked up and the terms that depend on the sender;
        any further lookups that these would cause are not counted
    :param by_term: the record's own terms that need lookups, each with the number of lookups
    """

    lookups: int
    voids: int
    problem: str | None = None
    unknown: tuple[str, ...] = ()
    by_term: tuple[tuple[str, int], ...] = ()

    @property
    def too_many(self) -> bool:
        """Whether ``lookups`` or ``voids`` exceeds the limit."""
        return self.lookups > MAX_LOOKUPS or self.voids > MAX_VOIDS

    @property
    def rejection(self) -> dict[str, str] | None:
        """Why receivers reject the record, and the remedy, as clauses, or None."""
        if self.problem:
            return {"why": self.problem, "how": messages.text("bad_include")}
        if self.lookups > MAX_LOOKUPS:
            terms = ", ".join(f"{term} {number}" for term, number in self.by_term)
            why = messages.text("too_many_lookups", most=MAX_LOOKUPS, terms=terms)
            return {"why": why, "how": messages.text("fewer_lookups")}
        if self.too_many:
            why = messages.text("too_many_voids", number=self.voids, most=MAX_VOIDS)
            return {"why": why, "how": messages.text("fewer_voids")}
        return None

    def advice(self, name: str) -> list[str]:
        """Return a warning if some lookups of the record at ``name`` could not be counted."""
        if not self.unknown:
            return []
        more = len(self.unknown) - _MAX_NAMED
        names = [*self.unknown[:_MAX_NAMED], *([f"{more} more"] if more > 0 else [])]
        record = f"the SPF record at {name}"
        params = {"record": record, "most": MAX_LOOKUPS, "names": join_words(names)}
        return [messages.text("spf_not_counted", **params)]


def limited(
    ask: Ask, seconds: float = SPF_TIMEOUT, clock: Callable[[], float] = time.monotonic
) -> Ask:
    """Return a function that caches the results of ``ask`` and returns None after ``seconds``."""
    end = clock() + seconds
    return functools.cache(lambda name, kind: ask(name, kind) if clock() < end else None)


def check_merged(name: str, before: str, after: str, ask: Ask | None) -> list[str]:
    """Check a merged SPF record before it is published or suggested, and return warnings.

    :param before: the current record
    :param ask: a function that looks up names, or None if dnspython is missing
    :raises TooExpensive: if receivers accept the current record, but the new record has too many
        lookups
    """
    record = f"the SPF record at {name}"
    if ask is None:
        return [messages.text("no_dnspython", record=record)]
    cost = count(after, name, ask)
    if cost.rejection is None:
        return cost.advice(name)
    params = {"record": record, **cost.rejection}
    if cost.too_many and count(before, name, ask).rejection is None:
        raise TooExpensive(messages.text("spf_merge_rejected", **params))
    return [messages.text("spf_already_rejected", **params)]


def count(text: str, domain: str, ask: Ask) -> Cost:
    """Return the cost of a domain's SPF record.

    :raises SpfError: if the record is invalid; an invalid included record is a ``problem`` instead
    """
    counter = _Counter(ask)
    counter.record(parse(text), (folded(domain),))
    unknown, by_term = tuple(dict.fromkeys(counter.unknown)), tuple(counter.by_term)
    return Cost(counter.lookups, counter.voids, counter.problem, unknown, by_term)


class _Counter:
    """A counter that visits a record and the records it includes, in the order of evaluation."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self.lookups = 0
        self.voids = 0
        self.problem: str | None = None
        self.unknown: list[str] = []
        self.by_term: list[tuple[str, int]] = []

    def record(self, spf: Spf, path: tuple[str, ...]) -> None:
        """Count the lookups of a record.

        :param path: the domains whose records lead to this record, followed by this record's domain
        """
        terms = [t for t in spf.before_all if t.name in _COUNTED and not t.is_modifier]
        # A redirect is ignored if there is an ``all`` anywhere in the record (RFC 7208, 6.1).
        if spf.first_all == len(spf.terms):
            terms += [t for t in spf.terms if t.name == "redirect"]
        for term in terms:
            before = self.lookups
            self.lookups += 1
            # Beyond the limit, terms are counted but not looked up, to limit the queries.
            if self.lookups <= MAX_LOOKUPS:
                self._term(term, path)
            if len(path) == 1:
                self.by_term.append((str(term), self.lookups - before))

    def _term(self, term: Term, path: tuple[str, ...]) -> None:
        name = term.target or path[-1]
        if "%" in name:
            if term.name in ("include", "redirect"):
                self.unknown.append(str(term))
        elif term.name in ("include", "redirect"):
            self._include(term, name, path)
        elif term.name == "mx":
            exchanges = self._lookup(name, "MX")
            if len(exchanges) > _MAX_EXCHANGES:
                self._reject(f"{path[-1]} has {term}, and {name} has {len(exchanges)} MX records")
                return
            # The exchange of a null MX (RFC 7505) is empty.
            for exchange in filter(None, map(folded, exchanges)):
                self._lookup(exchange, "A")
        elif term.name in ("a", "exists"):
            self._lookup(name, "A")

    def _include(self, term: Term, name: str, path: tuple[str, ...]) -> None:
        if name in path:
            self._reject(f"{path[-1]} has {term}, which leads back to {path[-1]}")
            return
        texts = self._ask(name, "TXT")
        records = [text for text in self._counted(name, texts) if is_spf(text)]
        if texts is None:
            return
        if len(records) != 1:
            number = f"{len(records)} SPF records" if records else "no SPF record"
            self._reject(f"{path[-1]} has {term}, but {name} has {number}")
            return
        try:
            spf = parse(records[0])
        except InvalidInput as error:
            clause = str(error).removesuffix(".")
            self._reject(f"{path[-1]} has {term}, and the record there is invalid: {clause}")
            return
        self.record(spf, (*path, name))

    def _lookup(self, name: str, kind: str) -> tuple[str, ...]:
        return self._counted(name, self._ask(name, kind))

    def _counted(self, name: str, found: tuple[str, ...] | None) -> tuple[str, ...]:
        """Return the results of a lookup, and record it if it failed or found nothing."""
        if found is None:
            self.unknown.append(name)
        self.voids += found == ()
        return found or ()

    def _reject(self, problem: str) -> None:
        self.problem = self.problem or problem
