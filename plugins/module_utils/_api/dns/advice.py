# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Advice on a domain's mail that goes beyond the records that the service asks for."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from ..models import DnsRecordSet
from .compare import in_a_row
from .rrset import Mx, value_of
from .spf_lookups import Ask

_DMARC = "v=dmarc1"
_REVERSE = "the PTR records of mail servers"


def advise(record_set: DnsRecordSet, ask: Ask) -> list[str]:
    """Return what is to be said of DMARC and of reverse names, one sentence or two each.

    :param ask: asks resolvers; what nobody tells is left out, and one line says so
    """
    unknown: dict[str, str] = {}
    advice = [
        *_dmarc(record_set.domain.key, ask, unknown),
        *(text for host in _hosts(record_set) for text in _reverse_names(host, ask, unknown)),
    ]
    if unknown:
        topics = dict.fromkeys(unknown.values())
        advice.append(
            f"No resolver told of {in_a_row(list(unknown))}, so there is no advice on "
            f"{in_a_row(list(topics))}. Give others in the option resolvers."
        )
    return advice


def _hosts(record_set: DnsRecordSet) -> list[str]:
    """Return the hosts that take the mail, each once."""
    values = (value_of(record) for record in record_set.records if record.type == "MX")
    return list(dict.fromkeys(value.exchange for value in values if isinstance(value, Mx)))


def _dmarc(domain: str, ask: Ask, unknown: dict[str, str]) -> Iterator[str]:
    """Say if neither a domain nor one above it has a DMARC record (RFC 7489, 6.6.3).

    :param unknown: gets the names that nobody tells of, each with what it would have told of
    """
    labels = domain.split(".")
    for place in range(max(len(labels) - 1, 1)):
        name = f"_dmarc.{'.'.join(labels[place:])}"
        found = ask(name, "TXT")
        if found.kind == "failed":
            unknown[name] = "DMARC"
            return
        if any(text.lower().startswith(_DMARC) for text in found.values):
            return
    yield (
        f"There is no DMARC record at _dmarc.{domain}, so receivers do not know what to do with "
        "mail that is not yours. Begin with TXT v=DMARC1; p=none"
    )


def _reverse_names(host: str, ask: Ask, unknown: dict[str, str]) -> Iterator[str]:
    """Say which addresses of a mail server have no name.

    :param unknown: see `_dmarc`
    """
    for kind in ("A", "AAAA"):
        found = ask(host, kind)
        if found.kind == "failed":
            unknown[host] = _REVERSE
            return
        for address in found.values:
            name = ipaddress.ip_address(address).reverse_pointer
            pointer = ask(name, "PTR")
            if pointer.kind == "failed":
                unknown[name] = _REVERSE
            elif pointer.kind == "void":
                yield (
                    f"{address}, an address of the mail server {host}, has no PTR record, so some "
                    "receivers refuse its mail. Ask those who run it for one."
                )
