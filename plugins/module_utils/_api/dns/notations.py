# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The notations of records: zone files, octoDNS, DNS providers and the module's result."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Literal

from ..errors import InvalidInput, shortened
from ..models import RequiredRecords
from .record_types import MAX_STRING, Mx, RecordSet, Txt, Value, fqdn_of, txt, txt_strings

#: The base of escaped bytes such as ``\065``: decimal in zone files (RFC 1035, 5.1), octal in
#: Route 53.
Escapes = Literal["decimal", "octal"]

_MX = re.compile(r"(\d{1,5})\s+([!-~]+)", re.ASCII)
# Patterns for a string in a zone file, quoted or a single word, and for a byte in a string.
_STRING = re.compile(r'(?:"((?:[^"\\]|\\.)*)"|((?:[^"\\\s]|\\.)+)(?=\s|$))\s*', re.DOTALL)
_BYTE = re.compile(rb"\\(\d{3})|\\(.)|([^\\])", re.DOTALL)


def as_rdata(value: Value, escapes: Escapes = "decimal") -> str:
    """Return a value in zone file notation, with absolute names and quoted strings."""
    if isinstance(value, Mx):
        return f"{value.priority} {value.exchange}."

    def escaped(byte: int) -> str:
        if not 0x20 <= byte < 0x7F:
            return f"\\{byte:03o}" if escapes == "octal" else f"\\{byte:03d}"
        return f"\\{chr(byte)}" if chr(byte) in '"\\' else chr(byte)

    return " ".join(f'"{"".join(map(escaped, string))}"' for string in value.strings)


def read_rdata(kind: str, text: str, escapes: Escapes = "decimal") -> Value:
    """Parse a value in the notation of a zone file or a DNS provider.

    :param kind: ``MX`` or ``TXT``
    :param text: for MX, a priority and a host name, such as ``10 mail.example.net``; for TXT, one
        or more strings in quotes, or text without quotes. Only quoted strings can have escapes.
    :raises InvalidInput: if the text is not a valid value
    """
    if kind == "MX":
        match = _MX.fullmatch(text.strip())
        if match and int(match[1]) <= 0xFFFF:
            return Mx(int(match[1]), match[2].lower().rstrip("."))
        raise InvalidInput(
            f"{text!r} is not the value of an MX record. Write a priority and a host name, "
            "such as '10 mail.example.net.'."
        )
    try:
        strings = _read_strings(text.strip(), 8 if escapes == "octal" else 10)
    except ValueError:
        strings = ()
    if strings and max(map(len, strings)) <= MAX_STRING:
        return Txt(strings)
    raise InvalidInput(
        f"{shortened(text)!r} is not the value of a TXT record. Write strings of at most "
        f"{MAX_STRING} bytes, each in double quotes, or the whole text without quotes. For values "
        "from Route 53, set escapes='octal'."
    )


def zone_text(record_sets: Iterable[RecordSet]) -> str:
    """Return record sets as aligned lines of a BIND zone file, with absolute names."""
    rows = [
        (f"{one.name}.", str(one.ttl), "IN", one.type, as_rdata(value))
        for one in record_sets
        for value in one.values
    ]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(4)]
    lines = (
        " ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]])
        for row in rows
    )
    return "".join(f"{line}\n" for line in lines)


def as_dict(record_set: RecordSet) -> dict[str, Any]:
    """Return a record set as a dictionary, with its values as in a zone file."""
    values = [as_rdata(value) for value in record_set.values]
    return {
        "name": record_set.name,
        "type": record_set.type,
        "ttl": record_set.ttl,
        "value": values,
    }


def octodns(required: RequiredRecords, ttl: int) -> str:
    """Return the records as YAML for an octoDNS zone file.

    JSON strings are valid YAML, so no YAML library is needed. octoDNS requires escaped semicolons
    in TXT values, and keys in natural order.
    """
    grouped: dict[str, dict[str, list[str]]] = {}
    for record in required.records:
        value = json.dumps(record.value.replace(";", "\\;"))
        if record.type == "MX":
            exchange = json.dumps(f"{record.value.rstrip('.')}.")
            value = f"{{exchange: {exchange}, preference: {record.priority}}}"
        host = "" if record.host == "@" else record.host
        grouped.setdefault(host, {}).setdefault(record.type, []).append(value)
    lines = ["---"]
    for host in sorted(grouped, key=_natural):
        lines.append(f"{json.dumps(host)}:")
        for kind, values in grouped[host].items():
            lines += [f"  - ttl: {ttl}", f"    type: {kind}", "    values:"]
            lines += [f"      - {value}" for value in values]
    return "\n".join(lines) + "\n"


def as_return_values(required: RequiredRecords, ttl: int) -> list[dict[str, Any]]:
    """Return the records in the format of the module's result.

    :param ttl: the TTL in seconds
    """
    values = []
    for record in required.records:
        more: dict[str, Any] = {"priority": record.priority}
        if record.type != "MX":
            quoted = as_rdata(txt(record.value))
            more = {"strings": txt_strings(record.value), "quoted": quoted}
        name = {"host": record.host, "fqdn": fqdn_of(required, record)}
        values.append({"type": record.type, **name, "ttl": ttl, "value": record.value, **more})
    return values


def checked_ttl(ttl: int) -> int:
    """Return a TTL after checking its range (RFC 2181, 8).

    :raises InvalidInput: if the TTL is out of range
    """
    if 0 <= ttl < 2**31:
        return ttl
    raise InvalidInput(
        f"ttl: {ttl} is out of range. Set a number of seconds from 0 to {2**31 - 1}."
    )


def _natural(host: str) -> list[tuple[str, int]]:
    """Return a sort key that sorts ``s2`` before ``s10``."""
    return [(text, int(digits or 0)) for text, digits in re.findall(r"([^0-9]*)([0-9]*)", host)]


def _read_strings(text: str, base: int) -> tuple[bytes, ...]:
    """Return the strings of a TXT value, or an empty tuple if its quoting is invalid.

    :raises ValueError: if an escape is not a byte, or a character is not valid Unicode
    """
    if not text.startswith('"'):
        return txt(text).strings
    if _STRING.sub("", text):
        return ()
    strings = [quoted or word for quoted, word in _STRING.findall(text)]
    return tuple(
        b"".join(
            bytes([int(digits, base)]) if digits else sign or plain
            for digits, sign, plain in _BYTE.findall(string.encode("utf-8", "surrogateescape"))
        )
        for string in strings
    )
