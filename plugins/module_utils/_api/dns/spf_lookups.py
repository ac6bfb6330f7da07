# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Count the DNS look-ups of an SPF record (RFC 7208, 4.6.4), and explain what exceeds the limits.

Receivers end with a permanent error after ten look-ups or, many of them, two that found nothing.
The worst case counts: an address that no mechanism matches, so that all of them are evaluated, up
to the first ``all``. The caller provides the function that asks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from ..errors import InvalidInput
from . import messages
from .messages import join_words
from .spf import Spf, Term, folded, has_macro, is_spf, parse

MOST_LOOKUPS = 10
MOST_VOIDS = 2
_MOST_EXCHANGES = 10
_MOST_NAMED = 3
_COUNTED = ("include", "a", "mx", "ptr", "exists")
_FAMILIES = ("A", "AAAA")


class Lookup(NamedTuple):
    """The result of one question to DNS.

    :param kind: ``found``, ``void`` (no such name, or nothing of the type) or ``failed`` (no server
        gave a reliable answer)
    :param values: the texts of ``TXT``, the names of ``MX``, the addresses of ``A`` and ``AAAA``
    :param detail: which server gave an unconfirmed answer, as a clause
    """

    kind: Literal["found", "void", "failed"]
    values: tuple[str, ...] = ()
    detail: str = ""


#: Asks for a name and a type, ``TXT``, ``MX``, ``A`` or ``AAAA``. It follows aliases.
Ask = Callable[[str, str], Lookup]


def within(seconds: float, ask: Ask, clock: Callable[[], float] = time.monotonic) -> Ask:
    """Return a function that asks until a timeout; later questions fail immediately."""
    end = clock() + seconds
    return lambda name, kind: ask(name, kind) if clock() < end else Lookup("failed")


class Cost(NamedTuple):
    """What evaluating a record takes.

    :param lookups: a lower bound if ``too_many``: nothing is asked beyond the limit
    :param voids: look-ups that found nothing, for a sender of IPv4. The reverse name of a ``ptr``
        is the sender's, so it is not among them
    :param problem: a clause, without a full stop: why receivers end with a permanent error, apart
        from these numbers; or None
    :param failed: names whose look-up failed; what they lead to is not counted
    :param unfollowed: terms with macros; each is counted, what they lead to is not
    :param by_term: the terms of the record itself that take look-ups, each with their number
    :param voids_ipv6: as ``voids``, for a sender of IPv6; few receivers enforce this limit
    """

    lookups: int
    voids: int
    problem: str | None = None
    failed: tuple[str, ...] = ()
    unfollowed: tuple[str, ...] = ()
    voids_ipv6: int = 0
    by_term: tuple[tuple[str, int], ...] = ()

    @property
    def too_many(self) -> bool:
        """Whether receivers reject the record for a sender of IPv4 because of either number."""
        return self.lookups > MOST_LOOKUPS or self.voids > MOST_VOIDS

    @property
    def rejection(self) -> tuple[str, str] | None:
        """Why receivers reject the record and what to do, as two clauses; None if they don't."""
        if self.problem:
            return self.problem, messages.text("term_leads_there")
        if self.lookups > MOST_LOOKUPS:
            total, shown = 0, []
            for term, number in self.by_term:
                total += number
                if total > MOST_LOOKUPS:
                    shown.append(f"{term} at least {number}")
                    break
                shown.append(f"{term} {number}")
            more = len(self.by_term) - len(shown)
            terms = ", ".join(shown) + (f" and {more} more terms" if more else "")
            why = messages.text("too_many_lookups", most=MOST_LOOKUPS, terms=terms)
            return why, messages.text("too_many_lookups_remedy")
        if self.too_many:
            why = messages.text("too_many_voids", number=self.voids, most=MOST_VOIDS)
            return why, messages.text("too_many_voids_remedy")
        return None

    def advice(self, record: str) -> list[str]:
        """Return advice on the look-ups of a record, which is given in words."""
        advice = []
        for code, names in (("spf_lookup_failed", self.failed), ("spf_macro", self.unfollowed)):
            more = len(names) - _MOST_NAMED
            if names:
                some = [*names[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])]
                why = messages.text(code, names=join_words(some))
                advice.append(
                    messages.text("spf_not_counted", record=record, most=MOST_LOOKUPS, why=why)
                )
        if self.voids_ipv6 > MOST_VOIDS:
            number = self.voids_ipv6
            advice.append(
                messages.text("spf_voids_ipv6", number=number, record=record, most=MOST_VOIDS)
            )
        return advice


def count(text: str, domain: str, ask: Ask) -> Cost:
    """Return what the SPF record of a domain costs.

    :raises SpfError: the record itself is malformed. A record that it includes is a ``problem``
    """
    counter = _Counter(ask)
    counter.record(parse(text), (folded(domain),))
    return Cost(
        counter.lookups,
        counter.voids["A"],
        counter.problem,
        tuple(counter.failed),
        tuple(counter.unfollowed),
        counter.voids["AAAA"],
        tuple(counter.by_term),
    )


class _Counter:
    """Walks through a record and all records that it includes, in the order of evaluation."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self.lookups = 0
        self.voids = dict.fromkeys(_FAMILIES, 0)
        self.problem: str | None = None
        # As dictionaries, for their order.
        self.failed: dict[str, None] = {}
        self.unfollowed: dict[str, None] = {}
        self.by_term: list[tuple[str, int]] = []

    def record(self, spf: Spf, path: tuple[str, ...]) -> None:
        """Count one record.

        :param path: the domain that has it, after those that led there
        """
        for term in _costly(spf):
            before = self.lookups
            self.lookups += 1
            # Beyond the limit, only what is known already is counted: that bounds the questions.
            if self.lookups <= MOST_LOOKUPS:
                self._term(term, path)
            if len(path) == 1:
                self.by_term.append((str(term), self.lookups - before))

    def _term(self, term: Term, path: tuple[str, ...]) -> None:
        name = folded(term.target) or path[-1]
        if has_macro(name):
            if term.name in ("include", "redirect"):
                self.unfollowed[str(term)] = None
        elif term.name in ("include", "redirect"):
            self._follow(term, name, path)
        elif term.name == "mx":
            self._exchanges(term, name, path)
        elif term.name == "a":
            self._addresses(name)
        elif term.name == "exists":
            self._question(name, "A", _FAMILIES)

    def _follow(self, term: Term, name: str, path: tuple[str, ...]) -> None:
        if name in path:
            self._wrong(f"{path[-1]} has {term}, which leads back to itself")
            return
        answer = self._question(name, "TXT", _FAMILIES)
        if answer.kind == "failed":
            return
        records = [text for text in answer.values if is_spf(text)]
        if len(records) != 1:
            number = f"{len(records)} SPF records" if records else "no SPF record"
            self._wrong(f"{path[-1]} has {term}, but {name} has {number}")
            return
        try:
            spf = parse(records[0])
        except InvalidInput as error:
            clause = str(error).removesuffix(".")
            self._wrong(f"{path[-1]} has {term}, and the record there is malformed: {clause}")
            return
        self.record(spf, (*path, name))

    def _exchanges(self, term: Term, name: str, path: tuple[str, ...]) -> None:
        exchanges = self._question(name, "MX", _FAMILIES).values
        if len(exchanges) > _MOST_EXCHANGES:
            self._wrong(
                f"{path[-1]} has {term}, and {name} has {len(exchanges)} MX records where "
                f"{_MOST_EXCHANGES} are allowed"
            )
            return
        # The exchange of a null MX (RFC 7505) is the root.
        for exchange in filter(None, map(folded, exchanges)):
            self._addresses(exchange)

    def _addresses(self, name: str) -> None:
        """Ask for addresses of both families; a receiver asks for the sender's only."""
        for family in _FAMILIES:
            self._question(name, family, (family,))

    def _question(self, name: str, kind: str, families: tuple[str, ...]) -> Lookup:
        """Ask, and count the result for senders of these families."""
        answer = self._ask(name, kind)
        if answer.kind == "void":
            for family in families:
                self.voids[family] += 1
        elif answer.kind == "failed":
            self.failed[f"{name} ({answer.detail})" if answer.detail else name] = None
        return answer

    def _wrong(self, problem: str) -> None:
        self.problem = self.problem or problem


def _costly(spf: Spf) -> Iterator[Term]:
    """Yield the terms that take a look-up, as far as they are evaluated, in that order."""
    for term in spf.before_all:
        if not term.is_modifier and term.name in _COUNTED:
            yield term
    redirect = spf.modifier("redirect")
    # A redirect applies only without an `all` anywhere in the record (RFC 7208, 6.1).
    if redirect and spf.first_all == len(spf.terms):
        yield redirect
