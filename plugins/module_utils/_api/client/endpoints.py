# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The six calls of the mail API, each with its request and a function that parses its response.

The parsers tolerate deviations from the API's contract that occur in practice: envelopes, a single
string instead of a list, missing keys, and names instead of objects. The result of a write is None
if the response contains no principal, in which case the client sends a GET.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import quote

from ..models import (
    DnsRecord,
    Domain,
    Forwarder,
    Mailbox,
    Principal,
    RequiredRecords,
    UnmanagedPrincipal,
)
from ..names import Name, read_name

T = TypeVar("T")

PRINCIPALS = "/api/principal"
WIRE_TYPES = ("domain", "individual")


class InvalidResponse(ValueError):
    """The body is JSON, but not in the expected format. The exception's message is the reason."""


class ErrorResponse(InvalidResponse):
    """The response is an error."""


@dataclass(frozen=True)
class Call(Generic[T]):
    """An HTTP request and the function that parses its response.

    :param subject: the name of the principal or domain, or None for lists
    :param read: a function that converts the decoded body to the result
    """

    method: str
    path: str
    subject: Name | None
    read: Callable[[Any], T] = field(repr=False)
    body: dict[str, Any] | None = field(default=None, repr=False)
    secrets: Sequence[str] = field(default=(), repr=False)


class Response(NamedTuple):
    """A complete HTTP response.

    :param headers: the headers, to look up by lower-case names
    :param service: the URL of the service, for error messages
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    service: str
    next_path: str | None = None


class Page(NamedTuple):
    """A page of a list.

    :param principals: the principals from the rows that are objects
    :param bare_names: the names from the rows that are strings
    :param total: the number of rows on all pages, or None
    """

    principals: tuple[Principal, ...]
    bare_names: tuple[Name, ...]
    total: int | None
    next_path: str | None = None


def get(name: Name) -> Call[Principal]:
    """Return the call that reads a principal."""

    def read(body: Any) -> Principal:
        principal = read_principal(body)
        if principal.name != name:
            raise InvalidResponse(f"it describes {principal.name}")
        return principal

    return Call("GET", _path_of(name), name, read)


def list_page(path: str = PRINCIPALS) -> Call[Page]:
    """Return the call that reads one page of a list of principals."""
    return Call("GET", path, None, _read_page)


def create(principal: Principal, secrets: Sequence[str] = ()) -> Call[Principal | None]:
    """Return the call that creates a domain, a mailbox or a forwarder."""
    name = principal.name
    body: dict[str, Any] = {"name": name.key}
    if isinstance(principal, Domain):
        body["type"] = "domain"
    else:
        body |= {"type": "individual", **_settings(principal)}
    if isinstance(principal, Mailbox):
        body["secrets"] = list(secrets)
    return Call("POST", PRINCIPALS, name, _reply_about(name), body, secrets)


def update(
    current: Principal, target: Principal, secrets: Sequence[str] = ()
) -> Call[Principal | None]:
    """Return the call that changes ``current`` to ``target`` and sends only the differences.

    :param secrets: the new passwords; if empty, the current ones are kept
    """
    name = current.name
    before = _settings(current)
    body = {key: value for key, value in _settings(target).items() if value != before.get(key)}
    if secrets:
        body["secrets"] = list(secrets)
    return Call("PATCH", _path_of(name), name, _reply_about(name), body, secrets)


def delete(name: Name) -> Call[None]:
    """Return the call that deletes a principal."""

    def read(body: Any) -> None:
        if isinstance(body, dict) and body.get("success") is False:
            raise InvalidResponse("it does not report success")

    return Call("DELETE", _path_of(name), name, read)


def dns_records(domain: Name) -> Call[RequiredRecords]:
    """Return the call that reads the DNS records to publish for a domain."""
    path = f"/api/dns/{_segment(domain)}"
    return Call("GET", path, domain, lambda body: _read_required_records(domain, body))


def read_principal(body: Any) -> Principal:
    """Parse a principal of any kind, ignoring unknown fields.

    :raises InvalidResponse: if the body is not a principal
    """
    if not isinstance(body, dict) or not isinstance(body.get("name"), str):
        raise InvalidResponse("it is not a principal with a name")
    name = read_name(body["name"])
    kind = body.get("type", "individual")
    if not isinstance(kind, str):
        raise InvalidResponse("its type is not a string")
    if kind == "domain":
        return Domain(name)
    addresses = _read_names(body, "emails")
    if kind != "individual":
        return UnmanagedPrincipal(name, kind, addresses)
    aliases = addresses - {name}
    members = _read_names(body, "members")
    return Forwarder(name, aliases, members) if members else Mailbox(name, aliases)


def _reply_about(name: Name) -> Callable[[Any], Principal | None]:
    """Return a function that returns the principal ``name`` in a write's response, or None."""

    def read(body: Any) -> Principal | None:
        try:
            principal = read_principal(body)
        except InvalidResponse:
            return None
        return principal if principal.name == name else None

    return read


def _read_page(body: Any) -> Page:
    total = None
    if isinstance(body, dict):
        total = body.get("total")
        body = body.get("items")
    if not isinstance(body, list):
        raise InvalidResponse("it is not a list of principals")
    if total is not None and (isinstance(total, bool) or not isinstance(total, int)):
        raise InvalidResponse("the list's total is not a number")
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
        raise InvalidResponse(f"its {key} are not a list of addresses")
    return frozenset(read_name(item) for item in value)


def _read_required_records(domain: Name, body: Any) -> RequiredRecords:
    if not isinstance(body, dict):
        raise InvalidResponse("it is not a DNS record set")
    records = []
    for kind, key in (("MX", "mx"), ("TXT", "txt")):
        rows = body.get(key)
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise InvalidResponse(f"{key!r} is not a list of records")
        for row in rows:
            host, value, priority = row.get("host"), row.get("value"), row.get("priority")
            if not (isinstance(host, str) and isinstance(value, str) and host and value):
                raise InvalidResponse(f"its {kind} records lack a host or a value")
            if kind == "TXT":
                priority = None
            elif isinstance(priority, bool) or not isinstance(priority, int):
                raise InvalidResponse("its MX records lack a priority")
            records.append(DnsRecord(kind, host, value, priority))
    return RequiredRecords(domain, tuple(records))


def _path_of(name: Name) -> str:
    return f"{PRINCIPALS}/{_segment(name)}"


def _segment(name: Name) -> str:
    # quote() does not escape dots, and a segment such as .. would point outside the path.
    text = quote(name.key, safe="")
    return text if text.strip(".") else text.replace(".", "%2E")


def _settings(principal: Principal) -> dict[str, Any]:
    """Return a principal's changeable fields in the API's format, without passwords."""
    name = principal.name
    # In the API's contract, the primary address comes first.
    settings = {"emails": [name.key, *_keys(principal.addresses - {name})]}
    if isinstance(principal, Forwarder):
        settings["members"] = _keys(principal.members)
    return settings


def _keys(names: frozenset[Name]) -> list[str]:
    return [name.key for name in sorted(names)]


def describe(call: Call[Any]) -> str:
    """Return a description of a call for messages, such as ``deleting alice@example.com``."""
    if call.subject is None:
        return "listing the tenant's objects"
    if call.path.startswith("/api/dns/"):
        return f"reading the DNS records of {call.subject}"
    verb = {"GET": "reading", "POST": "creating", "PATCH": "changing", "DELETE": "deleting"}
    return f"{verb[call.method]} {call.subject}"


def decode(body: bytes) -> tuple[Any, str | None]:
    """Return (value, None) for JSON, (None, None) for an empty body and (None, text) otherwise."""
    if not body.strip():
        return None, None
    try:
        return json.loads(body), None
    except (ValueError, RecursionError):
        return None, body.decode("utf-8", "replace")


def error_code(body: Any) -> Any:
    """Return the error code in a body, or None. Servers may send an error code with any status."""
    return body.get("error") if isinstance(body, dict) and "data" not in body else None
