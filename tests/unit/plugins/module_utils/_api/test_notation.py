# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""DNS records in the notations that people paste from."""

from __future__ import annotations

import base64
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.postroom.email.plugins.module_utils._api.errors import InvalidInput
from ansible_collections.postroom.email.plugins.module_utils._api.models import (
    DnsRecord,
    DnsRecordSet,
)
from ansible_collections.postroom.email.plugins.module_utils._api.names import parse_domain
from ansible_collections.postroom.email.plugins.module_utils._api.records import notation

HOME = parse_domain("Bücher.example")
SPF = "v=spf1 include:example.net ~all"


def dkim(bits: int) -> str:
    """Return the text of a key record, as long as one of so many bits is."""
    key = base64.b64encode(bytes(range(256)) * 3)[: (bits // 8 + 38) * 4 // 3].decode()
    return f"v=DKIM1; k=rsa; p={key}"


def records(bits: int = 2048) -> DnsRecordSet:
    """Return what the contract shows."""
    rows = (
        DnsRecord("MX", "@", "mail.example.net", 10),
        DnsRecord("TXT", "@", SPF),
        DnsRecord("TXT", "service._domainkey", dkim(bits)),
    )
    return DnsRecordSet(HOME, rows)


def unquoted(text: str) -> str:
    """Read quoted strings as a zone file's reader does, and join them."""
    out = b""
    for string in re.findall(r'"((?:[^"\\]|\\.)*)"', text):
        for number, sign, plain in re.findall(r"\\(\d{3})|\\(.)|([^\\])", string):
            out += bytes([int(number)]) if number else (sign or plain).encode()
    return out.decode()


@pytest.mark.parametrize(("bits", "count"), [(1024, 1), (2048, 2), (4096, 3)])
def test_a_key_is_cut_into_strings_that_dns_can_carry(bits: int, count: int) -> None:
    """Of at most 255 bytes, and together the whole value, whatever the notation."""
    value = dkim(bits)
    strings = notation.txt_strings(value)
    assert len(strings) == count
    assert max(len(string.encode()) for string in strings) <= 255
    assert "".join(strings) == value
    neutral = notation.neutral(records(bits), 300)[2]
    assert neutral["strings"] == strings
    assert unquoted(neutral["quoted"]) == value == neutral["value"]


@given(st.text(max_size=700))
def test_any_text_survives_cutting_and_quoting(text: str) -> None:
    """Quotes, backslashes and bytes beyond ASCII are escaped; no character is cut in two."""
    strings = notation.txt_strings(text)
    assert "".join(strings) == text
    assert all(len(string.encode()) <= 255 for string in strings)
    quoted = notation.quoted(strings)
    assert quoted.isascii()
    assert quoted.isprintable()
    assert unquoted(quoted) == text


def test_neutral_records_say_everything() -> None:
    """Types, hosts, names in full as A-labels, and what the type adds."""
    mx, spf, key = notation.neutral(records(), 300)
    assert mx == {
        "type": "MX", "host": "@", "fqdn": "xn--bcher-kva.example", "ttl": 300,
        "value": "mail.example.net", "priority": 10,
    }  # fmt: skip
    assert spf["quoted"] == f'"{SPF}"'
    assert "priority" not in spf
    assert key["fqdn"] == "service._domainkey.xn--bcher-kva.example"


def test_zone_text_has_absolute_names() -> None:
    """A record a line, with dots at the end, so that no origin is appended."""
    lines = [line.split(maxsplit=4) for line in notation.zone_text(records(), 300).splitlines()]
    assert [line[:4] for line in lines] == [
        ["xn--bcher-kva.example.", "300", "IN", "MX"],
        ["xn--bcher-kva.example.", "300", "IN", "TXT"],
        ["service._domainkey.xn--bcher-kva.example.", "300", "IN", "TXT"],
    ]
    assert lines[0][4] == "10 mail.example.net."
    assert unquoted(lines[2][4]) == dkim(2048)
    assert notation.zone_text(DnsRecordSet(HOME, ()), 300) == ""


@pytest.mark.parametrize("bits", [1024, 2048, 4096])
def test_octodns_yaml_reads_back(bits: int) -> None:
    """Hosts, types and values, semicolons escaped as octoDNS wants them."""
    yaml = pytest.importorskip("yaml", reason="needs a YAML parser")
    zone = yaml.safe_load(notation.octodns(records(bits), 300))
    escaped = dkim(bits).replace(";", "\\;")
    assert zone == {
        "": [
            {"type": "MX", "ttl": 300,
             "values": [{"preference": 10, "exchange": "mail.example.net."}]},
            {"type": "TXT", "ttl": 300, "values": [SPF]},
        ],
        "service._domainkey": [{"type": "TXT", "ttl": 300, "values": [escaped]}],
    }  # fmt: skip


@pytest.mark.parametrize("ttl", [0, 1, 3600, 2**31 - 1])
def test_a_time_to_live_in_range_is_taken(ttl: int) -> None:
    """As RFC 2181 has it."""
    assert notation.checked_ttl(ttl) == ttl


@pytest.mark.parametrize("ttl", [-1, 2**31])
def test_a_time_to_live_out_of_range_is_refused(ttl: int) -> None:
    """The sentence names the option and the range."""
    with pytest.raises(InvalidInput, match=f"ttl: {ttl} is out of range"):
        notation.checked_ttl(ttl)
