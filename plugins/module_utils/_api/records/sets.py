# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Record sets: all records of one type at one name, as name servers keep and change them."""

from __future__ import annotations

from typing import NamedTuple, Union

from ..models import DnsRecord, DnsRecordSet
from .notation import fqdn, txt_strings


class Mx(NamedTuple):
    """Where mail goes. Lower priorities are tried first.

    :param exchange: in lower case, without a dot at the end; empty for a null MX (RFC 7505)
    """

    priority: int
    exchange: str


class Txt(NamedTuple):
    """A text, in the strings that it is cut into, so that nobody's record is written otherwise."""

    strings: tuple[bytes, ...]

    @property
    def text(self) -> str:
        """The strings in one; bytes that are no UTF-8 come as lone surrogates."""
        return b"".join(self.strings).decode("utf-8", "surrogateescape")


Value = Union[Mx, Txt]  # noqa: UP007 - pylint takes the bar between classes to be arithmetic


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


def txt(text: str) -> Txt:
    """Return a text as it is published: cut into strings of at most 255 bytes."""
    return Txt(tuple(string.encode("utf-8", "surrogateescape") for string in txt_strings(text)))


def value_of(record: DnsRecord) -> Value:
    """Return one record of the service as name servers hold it."""
    if record.type == "MX":
        return Mx(record.priority or 0, record.value.rstrip(".").lower())
    return txt(record.value)


def wanted_sets(record_set: DnsRecordSet, ttl: int) -> tuple[RecordSet, ...]:
    """Return what the service asks to publish, by name and type, in the service's order.

    :param ttl: seconds
    """
    grouped: dict[tuple[str, str], list[Value]] = {}
    for record in record_set.records:
        key = fqdn(record_set, record), record.type
        grouped.setdefault(key, []).append(value_of(record))
    return tuple(
        RecordSet(name, kind, ttl, tuple(values)) for (name, kind), values in grouped.items()
    )
