# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Record sets in the formats of DNS providers and in the notations that users paste."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.postroom.email.plugins.module_utils._api.dns.notations import (
    Escapes,
    as_rdata,
    as_return_values,
    octodns,
    read_rdata,
    zone_text,
)
from ansible_collections.postroom.email.plugins.module_utils._api.dns.read_record_sets import (
    read_record_sets,
    read_text,
)
from ansible_collections.postroom.email.plugins.module_utils._api.dns.record_types import (
    Mx,
    Txt,
    txt,
    txt_strings,
    wanted_sets,
)
from ansible_collections.postroom.email.plugins.module_utils._api.errors import (
    InvalidInput,
)
from ansible_collections.postroom.email.plugins.module_utils._api.models import (
    DnsRecord,
    RequiredRecords,
)
from ansible_collections.postroom.email.plugins.module_utils._api.names import parse_domain
from ansible_collections.postroom.email.tests.support.recordsets import (
    DOMAIN,
    OURS,
    as_plain,
    current,
    mx,
    texts,
)

OTHER = Mx(20, "mx.other.example")
NOTE = txt("a note")
MX_ROW = {"name": "example.com.", "type": "MX", "ttl": 60}
TXT_ROW = {"name": "example.com.", "type": "TXT", "ttl": 60}
SERVED = ["10 mail.example.net.", "20 MX.other.example."]
#: Records as returned by the modules of amazon.aws, Hetzner, PowerDNS and Cloudflare.
FROM_ROUTE53 = [
    # From amazon.aws.route53 with the state get, and from amazon.aws.route53_info.
    {
        "record": "example.com.",
        "type": "MX",
        "ttl": "60",
        "Name": "example.com.",
        "value": ",".join(SERVED),
        "record_values": SERVED,
    },
    {**TXT_ROW, "resource_records": [{"value": '"a note"'}]},
    [],
]
FROM_HETZNER = [
    {"record": DOMAIN, "prefix": "", "type": "MX", "ttl": 60, "value": SERVED},
    {"record": DOMAIN, "prefix": "", "type": "TXT", "ttl": 60, "value": ["a note"]},
    {},
]
FROM_POWERDNS = [
    {**MX_ROW, "comments": [], "records": [{"content": c, "disabled": False} for c in SERVED]},
    {**TXT_ROW, "records": [{"content": '"a note"', "disabled": False}]},
    {"name": "example.com.", "type": "SOA", "records": [{"content": "a. b. 1 2 3 4 5"}]},
    {"name": "old.example.com.", "type": "TXT", "records": [{"content": "x", "disabled": True}]},
]
FROM_CLOUDFLARE = [
    {**MX_ROW, "content": "mail.example.net", "priority": 10},
    {**MX_ROW, "content": "mx.other.example", "priority": 20},
    {**TXT_ROW, "content": '"a note"'},
    {"name": "example.com", "type": "A", "ttl": 1, "content": "192.0.2.1"},
]


@pytest.mark.parametrize(
    "data",
    [
        as_plain([mx(OURS, OTHER, ttl=60), texts(NOTE, ttl=60)]),
        FROM_ROUTE53,
        FROM_HETZNER,
        FROM_POWERDNS,
        FROM_CLOUDFLARE,
    ],
)
def test_the_data_of_every_provider_is_read(data: Any) -> None:
    """The formats of all providers give the same names, values and TTLs."""
    found = read_record_sets(data, names={DOMAIN})
    assert found.sets == current(mx(OURS, OTHER, ttl=60), texts(NOTE, ttl=60))


def test_an_alias_is_no_record_set() -> None:
    """An alias is not a record set, but its target is kept."""
    data = [
        {"name": "a.example.com.", "type": "cname", "ttl": 0, "records": ["b.example.net."]},
        {"name": "c.example.com", "type": "CNAME", "values": []},
        {"name": DOMAIN, "type": "MX", "ttl": None, "values": ["10 mail.example.net"]},
    ]
    found = read_record_sets(data, 77, names=(DOMAIN, "a.example.com"))
    targets = {name: above.target for name, above in found.redirections.items()}
    assert (targets, found.sets) == ({"a.example.com": "b.example.net"}, current(mx(OURS, ttl=77)))


def test_values_are_given_back_as_they_were_written() -> None:
    """Values of other clients are returned exactly as the provider wrote them."""
    there = [
        {"name": DOMAIN, "type": "MX", "values": [" 10 mail ", "20 MX.Other.example."]},
        {"name": DOMAIN, "type": "TXT", "values": [r'"\195\188"', "bare text", '"a" word']},
    ]
    found = read_record_sets(there)
    servers, notes = found.sets.values()
    more = servers._replace(values=(*servers.values, OURS))
    assert found.spelled(more) == ["10 mail", "20 MX.Other.example.", "10 mail.example.net."]
    assert found.spelled(notes) == [r'"\195\188"', '"bare text"', '"a" "word"']


def test_comments_are_kept_with_their_values() -> None:
    """A record's comment stays with its value, and new values use the same kind of escapes."""
    records = [{"value": "20 mx.other.example.", "comment": "until May"}, {"value": "10 mail."}]
    texts = {"name": DOMAIN, "type": "TXT", "values": [r'"\303\251"', r'"\303\373"']}
    found = read_record_sets(
        [{"name": DOMAIN, "type": "MX", "records": records}, texts], escapes="octal"
    )
    servers, notes = found.sets.values()
    kept = [found.comments.get((*servers.key, value)) for value in servers.values]
    assert kept == ["until May", None]
    more = notes._replace(values=(*notes.values, txt("\u00fc")))
    assert found.spelled(more) == [r'"\303\251"', r'"\303\373"', r'"\303\274"']


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, "input: "),
        ([{}, 7], "input, item 2: "),
        ([{"type": "MX", "name": "."}], "input, item 1: name"),
        ({"type": "MX"}, "input: name"),
        ([{"name": "a.b"}], "a.b: type"),
        ([{"name": "a.b", "type": "TXT"}], "a.b TXT: .*values"),
        ([{"name": "a.b", "type": "TXT", "values": [7]}], "a.b TXT: .*string"),
        (
            [{"name": "a.b", "type": "TXT", "records": [{"content": "x", "disabled": True}]}],
            "a.b TXT: .*disabled",
        ),
        ([{"name": "a.b", "type": "TXT", "ttl": True, "values": []}], "a.b TXT: ttl is True"),
        (
            [{"name": "a.b", "type": "MX", "value": "mail.example.net", "priority": 65536}],
            "a.b MX: '65536 mail.example.net'",
        ),
    ],
)
def test_invalid_data_is_refused(data: Any, words: str) -> None:
    """The error for invalid data gives the location of the problem."""
    with pytest.raises(InvalidInput, match=f"^{words}"):
        read_record_sets(data)


def test_texts_are_read() -> None:
    """A text is read in the same way with and without quotes."""
    assert read_text('"v=spf1 " "-all"', "record") == read_text("v=spf1 -all", "record")


HOME = parse_domain("Bücher.example")
SPF = "v=spf1 include:example.net ~all"


def dkim(bits: int) -> str:
    """Return the text of a DKIM record with a key of this many bits."""
    key = base64.b64encode(bytes(range(256)) * 3)[: (bits // 8 + 38) * 4 // 3].decode()
    return f"v=DKIM1; k=rsa; p={key}"


def records(bits: int = 2048) -> RequiredRecords:
    """Return the records in the contract's example."""
    rows = (
        DnsRecord("MX", "@", "mail.example.net", 10),
        DnsRecord("TXT", "@", SPF),
        DnsRecord("TXT", "service._domainkey", dkim(bits)),
    )
    return RequiredRecords(HOME, rows)


def unquoted(text: str) -> str:
    """Join quoted strings as a zone file parser would."""
    out = b""
    for string in re.findall(r'"((?:[^"\\]|\\.)*)"', text):
        for number, sign, plain in re.findall(r"\\(\d{3})|\\(.)|([^\\])", string):
            out += bytes([int(number)]) if number else (sign or plain).encode()
    return out.decode()


@pytest.mark.parametrize(("bits", "count"), [(1024, 1), (2048, 2), (4096, 3)])
def test_a_key_is_cut_into_strings_that_dns_can_carry(bits: int, count: int) -> None:
    """A key is split into strings of at most 255 bytes, which join to the complete value."""
    value = dkim(bits)
    strings = txt_strings(value)
    assert len(strings) == count
    assert max(len(string.encode()) for string in strings) <= 255
    assert "".join(strings) == value
    neutral = as_return_values(records(bits), 300)[2]
    assert neutral["strings"] == strings
    assert unquoted(neutral["quoted"]) == value == neutral["value"]


def test_neutral_records_say_everything() -> None:
    """Each returned record contains its type, host, full name and type-specific fields."""
    mx, spf, key = as_return_values(records(), 300)
    assert mx == {
        "type": "MX",
        "host": "@",
        "fqdn": "xn--bcher-kva.example",
        "ttl": 300,
        "value": "mail.example.net",
        "priority": 10,
    }
    assert "priority" not in spf
    assert key["fqdn"] == "service._domainkey.xn--bcher-kva.example"


def test_zone_text_has_absolute_names() -> None:
    """Zone-file text has one record per line, with absolute names."""
    lines = [line.split(maxsplit=4) for line in zone_text(wanted_sets(records(), 300)).splitlines()]
    assert lines[0] == ["xn--bcher-kva.example.", "300", "IN", "MX", "10 mail.example.net."]
    assert lines[2][0] == "service._domainkey.xn--bcher-kva.example."
    assert unquoted(lines[2][4]) == dkim(2048)
    assert zone_text([]) == ""


def test_octodns_yaml_reads_back() -> None:
    """The YAML for octoDNS contains the records with escaped semicolons."""
    yaml = pytest.importorskip("yaml", reason="needs a YAML parser")
    zone = yaml.safe_load(octodns(records(4096), 300))
    escaped = dkim(4096).replace(";", "\\;")
    assert zone == {
        "": [
            {
                "type": "MX",
                "ttl": 300,
                "values": [{"preference": 10, "exchange": "mail.example.net."}],
            },
            {"type": "TXT", "ttl": 300, "values": [SPF]},
        ],
        "service._domainkey": [{"type": "TXT", "ttl": 300, "values": [escaped]}],
    }


@pytest.mark.parametrize("escapes", ["decimal", "octal"])
@given(strings=st.lists(st.binary(max_size=255), min_size=1, max_size=4))
def test_quoted_strings_read_back(escapes: Escapes, strings: list[bytes]) -> None:
    """Quoted strings are read back unchanged, with decimal or octal escapes."""
    value = Txt(tuple(strings))
    text = as_rdata(value, escapes)
    assert text.isascii()
    assert text.isprintable()
    assert read_rdata("TXT", text, escapes) == value


@pytest.mark.parametrize(
    ("text", "strings"),
    [
        ('"one" "two"', (b"one", b"two")),
        ('"one"\n\t"two" ', (b"one", b"two")),
        ('"one more" two\\032', (b"one more", b"two ")),
        (r'"a \"b\" \\ \; \065"', (b'a "b" \\ ; A',)),
        (r'"\195\188"', (b"\xc3\xbc",)),
        ('""', (b"",)),
        (" two words ", (b"two words",)),
        (r"a\065", (rb"a\065",)),
        ("\udcff", (b"\xff",)),
        ('"\udcff" \udcff', (b"\xff", b"\xff")),
    ],
)
def test_values_are_read_from_every_notation(text: str, strings: tuple[bytes, ...]) -> None:
    """Values are read from zone files and from providers that omit the quotes."""
    assert read_rdata("TXT", text) == Txt(strings)


def test_escapes_count_as_they_are_said_to() -> None:
    """Escapes are read as decimal or octal, as specified. The other notation is refused."""
    for text, string in ((r'"caf\303\251"', "caf\u00e9".encode()), (r'"\101"', b"A")):
        assert read_rdata("TXT", text, "octal") == Txt((string,))
    assert read_rdata("TXT", r'"\101"') == Txt((b"e",))
    with pytest.raises(InvalidInput, match=r"escapes='octal'\.$"):
        read_rdata("TXT", r'"caf\303\251"')
    with pytest.raises(InvalidInput, match="is not the value"):
        read_rdata("TXT", r'"\195"', "octal")


@pytest.mark.parametrize(
    "text",
    [
        '"open',
        '"a" b"',
        '"a\\"',
        r'"\999"',
        f'"{"x" * 256}"',
        "\ud800",
    ],
)
def test_what_is_no_value_is_refused(text: str) -> None:
    """The error for a text that is not a value describes the right format in one sentence."""
    with pytest.raises(InvalidInput, match="TXT record"):
        read_rdata("TXT", text)
    with pytest.raises(InvalidInput) as caught:
        read_rdata("TXT", f'"{"x" * 4000}')
    assert len(str(caught.value)) < 250
