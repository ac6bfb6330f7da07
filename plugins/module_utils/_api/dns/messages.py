# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Reading what a DNS message contains beside the records that were asked for."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .observation import Redirection

with contextlib.suppress(ImportError):
    import dns.flags
    import dns.rdatatype

if TYPE_CHECKING:
    from dns.message import Message
    from dns.name import Name
    from dns.rrset import RRset


def plain(name: Name) -> str:
    """Return a name in lower case, without a dot at the end; the root is empty."""
    return name.to_text().lower().removesuffix(".")


def owners(section: Iterable[RRset], kind: str) -> list[Name]:
    """Return the names in one section of an answer that have records of a type."""
    wanted = dns.rdatatype.from_text(kind)
    return [rrset.name for rrset in section if rrset.rdtype == wanted]


def no_authority(response: Message) -> str:
    """Return a clause on a server that answers, but not as an authority."""
    zones = owners(response.authority, "NS")
    if zones and not response.answer:
        return f"it refers to the servers of {plain(zones[0]) or 'the root'}"
    if response.flags & dns.flags.RA:
        # Some networks have a resolver answer whatever is asked at port 53.
        return "a resolver answered, and not an authority"
    return "its answer is not an authority's"


def delegation(response: Message) -> Redirection | None:
    """Return the delegation that a response refers to, or None if it is not a referral."""
    if response.answer or response.flags & dns.flags.AA:
        return None
    for rrset in response.authority:
        if rrset.rdtype == dns.rdatatype.NS:
            hosts = sorted(plain(record.target) for record in rrset)
            return Redirection("NS", plain(rrset.name), ", ".join(hosts))
    return None


def dname(response: Message, name: Name, alias: Name) -> Redirection | None:
    """Return the DNAME record above a name that makes it an alias of another, or None."""
    for owner in owners(response.answer, "DNAME"):
        if name != owner and name.is_subdomain(owner):
            return Redirection("DNAME", plain(owner), plain(alias))
    return None
