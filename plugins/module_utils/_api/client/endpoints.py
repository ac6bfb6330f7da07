# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""One description of each call: method, path, body, and how its answer is read.

The sender knows nothing of these; the client decides when to send which. Readers take
the decoded and unwrapped body. They survive what servers of this family do beside the contract:
envelopes, single strings for lists, missing keys, names for rows, and write replies without
content, for which they return None: the client then asks again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import quote

from ..models import DnsRecord, DnsRecordSet, Domain, Foreign, Forwarder, Mailbox, Principal
from ..names import Name, read_name

T = TypeVar("T")

PRINCIPALS = "/api/principal"
WIRE_TYPES = ("domain", "individual")


class Unreadable(ValueError):
    """The body is JSON, but not what this call answers. The text says what is amiss."""


@dataclass(frozen=True)
class Call(Generic[T]):
    """What to send and how to read what comes back.

    :param subject: the name that the call is about, for messages and for telling whose not-found
        an answer speaks of; None for lists
    :param secrets: values to take out of anything that is shown about this call
    """

    method: str
    path: str
    subject: Name | None
    read: Callable[[Any], T] = field(repr=False)
    body: dict[str, Any] | None = field(default=None, repr=False)
    secrets: Sequence[str] = field(default=(), repr=False)


class Page(NamedTuple):
    """A part of the list: whole rows, rows that are names only, and the size of the whole."""

    principals: tuple[Principal, ...]
    bare_names: tuple[Name, ...]
    total: int | None

    @property
    def size(self) -> int:
        """The number of rows, of either form."""
        return len(self.principals) + len(self.bare_names)


def get(name: Name) -> Call[Principal]:
    """Get one principal."""

    def read(body: Any) -> Principal:
        principal = read_principal(body)
        if principal.name != name:
            raise Unreadable(f"it is about {principal.name}")
        return principal

    return Call("GET", _path_of(name), name, read)


def list_page(path: str = PRINCIPALS) -> Call[Page]:
    """List principals, from the start or from a following page's path."""
    return Call("GET", path, None, _read_page)


def create(principal: Principal, secrets: Sequence[str] = ()) -> Call[Principal | None]:
    """Create a domain, a mailbox or a forwarder."""
    name = principal.name
    body: dict[str, Any] = {"name": name.key}
    if isinstance(principal, Domain):
        body["type"] = "domain"
    else:
        body |= {"type": "individual", "emails": _address_list(name, principal.addresses)}
    if isinstance(principal, Mailbox):
        body["secrets"] = list(secrets)
    if isinstance(principal, Forwarder):
        body["members"] = _keys(principal.members)
    return Call("POST", PRINCIPALS, name, _reply_about(name), body, secrets)


def update(
    name: Name,
    *,
    addresses: frozenset[Name] | None = None,
    members: frozenset[Name] | None = None,
    secrets: Sequence[str] = (),
) -> Call[Principal | None]:
    """Replace the address list, the members, the passwords, or several of these."""
    body: dict[str, Any] = {}
    if addresses is not None:
        body["emails"] = _address_list(name, addresses)
    if members is not None:
        body["members"] = _keys(members)
    if secrets:
        body["secrets"] = list(secrets)
    return Call("PATCH", _path_of(name), name, _reply_about(name), body, secrets)


def delete(name: Name) -> Call[None]:
    """Delete a principal. What a success carries says nothing more, unless it denies itself."""

    def read(body: Any) -> None:
        if isinstance(body, dict) and body.get("success") is False:
            raise Unreadable("it says that there was no success")

    return Call("DELETE", _path_of(name), name, read)


def dns_records(domain: Name) -> Call[DnsRecordSet]:
    """Get the DNS records to publish for a domain."""
    path = f"/api/dns/{_segment(domain)}"
    return Call("GET", path, domain, lambda body: _read_record_set(domain, body))


def read_principal(body: Any) -> Principal:
    """Read one principal of any kind. Fields that are not known are passed over.

    :raises Unreadable: the body is not a principal
    """
    if not isinstance(body, dict) or not isinstance(body.get("name"), str):
        raise Unreadable("it is not a principal with a name")
    name = read_name(body["name"])
    kind = body.get("type", "individual")
    if not isinstance(kind, str):
        raise Unreadable("its type is not a word")
    if kind == "domain":
        return Domain(name)
    addresses = _read_names(body, "emails")
    if kind != "individual":
        return Foreign(name, kind, addresses)
    aliases = addresses - {name}
    members = _read_names(body, "members")
    return Forwarder(name, aliases, members) if members else Mailbox(name, aliases)


def _reply_about(name: Name) -> Callable[[Any], Principal | None]:
    """Read a write's reply where it carries the principal itself, else None."""

    def read(body: Any) -> Principal | None:
        try:
            principal = read_principal(body)
        except Unreadable:
            return None
        return principal if principal.name == name else None

    return read


def _read_page(body: Any) -> Page:
    total = None
    if isinstance(body, dict):
        total = body.get("total")
        body = body.get("items")
    if not isinstance(body, list):
        raise Unreadable("it is not a list of principals")
    if total is not None and (isinstance(total, bool) or not isinstance(total, int)):
        raise Unreadable("the list's total is not a number")
    names = tuple(read_name(row) for row in body if isinstance(row, str))
    rows = tuple(read_principal(row) for row in body if not isinstance(row, str))
    return Page(rows, names, total)


def _read_names(body: dict[str, Any], key: str) -> frozenset[Name]:
    value = body.get(key)
    if value is None or value == "":
        value = []
    elif isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Unreadable(f"its {key} are not a list of addresses")
    return frozenset(read_name(item) for item in value)


def _read_record_set(domain: Name, body: Any) -> DnsRecordSet:
    if not isinstance(body, dict):
        raise Unreadable("it is not a DNS record set")
    records = []
    for kind, key in (("MX", "mx"), ("TXT", "txt")):
        rows = body.get(key)
        if not isinstance(rows, list):
            raise Unreadable(f"it has no list {key!r}")
        records += [_read_record(kind, row) for row in rows]
    return DnsRecordSet(domain, tuple(records))


def _read_record(kind: str, row: Any) -> DnsRecord:
    if not isinstance(row, dict):
        raise Unreadable(f"its {kind} records are not objects")
    host, value, priority = row.get("host"), row.get("value"), row.get("priority")
    is_mx = kind == "MX"
    if not (isinstance(host, str) and isinstance(value, str) and host and value):
        raise Unreadable(f"an {kind} record lacks its host or its value")
    if is_mx and (isinstance(priority, bool) or not isinstance(priority, int)):
        raise Unreadable("an MX record lacks its priority")
    return DnsRecord(kind, host, value, priority if is_mx else None)


def _path_of(name: Name) -> str:
    return f"{PRINCIPALS}/{_segment(name)}"


def _segment(name: Name) -> str:
    # quote() leaves dots alone, and a segment of dots would climb out of the path.
    text = quote(name.key, safe="")
    return text.replace(".", "%2E") if not text.strip(".") else text


def _address_list(name: Name, addresses: frozenset[Name]) -> list[str]:
    """Return the primary address first, as the contract shows it, then the aliases in order."""
    return [name.key, *_keys(addresses - {name})]


def _keys(names: frozenset[Name]) -> list[str]:
    return [name.key for name in sorted(names)]
