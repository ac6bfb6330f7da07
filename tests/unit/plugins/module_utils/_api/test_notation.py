# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""DNS records in the notations that people paste from."""

from __future__ import annotations

import base64
import contextlib
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


@given(st.lists(st.binary(max_size=255), min_size=1, max_size=4))
def test_what_is_quoted_reads_back_byte_for_byte(strings: list[bytes]) -> None:
    """Whatever the bytes are, and wherever the strings are cut."""
    assert notation.read_txt(notation.quoted_bytes(strings)) == tuple(strings)


@given(st.text(st.characters(codec="utf-8"), max_size=700))
def test_a_bare_text_is_taken_as_it_stands(text: str) -> None:
    """Backslashes and spaces within mean nothing; it is cut where DNS wants it."""
    bare = text.strip().lstrip('"').strip()
    strings = notation.read_txt(bare)
    assert b"".join(strings).decode() == bare
    assert max(map(len, strings)) <= 255


@pytest.mark.parametrize(
    ("text", "strings"),
    [
        ('"one" "two"', (b"one", b"two")),
        ('"one""two"', (b"one", b"two")),
        ('"one"\n\t"two" ', (b"one", b"two")),
        ('"one more" two\\032', (b"one more", b"two ")),
        (r'"a \"b\" \\ \; \065"', (b'a "b" \\ ; A',)),
        (r'"\195\188"', (b"\xc3\xbc",)),
        ('"\u00fc"', (b"\xc3\xbc",)),
        ('""', (b"",)),
        ("", (b"",)),
        ("word", (b"word",)),
        (" two words ", (b"two words",)),
        (r"a\065", (rb"a\065",)),
    ],
)
def test_values_are_read_from_every_notation(text: str, strings: tuple[bytes, ...]) -> None:
    """Of zone files, and of providers without quotes."""
    assert notation.read_txt(text) == strings


@given(st.lists(st.binary(max_size=255), min_size=1, max_size=4))
def test_octal_escapes_read_back_byte_for_byte(strings: list[bytes]) -> None:
    """As Route 53 has them."""
    text = notation.quoted_bytes(strings, "octal")
    assert notation.read_txt(text, "octal") == tuple(strings)


def test_escapes_count_as_they_are_said_to() -> None:
    """The same digits are other bytes, and those that can only be octal are refused with a hint."""
    assert notation.read_txt(r'"caf\303\251"', "octal") == ("caf\u00e9".encode(),)
    assert notation.read_txt(r'"\101"', "octal") == (b"A",)
    assert notation.read_txt(r'"\101"') == (b"e",)
    with pytest.raises(InvalidInput, match=r"give escapes='octal'\.$"):
        notation.read_txt(r'"caf\303\251"')
    with pytest.raises(InvalidInput, match=r"without quotes\.$"):
        notation.read_txt(r'"\195"', "octal")


@pytest.mark.parametrize(
    "text",
    ['"', '"open', '"a" b"', '"a" "', '"a\\"', r'"\999"', f'"{"x" * 256}"', "\ud800", '"\ud800"'],
)
def test_what_is_no_value_is_refused(text: str) -> None:
    """In a sentence that says how to write it."""
    with pytest.raises(InvalidInput, match=r"not the value of a TXT record\. Write strings"):
        notation.read_txt(text)


@given(st.text(max_size=600))
def test_no_text_raises_anything_else(text: str) -> None:
    """Quotes, escapes and characters beyond Unicode's are read or refused."""
    with contextlib.suppress(InvalidInput):
        assert max(map(len, notation.read_txt(text))) <= 255


def test_a_refusal_shows_the_beginning_only() -> None:
    """A long value does not fill the screen."""
    with pytest.raises(InvalidInput) as caught:
        notation.read_txt(f'"{"x" * 4000}')
    assert len(str(caught.value)) < 250
