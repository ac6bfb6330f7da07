# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Record sets with MX and TXT records, and the redirections of their names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, Union

from ..models import DnsRecord, RequiredRecords

#: The name and type of a record set.
Key = tuple[str, str]

MAX_STRING = 255


class Mx(NamedTuple):
    """An MX record. Lower priorities are tried first.

    :param exchange: the host in lower case without the trailing dot; empty for a null MX (RFC 7505)
    """

    priority: int
    exchange: str

    def __str__(self) -> str:
        return f"MX {self.priority} {self.exchange}."


class Txt(NamedTuple):
    """A TXT record, as a list of strings. Existing records remain split into the same strings."""

    strings: tuple[bytes, ...]

    @property
    def text(self) -> str:
        """The joined strings. Bytes that are not UTF-8 become lone surrogates."""
        return b"".join(self.strings).decode("utf-8", "surrogateescape")


Value = Union[Mx, Txt]  # noqa: UP007 - pylint mistakes | between classes for arithmetic


class Redirection(NamedTuple):
    """A record that redirects a name, so that the name's records are published elsewhere.

    :param type: ``CNAME``, ``DNAME`` or, for a delegation, ``NS``
    :param owner: the name at which the redirecting record is published
    :param target: the name at which the records are published or, for a delegation, the name
        servers
    """

    type: Literal["CNAME", "DNAME", "NS"]
    owner: str
    target: str

    def __str__(self) -> str:
        return f"the {self.type} record at {self.owner} leads to {self.target}"


class RecordSet(NamedTuple):
    """All records of one type at one name.

    :param name: the fully qualified name as lower-case A-labels, without the trailing dot
    :param type: ``MX`` or ``TXT``
    :param ttl: the TTL in seconds
    """

    name: str
    type: str
    ttl: int
    values: tuple[Value, ...]

    def __str__(self) -> str:
        return f"{self.name} {self.type}"

    @property
    def key(self) -> Key:
        """The name and type."""
        return self.name, self.type


def wanted_sets(required: RequiredRecords, ttl: int) -> tuple[RecordSet, ...]:
    """Return the record sets that the service requires for a domain, in the service's order.

    :param ttl: the TTL in seconds
    """
    grouped: dict[Key, list[Value]] = {}
    for record in required.records:
        key = fqdn_of(required, record), record.type
        value: Value = txt(record.value)
        if record.type == "MX":
            value = Mx(record.priority or 0, record.value.rstrip(".").lower())
        grouped.setdefault(key, []).append(value)
    return tuple(
        RecordSet(name, kind, ttl, tuple(values)) for (name, kind), values in grouped.items()
    )


def txt(text: str) -> Txt:
    """Return a TXT record that contains a text, in strings of at most 255 bytes."""
    return Txt(tuple(string.encode("utf-8", "surrogateescape") for string in txt_strings(text)))


def txt_strings(text: str) -> list[str]:
    """Split a text into strings of at most 255 bytes, without splitting characters.

    :param text: the text, in which lone surrogates represent bytes that are not UTF-8
    """
    strings = [""]
    for character in text:
        if len((strings[-1] + character).encode("utf-8", "surrogateescape")) > MAX_STRING:
            strings.append("")
        strings[-1] += character
    return strings


def texts_of(values: Iterable[Value]) -> list[str]:
    """Return the texts of the TXT records in ``values``."""
    return [value.text for value in values if isinstance(value, Txt)]


def fqdn_of(required: RequiredRecords, record: DnsRecord) -> str:
    """Return a record's fully qualified name, without the trailing dot."""
    domain = required.domain.key
    return domain if record.host == "@" else f"{record.host}.{domain}"
