# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Record sets read from what modules and interfaces of DNS providers return."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.postroom.email.plugins.module_utils._api.errors import InvalidInput
from ansible_collections.postroom.email.plugins.module_utils._api.records.plain import (
    read_found,
    read_text,
)
from ansible_collections.postroom.email.plugins.module_utils._api.records.sets import (
    Mx,
    RecordSet,
    Txt,
    as_lines,
    read_rdata,
    txt,
)
from ansible_collections.postroom.email.tests.support.recordsets import (
    DOMAIN,
    OURS,
    as_plain,
    current,
    keys,
    mx,
    neutral,
    texts,
    wanted,
)

OTHER = Mx(20, "mx.other.example")
NOTE = txt("a note")
FROM_ROUTE53 = [
    # As amazon.aws.route53 returns it with the state get.
    {
        "record": "example.com.", "type": "MX", "ttl": "60", "Name": "example.com.",
        "value": "10 mail.example.net.,20 mx.other.example.",
        "values": ["10 mail.example.net.", "20 mx.other.example."],
    },
    # As amazon.aws.route53_info does.
    {
        "name": "example.com.", "type": "TXT", "ttl": 60,
        "resource_records": [{"value": '"a note"'}],
    },
    [],
]  # fmt: skip
FROM_HETZNER = [
    {
        "record": "example.com", "prefix": "", "type": "MX", "ttl": 60,
        "value": ["10 mail.example.net.", "20 MX.other.example."],
    },
    {"record": "example.com", "prefix": "", "type": "TXT", "ttl": 60, "value": ["a note"]},
    {},
]  # fmt: skip
FROM_POWERDNS = [
    {
        "name": "example.com.", "type": "MX", "ttl": 60, "comments": [],
        "records": [
            {"content": "10 mail.example.net.", "disabled": False},
            {"content": "20 mx.other.example.", "disabled": False},
        ],
    },
    {
        "name": "example.com.", "type": "TXT", "ttl": 60,
        "records": [{"content": '"a note"', "disabled": False}],
    },
    {"name": "example.com.", "type": "SOA", "records": [{"content": "a. b. 1 2 3 4 5"}]},
    {"name": "old.example.com.", "type": "TXT", "records": [{"content": "x", "disabled": True}]},
]  # fmt: skip
FROM_CLOUDFLARE = [
    {"name": "example.com", "type": "MX", "ttl": 60, "content": "mail.example.net", "priority": 10},
    {"name": "example.com", "type": "MX", "ttl": 60, "content": "mx.other.example", "priority": 20},
    {"name": "example.com", "type": "TXT", "ttl": 60, "content": '"a note"'},
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
def test_every_provider_is_understood(data: Any) -> None:
    """Names, values and times to live are the same, however they are put."""
    found = read_found(data, names={DOMAIN})
    assert found.sets == current(mx(OURS, OTHER, ttl=60), texts(NOTE, ttl=60))


def test_the_records_of_the_service_are_understood() -> None:
    """As the module returns them, in their order."""
    assert tuple(read_found(neutral()).sets.values()) == wanted()


def test_record_sets_survive_being_plain() -> None:
    """Strange bytes and cuts, too."""
    sets = [mx(OURS, Mx(0, "")), texts(Txt((b"\xff", b"", b'"\\')), "v=spf1 -all")]
    assert list(read_found(as_plain(sets)).sets.values()) == sets


def test_an_alias_is_no_record_set() -> None:
    """Where it leads to is kept; one that leads nowhere is none."""
    data = {"name": "a.example.com.", "type": "cname", "ttl": 5, "records": ["b.example.net."]}
    found = read_found([data, {"name": "c.example.com", "type": "CNAME", "values": []}])
    assert (found.sets, found.aliases) == ({}, {"a.example.com": "b.example.net"})


def test_values_are_given_back_as_they_were_written() -> None:
    """A provider may have its own escapes, and names that are relative to the zone."""
    there = [
        {"name": DOMAIN, "type": "MX", "values": [" 10 mail ", "20 MX.Other.example."]},
        {"name": DOMAIN, "type": "TXT", "values": [r'"\195\188"', "bare text", '"a" word']},
    ]
    found = read_found(there)
    servers, notes = found.sets.values()
    more = servers._replace(values=(*servers.values, OURS))
    assert found.spelled(more) == ["10 mail", "20 MX.Other.example.", "10 mail.example.net."]
    assert found.spelled(notes) == [r'"\195\188"', '"bare text"', '"a" "word"']


def test_octal_escapes_are_given_back_as_a_zone_file_has_them() -> None:
    """Two texts that look alike in decimal ones stay two."""
    there = [{"name": DOMAIN, "type": "TXT", "values": [r'"\303\251"', r'"\303\373"']}]
    found = read_found(there, escapes="octal")
    (notes,) = found.sets.values()
    assert found.spelled(notes) == [r'"\195\169"', r'"\195\251"']


def test_comments_are_kept_by_their_values() -> None:
    """Where a record has one."""
    records = [{"value": "20 mx.other.example.", "comment": "until May"}, {"value": "10 mail."}]
    found = read_found([{"name": DOMAIN, "type": "MX", "records": records}])
    (servers,) = found.sets.values()
    assert found.commented(servers) == ["until May", None]


def test_a_time_to_live_may_be_missing() -> None:
    """Then it is the given one."""
    data = {"name": DOMAIN, "type": "MX", "ttl": None, "values": ["10 mail.example.net"]}
    assert read_found([data], 77).sets == current(mx(OURS, ttl=77))


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (None, "input: this is no list. Give a list."),
        (7, "input: this is no list. Give a list."),
        ("text", "input: this is no list. Give a list."),
        ([{}, 7], "input, item 2: this is no mapping. Give name, type and values."),
        ([{"type": "MX"}], "input, item 1: name is missing. Give the name in full."),
        ([{"type": "MX", "name": "."}], "input, item 1: name is missing. Give the name in full."),
        ([{"name": "a.b"}], "a.b: type is missing. Give MX, TXT or another type."),
        ([{"name": "a.b", "type": "TXT"}],
         "a.b TXT: the values are missing. Give them as values."),
        ([{"name": "a.b", "type": "TXT", "values": 7}],
         "a.b TXT: values: this is neither a text nor a list of texts. Give one of them."),
        ([{"name": "a.b", "type": "TXT", "values": [7]}],
         "a.b TXT: a value is no text. Give each value as text."),
        ([{"name": "a.b", "type": "TXT", "records": [{"content": "x", "disabled": True}]}],
         ("a.b TXT: one of the records is disabled, which writing the record set would undo. "
         "Enable it or delete it first.")),
        ([{"name": "a.b", "type": "TXT", "ttl": "1h", "values": []}],
         "a.b TXT: ttl is '1h'. Give a number of seconds."),
        ([{"name": "a.b", "type": "TXT", "ttl": True, "values": []}],
         "a.b TXT: ttl is True. Give a number of seconds."),
        ([{"name": "a.b", "type": "MX", "value": "mail"}],
         ("a.b MX: 'mail' is not the value of an MX record. Write a priority and a host name, "
         "such as '10 mail.example.net.'.")),
        ([{"name": "a.b", "type": "MX", "value": "mail.example.net", "priority": 65536}],
         ("a.b MX: '65536 mail.example.net' is not the value of an MX record. Write a priority "
         "and a host name, such as '10 mail.example.net.'.")),
    ],
)  # fmt: skip
def test_what_is_no_record_set_is_refused(data: Any, sentence: str) -> None:
    """In one sentence with its place and what to give."""
    with pytest.raises(InvalidInput) as caught:
        read_found(data)
    assert str(caught.value) == sentence


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.binary(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(("name", "type", "values", "value", "ttl", "priority", "content")),
            inner | st.sampled_from(("MX", "TXT", "CNAME", "10 a.", '"x"')),
        )
    ),
    max_leaves=12,
)


@given(anything)
def test_no_data_raises_anything_else(data: Any) -> None:
    """Whatever somebody passes."""
    try:
        found = read_found(data)
    except InvalidInput as error:
        assert str(error)  # noqa: PT017
    else:
        assert all(isinstance(record_set, RecordSet) for record_set in found.sets.values())


def test_texts_are_read_in_both_notations() -> None:
    """Bare, or in quotes; nothing else is a text."""
    assert read_text('"v=spf1 " "-all"', "record") == read_text("v=spf1 -all", "record")
    with pytest.raises(InvalidInput, match="record: this is no text"):
        read_text(7, "record")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10 mail.example.net.", OURS),
        (" 10\tMAIL.example.net ", OURS),
        ("0 .", Mx(0, "")),
    ],
)
def test_mail_servers_are_read(text: str, value: Mx) -> None:
    """In any case, with or without the last dot."""
    assert read_rdata("MX", text) == value


def test_record_sets_are_lines_of_a_zone_file() -> None:
    """In columns, all values."""
    assert as_lines([mx(OURS, OTHER), keys("a", "b", ttl=5)]) == (
        "example.com.                    3600 IN MX  10 mail.example.net.\n"
        "example.com.                    3600 IN MX  20 mx.other.example.\n"
        'service._domainkey.example.com. 5    IN TXT "a"\n'
        'service._domainkey.example.com. 5    IN TXT "b"\n'
    )
