# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Check an SPF record before it is published or suggested.

One look-up too many makes receivers reject the whole record, and with it mail of the domain's owner
that does not involve the service. A term before the service's own may refuse the service's mail:
receivers take the first term that matches (RFC 7208, 4.6.2). Failed look-ups refuse nothing.
"""

from __future__ import annotations

import functools
import ipaddress
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Union

from ..errors import InvalidInput, TooExpensive
from . import messages, spf_merge
from .spf import Spf, Term, folded, has_macro, is_spf, parse
from .spf_lookups import Ask, count, within

#: See `checker`.
CheckSpf = Callable[[str, str, "str | None", str], Sequence[str]]

_MAX_RECORDS = 10
_FAMILIES = {"A": 32, "AAAA": 128}

Network = Union[ipaddress.IPv4Network, ipaddress.IPv6Network]  # noqa: UP007 - pylint takes the bar between classes to be arithmetic


class _Matches(NamedTuple):
    """The addresses that a term matches.

    :param complete: whether it is known to match no others
    """

    networks: tuple[Network, ...] = ()
    complete: bool = True


class _Refusal(NamedTuple):
    """A term that decides first about an address of the service."""

    term: Term
    ours: Term
    address: str


def checker(ask: Ask, seconds: float) -> CheckSpf:
    """Return a function that checks SPF records within a time.

    Its arguments are a name, the service's record, the current record or None, and the record to
    publish. It returns advice. It raises TooExpensive if the new record takes too many look-ups and
    the current one does not, and SpfConflict if the new record refuses the service's mail.

    :param seconds: for all questions
    """
    # Both records lead to the same questions.
    ask = within(seconds, functools.cache(ask))

    def check(name: str, wanted: str, before: str | None, after: str) -> Sequence[str]:
        check_refusals(after, wanted, name, ask)
        if before == after:
            return ()
        cost = count(after, name, ask)
        record = f"the SPF record at {name}"
        if cost.rejection is None:
            return cost.advice(record)
        why, reason = cost.rejection
        code = "spf_already_rejected"
        if cost.too_many and (before is None or count(before, name, ask).rejection is None):
            code = "spf_merge_rejected"
        text = messages.text(code, record=record, why=why, reason=reason)
        if code == "spf_merge_rejected":
            raise TooExpensive(text)
        return [text]

    return check


def check_refusals(text: str, wanted: str, domain: str, ask: Ask) -> None:
    """Check that a record's own terms don't refuse mail from the service.

    :param text: the record, with the service's mechanisms
    :param wanted: the service's record
    :raises SpfConflict: the sentence contains a record that passes the service's mail
    """
    spf = parse(text)
    ours = {term.key for term in spf_merge.mechanisms(parse(wanted))}
    refusal = _Evaluation(domain, ask).refusal(spf, ours)
    if refusal is None:
        return
    term, mechanism, address = refusal
    better = spf_merge.moved_before(text, ours, spf.terms.index(term))
    params = {"term": term, "ours": mechanism, "address": address, "proposal": better}
    raise spf_merge.SpfConflict(*messages.pair("spf_refused", **params))


class _Evaluation:
    """Resolves the addresses that terms match, in the order of evaluation."""

    def __init__(self, domain: str, ask: Ask) -> None:
        self._domain = domain
        self._ask = ask
        self._records = 0

    def refusal(self, spf: Spf, ours: Iterable[tuple[str, str]]) -> _Refusal | None:
        """Return the refusal by the first term that matches the service's addresses, or None."""
        passed: list[Network] = []
        refused: list[tuple[Term, Network]] = []
        refusals: list[_Refusal] = []
        # Whether an earlier term may pass what later ones refuse.
        may_pass = False
        for term in self._up_to_last(spf, ours):
            found = self._matches(term, self._domain)
            # What an earlier term passes, a later one can't refuse.
            networks = [one for one in found.networks if not _is_within(one, passed)]
            if term.key in ours:
                refusals += [
                    _Refusal(refusing, term, _shown(max(one, network, key=_length)))
                    for refusing, network in refused
                    for one in networks
                    if one.overlaps(network)
                ]
            if term.effective == "+":
                passed += networks
                may_pass = may_pass or not found.complete
            elif not may_pass:
                refused += [(term, network) for network in networks]
        return min(refusals, key=lambda refusal: spf.terms.index(refusal.term), default=None)

    def _up_to_last(self, spf: Spf, ours: Iterable[tuple[str, str]]) -> list[Term]:
        """Return the mechanisms up to the last one of ours, or none where nothing can refuse."""
        terms = [term for term in spf.before_all if not term.is_modifier]
        places = [place for place, term in enumerate(terms) if term.key in ours]
        terms = terms[: places[-1] + 1] if places else []
        return terms if any(term.effective != "+" for term in terms) else []

    def _matches(self, term: Term, domain: str) -> _Matches:
        if term.name in ("ip4", "ip6"):
            return _Matches((ipaddress.ip_network(term.key[1]),))
        name = folded(term.target) or domain
        if has_macro(name) or term.name not in ("a", "mx", "include"):
            return _Matches(complete=False)
        if term.name == "include":
            return self._passed_by(name)
        if term.name == "a":
            return self._hosts(term, [name])
        found = self._ask(name, "MX")
        if found.kind == "failed":
            return _Matches(complete=False)
        return self._hosts(term, [folded(host) for host in found.values if host.strip(".")])

    def _hosts(self, term: Term, names: Iterable[str]) -> _Matches:
        """Return the networks of hosts, as long as a term says."""
        networks: list[Network] = []
        complete = True
        for name in names:
            for (family, bits), length in zip(_FAMILIES.items(), term.lengths, strict=True):
                found = self._ask(name, family)
                complete = complete and found.kind != "failed"
                networks += [
                    ipaddress.ip_network(f"{address}/{length or bits}", strict=False)
                    for address in found.values
                ]
        return _Matches(tuple(networks), complete)

    def _passed_by(self, name: str) -> _Matches:
        """Return the addresses that the record of a name passes."""
        self._records += 1
        found = self._ask(name, "TXT")
        texts = [text for text in found.values if is_spf(text)]
        if self._records > _MAX_RECORDS or len(texts) != 1:
            return _Matches(complete=False)
        try:
            spf = parse(texts[0])
        except InvalidInput:
            return _Matches(complete=False)
        return self._passed(spf, name)

    def _passed(self, spf: Spf, name: str) -> _Matches:
        last = spf.terms[spf.first_all :][:1]
        redirect = spf.modifier("redirect")
        passed: list[Network] = []
        refused: list[Network] = []
        complete = not (last and last[0].effective == "+") and (bool(last) or redirect is None)
        for term in spf.before_all:
            if term.is_modifier:
                continue
            found = self._matches(term, name)
            if term.effective != "+":
                if not found.complete:
                    return _Matches(tuple(passed), complete=False)
                refused += found.networks
                continue
            known = [one for one in found.networks if not any(map(one.overlaps, refused))]
            complete = complete and found.complete and len(known) == len(found.networks)
            passed += known
        return _Matches(tuple(passed), complete)


def _is_within(network: Network, others: Iterable[Network]) -> bool:
    """Return whether others contain a network, alone or together."""
    same = [one for one in others if one.version == network.version]
    merged = ipaddress.collapse_addresses(same)  # type: ignore[type-var]
    return any(one.overlaps(network) and one.prefixlen <= network.prefixlen for one in merged)


def _length(network: Network) -> int:
    return network.prefixlen


def _shown(network: Network) -> str:
    return str(network.network_address if network.num_addresses == 1 else network)
