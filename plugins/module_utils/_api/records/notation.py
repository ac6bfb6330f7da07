# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""DNS records in every notation that people paste from. Pure text, no look-ups."""

from __future__ import annotations

import json
from typing import Any

from ..errors import InvalidInput
from ..models import DnsRecord, DnsRecordSet

_LONGEST_STRING = 255


def neutral(record_set: DnsRecordSet, ttl: int) -> list[dict[str, Any]]:
    """Return the records as plain data: type, host, fqdn, ttl, value, and what the type adds.

    :param ttl: seconds
    """
    return [_neutral_record(record_set, record, ttl) for record in record_set.records]


def zone_text(record_set: DnsRecordSet, ttl: int) -> str:
    """Return the records as lines of a BIND zone file, with absolute names."""
    rows = [
        (f"{fqdn(record_set, r)}.", str(ttl), "IN", r.type, _zone_value(r))
        for r in record_set.records
    ]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(4)]
    lines = (
        " ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]])
        for row in rows
    )
    return "".join(f"{line}\n" for line in lines)


def octodns(record_set: DnsRecordSet, ttl: int) -> str:
    """Return the records as YAML for an octoDNS zone file.

    Written without a YAML library, which a module's Python need not have: JSON strings are YAML.
    octoDNS wants semicolons in TXT values escaped.
    """
    grouped: dict[str, dict[str, list[str]]] = {}
    for record in record_set.records:
        host = "" if record.host == "@" else record.host
        grouped.setdefault(host, {}).setdefault(record.type, []).append(_octodns_value(record))
    lines = ["---"]
    for host, types in grouped.items():
        lines.append(f"{json.dumps(host)}:")
        for kind, values in types.items():
            lines += [f"  - type: {kind}", f"    ttl: {ttl}", "    values:"]
            lines += [f"      - {value}" for value in values]
    return "\n".join(lines) + "\n"


def checked_ttl(ttl: int) -> int:
    """Return a time to live that DNS can carry (RFC 2181, 8).

    :raises InvalidInput: it is out of range
    """
    if 0 <= ttl < 2**31:
        return ttl
    raise InvalidInput(f"ttl: {ttl} is out of range. Give seconds from 0 to {2**31 - 1}.")


def txt_strings(value: str) -> list[str]:
    """Cut a TXT value into strings of at most 255 bytes, as the wire carries it."""
    strings = [""]
    for character in value:
        if len((strings[-1] + character).encode()) > _LONGEST_STRING:
            strings.append("")
        strings[-1] += character
    return strings


def quoted(strings: list[str]) -> str:
    """Return TXT strings in quotes, as a zone file and most providers take them."""
    return " ".join(f'"{"".join(map(_escaped, string.encode()))}"' for string in strings)


def _escaped(byte: int) -> str:
    """Return one byte of a TXT string as a zone file writes it."""
    if not 0x20 <= byte < 0x7F:
        return f"\\{byte:03d}"
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
        return f"{{preference: {record.priority}, exchange: {exchange}}}"
    return json.dumps(record.value.replace(";", "\\;"))
