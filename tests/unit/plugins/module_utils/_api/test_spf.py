# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The grammar of SPF records, rule by rule."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.postroom.email.plugins.module_utils._api.errors import InvalidInput
from ansible_collections.postroom.email.plugins.module_utils._api.records import spf

LABEL_63 = "a" * 63
NAME_253 = ".".join([LABEL_63, LABEL_63, LABEL_63, "b" * 57, "com"])

# What terms are made of, right and wrong, so that joined they are near the grammar.
PIECES = st.sampled_from([
    "v=spf1", " ", "  ", "+", "-", "~", "?", "all", "include", "a", "MX", "ptr", "ip4", "ip6",
    "exists", "redirect", "exp", "moo", ":", "=", "/", "//", "example.com", ".", "1.2.3.4",
    "192.0.2.0", "2001:db8::", "%{d}", "%{ir}", "%{l1r-}", "%%", "%_", "%-", "%", "{", "}", "%{",
    "0", "24", "33", "129", "00", ",", ";", '"', "\t", "\n", "\x00", "é", "\udce9", "a" * 64,
])  # fmt: skip
NEARLY = st.lists(PIECES, max_size=14).map("".join)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v=spf1", True),
        ("v=spf1 ", True),
        ("V=SPF1 -all", True),
        ("v=spf1 nonsense", True),
        ("v=spf10", False),
        ("v=spf1\t-all", False),
        (" v=spf1", False),
        ("v=spf2.0/pra", False),
        ("spf1", False),
        ("", False),
    ],
)
def test_what_announces_itself_as_spf(text: str, expected: bool) -> None:
    """The version and a space or the end, in any case; what follows may be wrong."""
    assert spf.is_spf(text) is expected


@pytest.mark.parametrize(
    "term",
    [
        "all", "-all", "~ALL", "?all", "+all",
        "include:example.com", "INCLUDE:Example.COM.", "-include:%{d}", "include:a%{d}",
        "a", "a:example.com", "a/24", "a//64", "a/24//64", "a:example.com/0", "A:a.b//0",
        "mx", "mx/32//128", "mx:%{d}/24", "mx:%%%_/.Claranet.de/27", "~mx:example.com.",
        "ptr", "ptr:example.com",
        "ip4:192.0.2.1", "ip4:192.0.2.0/24", "ip4:0.0.0.0/0", "ip4:192.0.2.77/24",
        "ip6:2001:db8::1", "ip6:2001:DB8::/32", "ip6:::/0", "ip6:::ffff:192.0.2.1",
        "exists:%{i}._spf.%{d2}", "exists:%{ir}.%{v}.%{l1r+-}.lp._spf.%{d2}",
        "exists:%{i}.%{s1}.100/86400.rate.%{d}", "exists:%{L}.example.com", "exists:%{S100R/}",
        "redirect=_spf.example.com", "REDIRECT=%{d}.spf.example.com", "exp=exp.%{d}",
        "moo=", "moo.cow-far_out=man:dog/cat", "x=%{d}%%%_%-", "all=1", "a=b",
        "include:example.xn--p1ai", "include:example.a-b", "include:example.1-2",
        "a:_dmarc.exa$mple.com", f"a:{LABEL_63}.com", f"include:{NAME_253}", f"mx:{NAME_253}.",
    ],
)  # fmt: skip
def test_a_term_of_the_grammar_is_taken_as_it_is_written(term: str) -> None:
    """With its case, its dot at the end and its lengths; spaces around it do not matter."""
    read = spf.parse(f"v=spf1  {term}   ")
    assert [str(found) for found in read.terms] == [term]
    assert str(read) == f"v=spf1 {term}"
    assert spf.parse(str(read)) == read


@pytest.mark.parametrize(
    ("term", "problem"),
    [
        ("moo", "is no mechanism of SPF. Correct its name, or remove it."),
        ("a:example.com,", "names no full domain"),
        ("all,", "is no mechanism of SPF. Separate terms by spaces only."),
        ("-192.0.2.0/24", "is no mechanism of SPF. Write -ip4:192.0.2.0/24."),
        ("2001:db8::1", "is no mechanism of SPF. Write ip6:2001:db8::1."),
        ("ipv4:192.0.2.1", "is no mechanism of SPF"),
        ("--all", "is no mechanism of SPF"),
        ("-redirect=example.com", "is no mechanism of SPF"),
        ("=a", "is no mechanism of SPF"),
        ("~all:example.com", "has more than a qualifier. Write ~all."),
        ("all/24", "has more than a qualifier"),
        ("all:", "has more than a qualifier"),
        ("include", "names no domain. Write include: and the domain."),
        ("include/24", "names no domain"),
        ("include:", "names no full domain. Write one such as mail.example.com."),
        ("exists", "names no domain"),
        ("exists:", "names no full domain"),
        ("ptr:", "names no full domain"),
        ("ptr/24", "names no domain"),
        ("a:", "names no full domain"),
        ("a:/24", "names no full domain"),
        ("a:localhost", "names no full domain"),
        ("a:192.0.2.1", "names no full domain"),
        ("a:example.com:8080", "names no full domain"),
        ("a:example.-com", "names no full domain"),
        ("a:example.com-", "names no full domain"),
        ("a:example.com..", "names no full domain"),
        ("include:example.com/24", "names no full domain"),
        ("include:%{d}.", "names no full domain"),
        ("include:%{d}com", "names no full domain"),
        ("include:%{d}..com%_x", "names no full domain"),
        ("a/33", "has a network length that is not 0 to 32"),
        ("a//129", "has a network length that is not 0 to 128"),
        ("a/024", "has a network length that is not 0 to 32"),
        ("a//00", "has a network length that is not 0 to 128"),
        ("mx/" + "9" * 5000, "has a network length that is not 0 to 32"),
        ("a/", "cannot be read. Write it like a:example.com/24."),
        ("a///64", "cannot be read"),
        ("mx//64/24", "cannot be read"),
        ("ip4", "is not an IPv4 address or network. Write it like ip4:192.0.2.0/24."),
        ("ip4:", "is not an IPv4 address"),
        ("ip4:192.0.2", "is not an IPv4 address"),
        ("ip4:192.0.2.256", "is not an IPv4 address"),
        ("ip4:192.0.2.01", "is not an IPv4 address"),
        ("ip4:192.0.2.1/255.255.255.0", "is not an IPv4 address"),
        ("ip4:192.0.2.1//32", "is not an IPv4 address"),
        ("ip4:2001:db8::1", "is not an IPv4 address"),
        ("ip4:192.0.2.1/33", "has a network length that is not 0 to 32"),
        ("ip4:192.0.2.1/024", "has a network length"),
        ("ip6:192.0.2.1", "is not an IPv6 address or network. Write it like ip6:2001:db8::/32."),
        ("ip6:2001:db8:zz::", "is not an IPv6 address"),
        ("ip6:fe80::1%eth0", "is not an IPv6 address"),
        ("ip6:2001:db8::/129", "has a network length that is not 0 to 128"),
        ("redirect=", "names no full domain"),
        ("redirect=localhost", "names no full domain"),
        ("exp=", "names no full domain"),
        ("exists:%", "has a macro that SPF does not know"),
        ("exists:%{}.example.com", "has a macro that SPF does not know"),
        ("exists:%{d.example.com", "has a macro that SPF does not know"),
        ("exists:%{x}.example.com", "has a macro that SPF does not know"),
        ("exists:%{d0}.example.com", "has a macro that SPF does not know"),
        ("exists:%{dr2}.example.com", "has a macro that SPF does not know"),
        ("exists:%{d!}.example.com", "has a macro that SPF does not know"),
        ("exists:%{c}.example.com", "has a macro that SPF does not know"),
        ("moo=%x", "has a macro that SPF does not know"),
        ("moo=%{t}", "has a macro that SPF does not know"),
        ("a:b\u00fccher.example", "has a character that SPF does not allow"),
        ("all\t", "has a character that SPF does not allow"),
        ("all\n", "has a character that SPF does not allow"),
        (f"a:a{LABEL_63}.com", "names a domain that DNS cannot hold"),
        (f"a:a.{NAME_253}", "names a domain that DNS cannot hold"),
        ("a:example..com", "names a domain that DNS cannot hold"),
        ("a:.com", "names a domain that DNS cannot hold"),
    ],
)
def test_a_wrong_term_is_named_with_the_remedy(term: str, problem: str) -> None:
    """One line says which term it is, what is wrong and what to write."""
    with pytest.raises(spf.SpfError) as raised:
        spf.parse(f"v=spf1 ip4:192.0.2.0/24 {term} -all")
    message = str(raised.value)
    assert message.startswith("The SPF term ")
    assert problem in message
    assert message.endswith(".")
    assert message.isascii()
    assert "\n" not in message
    assert len(message) < 300


@pytest.mark.parametrize("name", ["redirect", "exp", "Redirect"])
def test_what_may_stand_once_stands_once(name: str) -> None:
    """A second redirect or exp is an error, wherever it stands; other modifiers may be repeated."""
    with pytest.raises(spf.SpfError, match=f"is a second {name.lower()}=. Leave only one"):
        spf.parse(f"v=spf1 {name.lower()}=a.example.com -all {name}=b.example.com")
    assert len(spf.parse("v=spf1 moo=1 moo=2").terms) == 2


def test_what_is_not_spf_is_no_record() -> None:
    """The sentence says how a record begins."""
    with pytest.raises(InvalidInput, match=r'"v=spf10 -all" is not an SPF record. Begin it with'):
        spf.parse("v=spf10 -all")


def test_a_term_in_its_parts() -> None:
    """Qualifier, name, value and target; whether it is a modifier."""
    mx, include, redirect, network = spf.parse(
        "v=spf1 -MX:Example.com/24//64 include:a.example Redirect=b.example ip6:2001:db8::/32"
    ).terms
    assert mx[:3] == ("-", "mx", ":Example.com/24//64")
    assert (mx.effective, mx.target, mx.is_modifier) == ("-", "Example.com", False)
    assert (include.effective, include.target, include.is_modifier) == ("+", "a.example", False)
    assert (redirect.name, redirect.target, redirect.is_modifier) == ("redirect", "b.example", True)
    assert network.target == "2001:db8::"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("include:Example.com.", "-INCLUDE:example.COM", True),
        ("include:example.com", "include:example.net", False),
        ("include:example.com", "a:example.com", False),
        ("a", "A/32//128", True),
        ("mx/32//64", "mx//64", True),
        ("mx/24", "mx//24", False),
        ("a:example.com./24", "a:EXAMPLE.com/24", True),
        ("ip4:192.0.2.77/24", "ip4:192.0.2.0/24", True),
        ("ip4:192.0.2.1", "ip4:192.0.2.1/32", True),
        ("ip4:192.0.2.1", "ip4:192.0.2.1/31", False),
        ("ip6:2001:DB8:0::/32", "ip6:2001:db8::/32", True),
        ("exists:%{S}.example.com", "exists:%{s}.example.com", False),
        ("redirect=A.example", "redirect=a.example.", True),
        ("moo=A", "moo=a", False),
        ("include=example.com", "include:example.com", False),
    ],
)
def test_terms_that_mean_the_same(one: str, other: str, same: bool) -> None:
    """Names in any case and with or without the last dot, networks as such, default lengths."""
    first, second = (spf.parse(f"v=spf1 {text}").terms[0] for text in (one, other))
    assert (first.key == second.key) is same


def test_what_is_before_all() -> None:
    """The first `all` ends the evaluation; modifiers are found wherever they stand."""
    record = spf.parse("v=spf1 a exp=e.example ?ALL mx -all redirect=r.example")
    assert [str(term) for term in record.before_all] == ["a", "exp=e.example"]
    assert str(record.modifier("redirect")) == "redirect=r.example"
    assert record.modifier("moo") is None
    assert spf.parse("v=spf1 a mx").first_all == 2


@given(st.one_of(st.text(), NEARLY, NEARLY.map("v=spf1 {}".format)))
def test_no_text_raises_anything_else(text: str) -> None:
    """Whatever it is, it is a record or an SpfError; a record survives being written."""
    with contextlib.suppress(spf.SpfError):
        record = spf.parse(text)
        assert spf.parse(str(record)) == record
        assert all(isinstance(term.key, tuple) for term in record.terms)


@pytest.mark.parametrize(
    "value",
    ["a:" + "b" * 60_000 + "!", "a:" + "1/" * 30_000, "a:" + "%{d" * 20_000, "a" + "/1" * 30_000,
     "x=" + "%{d000" * 10_000, "ip6:" + ":" * 60_000, "1" * 60_000, "a:" + "a.-" * 20_000],
)  # fmt: skip
def test_a_text_as_long_as_dns_carries_is_read_at_once(value: str) -> None:
    """No rule tries its ways over and over: the processor is busy for less than a second."""
    before = time.process_time()
    with pytest.raises(spf.SpfError):
        spf.parse(f"v=spf1 {value}")
    assert time.process_time() - before < 1
