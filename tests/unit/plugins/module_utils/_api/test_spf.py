# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""SPF records: their grammar, merging the service's terms, and counting lookups."""

from __future__ import annotations

import re

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.dns import spf
from ansible_collections.postroom.email.plugins.module_utils._api.dns.spf import SpfError
from ansible_collections.postroom.email.plugins.module_utils._api.dns.spf_lookups import (
    Cost,
    count,
    limited,
)
from ansible_collections.postroom.email.plugins.module_utils._api.errors import (
    InvalidInput,
    Refused,
)

LABEL_63 = "a" * 63
NAME_253 = ".".join([LABEL_63, LABEL_63, LABEL_63, "b" * 57, "com"])


def test_what_announces_itself_as_spf() -> None:
    """An SPF record is the version in any case, either alone or followed by a space and terms."""
    texts = "v=spf1", "V=SPF1 -all", "v=spf10", "v=spf1\t-all"
    assert list(map(spf.is_spf, texts)) == [True, True, False, False]
    with pytest.raises(spf.SpfError):
        spf.parse("v=spf10")


@pytest.mark.parametrize(
    "term",
    [
        "?all",
        "INCLUDE:Example.COM.",
        "-include:%{d}",
        "a",
        "a/24//64",
        "a:example.com/0",
        "ptr:example.com",
        "ip6:::ffff:192.0.2.1",
        "exists:%{ir}.%{v}.%{l1r+-}.lp._spf.%{d2}",
        "exists:%{S100R/}",
        "exp=exp.%{d}",
        "moo=",
        "moo.cow-far_out=man:dog/cat",
        "x=%{d}%%%_%-",
        "a:_dmarc.exa$mple.com",
        f"a:{LABEL_63}.com",
        f"mx:{NAME_253}.",
    ],
)
def test_a_valid_term_is_kept_as_it_is_written(term: str) -> None:
    """A valid term keeps its case and its final dot. Spaces around it are ignored."""
    read = spf.parse(f"v=spf1  {term}   ")
    assert [str(found) for found in read.terms] == [term]


WRONG = [
    *("moo", "ipv4:192.0.2.1", "--all", "-redirect=example.com", "=a", "all,", "-192.0.2.0/24"),
    *("2001:db8::1", "~all:example.com", "all/24", "all:", "include", "ptr/24", "include:"),
    *("a:localhost", "a:192.0.2.1", "a:example.com:8080", "a:example.-com", "a:example.com.."),
    *("include:%{d}.", "redirect=", "a/33", "mx/" + "9" * 5000, "ip4:192.0.2.1/024", "a//129"),
    *("ip6:2001:db8::/129", "a/", "a///64", "ip4", "ip4:192.0.2.256", "ip4:192.0.2.1//32"),
    *("ip4:192.0.2.1/255.255.255.0", "ip6:192.0.2.1", "ip6:2001:db8:zz::", "ip6:fe80::1%eth0"),
    *("exists:%{}.example.com", "exists:%{d.example.com", "exists:%{d0}.example.com"),
    *("exists:%{c}.example.com", "moo=%{t}", "a:b\u00fccher.example", "all\t", "all\n"),
    *(f"a:a{LABEL_63}.com", f"a:a.{NAME_253}", "a:example..com"),
]


@pytest.mark.parametrize("term", WRONG)
def test_an_invalid_term_is_named(term: str) -> None:
    """The error for an invalid term quotes it in one short printable line."""
    with pytest.raises(spf.SpfError) as raised:
        spf.parse(f"v=spf1 ip4:192.0.2.0/24 {term} -all")
    message = str(raised.value)
    assert message.startswith(f'The SPF term "{term[:1]}')
    assert message.isascii()
    assert message.isprintable()
    assert len(message) < 300


@pytest.mark.parametrize("name", ["redirect", "exp", "Redirect"])
def test_what_may_stand_once_stands_once(name: str) -> None:
    """A second `redirect` or `exp` is an error, but other modifiers may be repeated."""
    with pytest.raises(spf.SpfError, match=f"{name}=b.example.com"):
        spf.parse(f"v=spf1 {name.lower()}=a.example.com -all {name}=b.example.com")
    assert len(spf.parse("v=spf1 moo=1 moo=2").terms) == 2


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("include:Example.com.", "-INCLUDE:example.COM", True),
        ("include:example.com", "include:example.net", False),
        ("a", "A/32//128", True),
        ("mx/32//64", "mx//64", True),
        ("mx/24", "mx//24", False),
        ("ip4:192.0.2.77/24", "ip4:192.0.2.0/24", True),
        ("ip6:2001:DB8:0::/32", "ip6:2001:db8::/32", True),
        ("exists:%{S}.example.com", "exists:%{s}.example.com", False),
        ("include=example.com", "include:example.com", False),
    ],
)
def test_terms_that_mean_the_same(one: str, other: str, same: bool) -> None:
    """Terms that differ only in case, a final dot or default lengths are equivalent."""
    first, second = (spf.parse(f"v=spf1 {text}").terms[0] for text in (one, other))
    assert (first.key == second.key) is same


@pytest.mark.parametrize(
    "value",
    ["a:" + "1/" * 30_000, "a:" + "%{d" * 20_000, "ip6:" + ":" * 60_000],
)
def test_a_text_as_long_as_dns_carries_is_read_at_once(value: str) -> None:
    """The longest texts that DNS allows are parsed quickly, without excessive backtracking."""
    with pytest.raises(spf.SpfError):
        spf.parse(f"v=spf1 {value}")


OURS = "v=spf1 include:ours.example ~all"
OTHER_TEXT = "google-site-verification=abc"


MERGED = {
    "v=spf1": "v=spf1 include:ours.example",
    "V=SPF1 A:Example.COM. -ALL": "V=SPF1 A:Example.COM. include:ours.example -ALL",
    "v=spf1 redirect=r.example -a": "v=spf1 redirect=r.example -a include:ours.example",
    "v=spf1 exp=e.example ?all": "v=spf1 exp=e.example include:ours.example ?all",
    "v=spf1 a -all mx ~all": "v=spf1 a include:ours.example -all mx ~all",
    "v=spf1 all a Include:OURS.example.": (
        "v=spf1 include:ours.example all a Include:OURS.example."
    ),
    "v=spf1 +include:OURS.example a include:ours.example": None,
    "v=spf1 include=ours.example": "v=spf1 include:ours.example include=ours.example",
    # A record that already contains the include, and that keeps its spaces.
    "v=spf1 a include:ours.example redirect=r.example": None,
    "V=SPF1   +INCLUDE:OURS.Example.  ?all ": None,
}


@pytest.mark.parametrize("current", MERGED)
def test_the_include_is_merged(current: str) -> None:
    """The include is added before the first `all` or after the last mechanism."""
    merged = MERGED[current] or current
    assert spf.merge([OTHER_TEXT, current, "v=spf10"], OURS) == merged
    assert spf.merge([merged], OURS) == merged


def test_without_an_spf_record_the_services_is_published_as_it_is() -> None:
    """If there is no SPF record, the service's own record is published unchanged."""
    texts = [OTHER_TEXT, "v=spf10 -all", "x v=spf1"]
    assert spf.merge(texts, OURS) == OURS


@pytest.mark.parametrize(
    ("wanted", "merged"),
    [
        (
            "v=spf1 a:mail.example.net include:ours.example ip4:192.0.2.7 -all",
            "v=spf1 mx ip4:192.0.2.7/32 a:mail.example.net include:ours.example ~all exp=e.example",
        ),
        (
            "v=spf1 exp=E.example. ?include:i.example",
            "v=spf1 mx ip4:192.0.2.7/32 ?include:i.example ~all exp=e.example",
        ),
    ],
)
def test_the_service_may_want_more_terms_than_an_include(wanted: str, merged: str) -> None:
    """All missing terms of the service, except its `all`, are added in order."""
    current = "v=spf1 mx ip4:192.0.2.7/32 ~all exp=e.example"
    assert spf.merge([current], wanted) == merged


@pytest.mark.parametrize(
    ("current", "words"),
    [
        (
            "v=spf1 -include:OURS.example ~all",
            "has -include:OURS.example, but the service requires include:ours.example.",
        ),
        ("v=spf1 include:ours.example ?include:ours.example", "has ?include:ours.example"),
        ("v=spf1 ~all ~include:ours.example", "has ~include:ours.example"),
    ],
)
def test_another_qualifier_is_the_owners_decision(current: str, words: str) -> None:
    """An owner's term with another qualifier is a conflict, and the message quotes the term."""
    with pytest.raises(spf.SpfConflict, match=re.escape(words)):
        spf.merge([current], OURS)


def test_a_modifier_of_the_service_cannot_be_merged() -> None:
    """A modifier of the service can't be merged, because it would affect all senders."""
    with pytest.raises(Refused, match=r"redirect=r.example"):
        spf.merge(["v=spf1 a -all"], "v=spf1 redirect=r.example")
    wanted = "v=spf1 a:mail.example.net redirect=r.example"
    assert spf.merge([], wanted) == wanted
    assert spf.withdraw(wanted, wanted) is None


def test_several_records_are_the_owners_decision() -> None:
    """Several SPF records are a conflict, and no merged record is proposed."""
    with pytest.raises(spf.SpfConflict, match="There are 2 SPF records") as raised:
        spf.merge([OTHER_TEXT, "v=spf1 a ~all", "v=spf1 mx ~all"], OURS)
    assert raised.value.reason == "spf_several"


def test_an_invalid_record_is_not_changed() -> None:
    """An invalid record is not changed, and the message quotes the invalid term."""
    text = "v=spf1 ipv4:1.2.3.4 -all"
    with pytest.raises(InvalidInput, match=r'SPF term "ipv4:1.2.3.4"'):
        spf.merge([text], OURS)
    with pytest.raises(InvalidInput, match=r'SPF term "ipv4:1.2.3.4"'):
        spf.withdraw(text, OURS)


WITHDRAWN = {
    "v=spf1  +INCLUDE:ours.example. ~ALL": "v=spf1  ~ALL",
    "v=spf1 include:ours.example -all": "v=spf1 -all",
    "v=spf1 include:ours.example A -all Include:ours.example": "v=spf1 A -all",
    "v=spf1 include:ours.example -include:ours.example": "v=spf1 -include:ours.example",
    "v=spf1   ~all": "v=spf1   ~all",
    OURS: None,
}


@pytest.mark.parametrize("current", WITHDRAWN)
def test_withdrawing_removes_the_services_terms(current: str) -> None:
    """Withdrawing removes only the service's terms, or a record that is exactly the service's."""
    assert spf.withdraw(current, OURS) == WITHDRAWN[current]


@pytest.mark.parametrize(
    "owners",
    [
        "v=spf1 ~all",
        "V=SPF1  a   -mx   ~ALL ",
        "v=spf1",
        "v=spf1 A redirect=R.example",
        "v=spf1  a  mx",
    ],
)
def test_withdrawing_restores_the_owners_record(owners: str) -> None:
    """Withdrawing after merging restores the owner's record, byte for byte."""
    merged = spf.merge([owners], OURS)
    assert merged != owners
    assert spf.withdraw(merged, OURS) == owners


HOME = "example.com"
SILENT = "silent.example"
Types = dict[str, tuple[str, ...]]

FOUR: Types = {"A": ("192.0.2.1",)}
SIX: Types = {"AAAA": ("2001:db8::1",)}
BOTH = FOUR | SIX


class World:
    """A resolver that reads from a dictionary and records the queries."""

    def __init__(self, names: dict[str, Types]) -> None:
        self.names = {"host.example": BOTH, HOME: BOTH, "four.example": FOUR, "six.example": SIX}
        self.names |= names
        self.asked: list[tuple[str, str]] = []

    def __call__(self, name: str, kind: str) -> tuple[str, ...] | None:
        """Answer a query. For one name, this always fails."""
        self.asked.append((name, kind))
        return None if name == SILENT else self.names.get(name, {}).get(kind, ())


def spf_record(text: str) -> Types:
    """Return TXT records: an SPF record and another text."""
    return {"TXT": ("another=text", text)}


def cost(text: str, **names: Types) -> Cost:
    """Count a record's lookups, given the records of these names below `example`."""
    return count(text, HOME, World({f"{name}.example": types for name, types in names.items()}))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v=spf1 ip4:192.0.2.0/24 ip6:2001:db8::/32 -all", Cost(0, 0)),
        ("v=spf1 ptr ptr:host.example exp=nowhere.example moo=a ?all", Cost(2, 0)),
        ("v=spf1 exists:host.example exists:%{ir}.example a:%{d} mx:%{d2} -all", Cost(4, 0)),
        ("v=spf1 a -all a a redirect=nowhere.example", Cost(1, 0)),
        # Only IPv4 senders are considered. They need no AAAA records.
        ("v=spf1 a:four.example a:six.example -all", Cost(2, 1)),
        ("v=spf1 a:four.example exists:six.example -all", Cost(2, 1)),
        # A failed lookup does not count as void, and is listed once.
        (
            "v=spf1 a:silent.example mx:silent.example include:silent.example exists:no.example",
            Cost(4, 1, unknown=(SILENT,)),
        ),
        (
            "v=spf1 include:%{d}.example a:%{i}.example redirect=%{d2}.example",
            Cost(3, 0, unknown=("include:%{d}.example", "redirect=%{d2}.example")),
        ),
    ],
)
def test_what_counts(text: str, expected: Cost) -> None:
    """Mechanisms count if they precede the first `all`. A redirect counts if there is no `all`."""
    assert cost(text)._replace(by_term=()) == expected
    assert not expected.too_many


def test_included_records_count_as_well() -> None:
    """Lookups in included and redirected records count at any depth."""
    found = cost(
        "v=spf1 include:One.example. mx -all",
        one=spf_record("v=spf1 a:host.example include:two.example redirect=three.example"),
        two=spf_record("v=spf1 a:host.example a:host.example ~all a a a"),
        three=spf_record("v=spf1 exists:host.example -all"),
    )
    assert (found.lookups, found.problem) == (8, None)
    twice = cost("v=spf1 include:one.example include:one.example", one=spf_record("v=spf1 a ~all"))
    assert (twice.lookups, twice.problem) == (4, None)


def test_every_host_of_an_mx_is_looked_up() -> None:
    """Up to ten hosts of an MX record are looked up. A host without an address is void."""
    found = cost(
        "v=spf1 mx:mail.example mx:none.example -all",
        mail={"MX": ("host.example", "no.example", "Host.Example.")},
        none={"MX": ("",)},
    )
    by_term = (("mx:mail.example", 1), ("mx:none.example", 1))
    assert found == Cost(2, 1, by_term=by_term)
    assert cost("v=spf1 mx:mail.example", mail={"MX": ("host.example",) * 10}).lookups == 1
    hosts = tuple(f"h{number}.example" for number in range(11))
    problem = cost("v=spf1 mx:mail.example -all", mail={"MX": hosts}).problem
    assert problem is not None
    assert problem.startswith("example.com has mx:mail.example, and mail.example has 11 MX")


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ({}, "example.com has include:one.example, but one.example has no SPF record"),
        ({"TXT": ("v=spf1 a", "V=SPF1")}, "but one.example has 2 SPF records"),
        (spf_record("v=spf1 moo -all"), 'invalid: The SPF term "moo"'),
        (
            spf_record("v=spf1 include:EXAMPLE.com. -all"),
            "one.example has include:EXAMPLE.com., which",
        ),
        (spf_record("v=spf1 include:no.example redirect=nor.example"), "but no.example has no SPF"),
    ],
)
def test_an_invalid_record_is_named(record: Types, problem: str) -> None:
    """The error for an invalid record names the term that leads to this record."""
    found = cost("v=spf1 include:one.example -all", one=record)
    assert found.problem is not None
    assert problem in found.problem


def test_questions_end_with_the_time() -> None:
    """Queries stop at the deadline, and the remaining ones count as failed."""
    now = [0.0]
    asked: list[str] = []

    def slow(name: str, _kind: str) -> None:
        now[0] += 4
        asked.append(name)

    text = "v=spf1 " + " ".join(f"include:s{number}.example" for number in range(9))
    found = count(text, HOME, limited(slow, 10, lambda: now[0]))
    assert asked == ["s0.example", "s1.example", "s2.example"]
    assert (found.lookups, len(found.unknown)) == (9, 9)


def test_ten_are_allowed_and_eleven_are_not() -> None:
    """Ten lookups are allowed. Further ones are counted without being sent."""
    ten = "v=spf1" + " a:host.example" * 10
    world = World({})
    assert count(ten, HOME, world) == Cost(10, 0, by_term=(("a:host.example", 1),) * 10)
    assert len(world.asked) == 10
    found = count(f"{ten} include:one.example mx -all", HOME, world)
    assert (found.lookups, found.too_many) == (12, True)
    with pytest.raises(SpfError):
        count("v=spf1 a moo", HOME, world)
    assert len(world.asked) == 20
    assert cost("v=spf1 exists:no.example mx:no.example a:no.example -all").too_many
