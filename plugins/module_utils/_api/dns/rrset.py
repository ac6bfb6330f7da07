# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Record sets: all records of one type at one name, as name servers keep and change them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple, Union

from ..errors import InvalidInput
from ..models import DnsRecord, DnsRecordSet
from .formats import Escapes, fqdn, quoted_bytes, read_txt, txt_strings, zone_lines

_MX = re.compile(r"(\d{1,5})\s+([!-~]+)", re.ASCII)


class Mx(NamedTuple):
    """Where mail goes. Lower priorities are tried first.

    :param exchange: in lower case, without a dot at the end; empty for a null MX (RFC 7505)
    """

    priority: int
    exchange: str

    def __str__(self) -> str:
        return f"MX {self.priority} {self.exchange}."


class Txt(NamedTuple):
    """A text with its division into strings, which is kept for records of others."""

    strings: tuple[bytes, ...]

    @property
    def text(self) -> str:
        """The joined strings; bytes that are not UTF-8 become lone surrogates."""
        return b"".join(self.strings).decode("utf-8", "surrogateescape")


Value = Union[Mx, Txt]  # noqa: UP007 - pylint takes the bar between classes to be arithmetic
#: What a record set goes by: its name in full, and its type.
Key = tuple[str, str]


class RecordSet(NamedTuple):
    """All records of one type at one name.

    :param name: in full, as lower-case A-labels, without a dot at the end
    :param type: ``MX`` or ``TXT``
    :param ttl: seconds
    """

    name: str
    type: str
    ttl: int
    values: tuple[Value, ...]

    def __str__(self) -> str:
        return f"{self.name} {self.type}"

    @property
    def key(self) -> Key:
        """What it goes by."""
        return self.name, self.type

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data, with the values as a zone file has them."""
        return {
            "name": self.name,
            "type": self.type,
            "ttl": self.ttl,
            "value": [as_rdata(value) for value in self.values],
        }


def txt(text: str) -> Txt:
    """Return a text as it is published: cut into strings of at most 255 bytes."""
    return Txt(tuple(string.encode("utf-8", "surrogateescape") for string in txt_strings(text)))


def texts_of(values: Iterable[Value]) -> list[str]:
    """Return the texts among values, each with its strings in one."""
    return [value.text for value in values if isinstance(value, Txt)]


def value_of(record: DnsRecord) -> Value:
    """Return one record of the service as name servers hold it."""
    if record.type == "MX":
        return Mx(record.priority or 0, record.value.rstrip(".").lower())
    return txt(record.value)


def wanted_sets(record_set: DnsRecordSet, ttl: int) -> tuple[RecordSet, ...]:
    """Return what the service asks to publish, by name and type, in the service's order.

    :param ttl: seconds
    """
    grouped: dict[Key, list[Value]] = {}
    for record in record_set.records:
        key = fqdn(record_set, record), record.type
        grouped.setdefault(key, []).append(value_of(record))
    return tuple(
        RecordSet(name, kind, ttl, tuple(values)) for (name, kind), values in grouped.items()
    )


def as_rdata(value: Value, escapes: Escapes = "decimal") -> str:
    """Return a value as a zone file has it, with absolute names and strings in quotes."""
    if isinstance(value, Mx):
        return f"{value.priority} {value.exchange}."
    return quoted_bytes(value.strings, escapes)


def read_rdata(kind: str, text: str, escapes: Escapes = "decimal") -> Value:
    """Return the value that a zone file or a DNS provider writes so.

    :param kind: ``MX`` or ``TXT``
    :param text: ``10 mail.example.net.``, with or without the last dot; strings in quotes, or a
        bare text
    :raises InvalidInput: it is no such value
    """
    if kind != "MX":
        return Txt(read_txt(text, escapes))
    match = _MX.fullmatch(text.strip())
    if match is None or int(match[1]) > 0xFFFF:
        raise InvalidInput(
            f"{text!r} is not the value of an MX record. Write a priority and a host name, "
            "such as '10 mail.example.net.'."
        )
    return Mx(int(match[1]), match[2].lower().rstrip("."))


def as_lines(record_sets: Iterable[RecordSet]) -> str:
    """Return record sets as lines of a zone file, in columns."""
    return zone_lines(
        (found.name, found.ttl, found.type, as_rdata(value))
        for found in record_sets
        for value in found.values
    )
