# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""DNS records in every notation that people paste from. Pure text, no look-ups."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from ..errors import InvalidInput
from ..models import DnsRecord, DnsRecordSet

#: How a byte is counted in the three digits after a backslash: in tens, as in zone files (RFC 1035,
#: 5.1), or in eights, as at Route 53.
Escapes = Literal["decimal", "octal"]

_LONGEST_STRING = 255
_LONGEST_SHOWN = 60
# One of a zone file's strings, in quotes or a single word, and what stands for a byte within it.
_STRING = re.compile(r'(?:"((?:[^"\\]|\\.)*)"|((?:[^"\\\s]|\\.)+)(?=\s|$))\s*', re.DOTALL)
_BYTE = re.compile(rb"\\(\d{3})|\\(.)|([^\\])", re.DOTALL)
_NO_DECIMAL = re.compile(r"\\[23][0-7]{2}")


def neutral(record_set: DnsRecordSet, ttl: int) -> list[dict[str, Any]]:
    """Return the records as plain data: type, host, fqdn, ttl, value, and what the type adds.

    :param ttl: seconds
    """
    return [_neutral_record(record_set, record, ttl) for record in record_set.records]


def zone_text(record_set: DnsRecordSet, ttl: int) -> str:
    """Return the records as lines of a BIND zone file, with absolute names."""
    return zone_lines(
        (fqdn(record_set, record), ttl, record.type, _zone_value(record))
        for record in record_set.records
    )


def zone_lines(records: Iterable[tuple[str, int, str, str]]) -> str:
    """Return records as lines of a BIND zone file, in columns.

    :param records: name without a dot at the end, time to live, type and data of each
    """
    rows = [(f"{name}.", str(ttl), "IN", kind, data) for name, ttl, kind, data in records]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(4)]
    lines = (
        " ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]])
        for row in rows
    )
    return "".join(f"{line}\n" for line in lines)


def octodns(record_set: DnsRecordSet, ttl: int) -> str:
    """Return the records as YAML for an octoDNS zone file.

    Written without a YAML library, which a module's Python need not have: JSON strings are YAML.
    octoDNS wants semicolons in TXT values escaped, and all keys in their natural order.
    """
    grouped: dict[str, dict[str, list[str]]] = {}
    for record in record_set.records:
        host = "" if record.host == "@" else record.host
        grouped.setdefault(host, {}).setdefault(record.type, []).append(_octodns_value(record))
    lines = ["---"]
    for host in sorted(grouped, key=_natural):
        lines.append(f"{json.dumps(host)}:")
        for kind, values in grouped[host].items():
            lines += [f"  - ttl: {ttl}", f"    type: {kind}", "    values:"]
            lines += [f"      - {value}" for value in values]
    return "\n".join(lines) + "\n"


def _natural(host: str) -> list[tuple[str, int]]:
    """Return the key that sorts `s2` before `s10`."""
    return [(text, int(digits or 0)) for text, digits in re.findall(r"([^0-9]*)([0-9]*)", host)]


def checked_ttl(ttl: int) -> int:
    """Return a time to live that DNS can carry (RFC 2181, 8).

    :raises InvalidInput: it is out of range
    """
    if 0 <= ttl < 2**31:
        return ttl
    raise InvalidInput(f"ttl: {ttl} is out of range. Give seconds from 0 to {2**31 - 1}.")


def txt_strings(value: str) -> list[str]:
    """Cut a TXT value into strings of at most 255 bytes, as the wire carries it.

    :param value: bytes that are no UTF-8 come as lone surrogates
    """
    strings = [""]
    for character in value:
        if len((strings[-1] + character).encode("utf-8", "surrogateescape")) > _LONGEST_STRING:
            strings.append("")
        strings[-1] += character
    return strings


def quoted(strings: Sequence[str]) -> str:
    """Return TXT strings in quotes, as a zone file and most providers take them."""
    return quoted_bytes(string.encode("utf-8", "surrogateescape") for string in strings)


def quoted_bytes(strings: Iterable[bytes], escapes: Escapes = "decimal") -> str:
    """Return TXT strings in quotes, whatever bytes they hold."""
    return " ".join(
        f'"{"".join(_escaped(byte, escapes) for byte in string)}"' for string in strings
    )


def read_txt(text: str, escapes: Escapes = "decimal") -> tuple[bytes, ...]:
    """Return the strings of a TXT value: a zone file's, or a bare text as it stands.

    :param text: a bare text, which is what providers show who hide the strings, has no escapes. If
        the first string is in quotes it is a zone file's; others may be single words
    :raises InvalidInput: the quotes or escapes do not fit, or a string is longer than 255 bytes
    """
    try:
        strings = tuple(_strings(text.strip(), escapes))
    except ValueError:
        strings = ()
    if strings and max(map(len, strings)) <= _LONGEST_STRING:
        return strings
    shown = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
    hint = ""
    if escapes == "decimal" and _NO_DECIMAL.search(text):
        hint = " If it comes from Route 53, whose escapes are octal, give escapes='octal'."
    raise InvalidInput(
        f"{shown!r} is not the value of a TXT record. Write strings of at most "
        f"{_LONGEST_STRING} bytes, each in double quotes, or the whole text without quotes.{hint}"
    )


def _strings(text: str, escapes: Escapes) -> Iterator[bytes]:
    """Yield the strings that a value is cut into; ValueError is for what is none."""
    if not text.startswith('"'):
        yield from (string.encode("utf-8", "surrogateescape") for string in txt_strings(text))
    elif not _STRING.sub("", text):
        for quoted_string, word in _STRING.findall(text):
            yield _unescaped((quoted_string or word).encode("utf-8", "surrogateescape"), escapes)


def _unescaped(string: bytes, escapes: Escapes) -> bytes:
    base = 8 if escapes == "octal" else 10
    return b"".join(
        bytes([int(digits, base)]) if digits else sign or plain
        for digits, sign, plain in _BYTE.findall(string)
    )


def _escaped(byte: int, escapes: Escapes) -> str:
    """Return one byte of a TXT string as a zone file or Route 53 writes it."""
    if not 0x20 <= byte < 0x7F:
        return f"\\{byte:03o}" if escapes == "octal" else f"\\{byte:03d}"
    character = chr(byte)
    return f"\\{character}" if character in '"\\' else character


def _neutral_record(record_set: DnsRecordSet, record: DnsRecord, ttl: int) -> dict[str, Any]:
    neutral_record: dict[str, Any] = {
        "type": record.type,
        "host": record.host,
        "fqdn": fqdn(record_set, record),
        "ttl": ttl,
        "value": record.value,
    }
    if record.type == "MX":
        neutral_record["priority"] = record.priority
    else:
        strings = txt_strings(record.value)
        neutral_record |= {"strings": strings, "quoted": quoted(strings)}
    return neutral_record


def fqdn(record_set: DnsRecordSet, record: DnsRecord) -> str:
    """Return a record's name in full, as A-labels, without a dot at the end."""
    domain = record_set.domain.key
    return domain if record.host == "@" else f"{record.host}.{domain}"


def _zone_value(record: DnsRecord) -> str:
    if record.type == "MX":
        return f"{record.priority} {record.value.rstrip('.')}."
    return quoted(txt_strings(record.value))


def _octodns_value(record: DnsRecord) -> str:
    if record.type == "MX":
        exchange = json.dumps(f"{record.value.rstrip('.')}.")
        return f"{{exchange: {exchange}, preference: {record.priority}}}"
    return json.dumps(record.value.replace(";", "\\;"))
