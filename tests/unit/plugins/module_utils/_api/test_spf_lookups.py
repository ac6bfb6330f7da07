# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What an SPF record costs in look-ups, over a DNS that is a dictionary."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.postroom.email.plugins.module_utils._api.records.lookups import (
    Cost,
    Lookup,
    count,
    within,
)
from ansible_collections.postroom.email.plugins.module_utils._api.records.spf import SpfError

HOME = "example.com"
SILENT = "silent.example"
Types = dict[str, tuple[str, ...]]

ADDRESSES: Types = {"A": ("192.0.2.1",), "AAAA": ("2001:db8::1",)}


class World:
    """Answers questions from a dictionary, and keeps what was asked."""

    def __init__(self, names: dict[str, Types]) -> None:
        self.names = names
        self.asked: list[tuple[str, str]] = []

    def __call__(self, name: str, kind: str) -> Lookup:
        """Answer one question; a name of which nobody says anything fails."""
        self.asked.append((name, kind))
        if name == SILENT:
            return Lookup("failed")
        values = self.names.get(name, {}).get(kind, ())
        return Lookup("found", values) if values else Lookup("void")


def spf(text: str) -> Types:
    """Return a name with an SPF record, beside which stands another text."""
    return {"TXT": ("another=text", text)}


def cost(text: str, **names: Types) -> Cost:
    """Count for a world of names below `example`, and one with addresses of both families."""
    world = {f"{name}.example": types for name, types in names.items()}
    return count(text, HOME, World({"host.example": ADDRESSES, HOME: ADDRESSES} | world))


@pytest.mark.parametrize(
    ("text", "lookups"),
    [
        ("v=spf1", 0),
        ("v=spf1 ip4:192.0.2.0/24 ip6:2001:db8::/32 -all", 0),
        ("v=spf1 a a:host.example/24 -all", 2),
        ("v=spf1 ptr ptr:host.example exp=nowhere.example moo=a ?all", 2),
        ("v=spf1 exists:host.example exists:%{ir}.example a:%{d} mx:%{d2} -all", 4),
        ("v=spf1 a -all a a a", 1),
        ("v=spf1 a -all redirect=nowhere.example", 1),
        ("v=spf1 redirect=nowhere.example all", 0),
    ],
)
def test_what_counts(text: str, lookups: int) -> None:
    """Mechanisms that ask, up to the first `all`; a redirect only where there is no `all`."""
    assert cost(text) == Cost(lookups, 0)


def test_included_records_count_as_well() -> None:
    """Each include is one and what its record takes; so is a redirect, at any depth."""
    found = cost(
        "v=spf1 include:One.example. mx -all",
        one=spf("v=spf1 a:host.example include:two.example redirect=three.example"),
        two=spf("v=spf1 a:host.example a:host.example ~all a a a"),
        three=spf("v=spf1 exists:host.example -all"),
    )
    assert found.lookups == 8
    assert found.problem is None


def test_what_finds_nothing_is_counted_by_family() -> None:
    """A sender of IPv4 has no AAAA asked for, and the other way round."""
    four: Types = {"A": ("192.0.2.1",)}
    six: Types = {"AAAA": ("2001:db8::1",)}
    assert cost("v=spf1 a:four.example -all", four=four) == Cost(1, 0, voids_ipv6=1)
    found = cost("v=spf1 a:four.example a:six.example -all", four=four, six=six)
    assert found == Cost(2, 1, voids_ipv6=1)
    # Whoever sends, `exists` asks for A.
    found = cost("v=spf1 a:four.example exists:six.example -all", four=four, six=six)
    assert found == Cost(2, 1, voids_ipv6=2)
    assert cost("v=spf1 exists:no.example mx:no.example a:no.example -all").too_many


def test_hosts_of_ipv4_alone_are_not_too_many() -> None:
    """Whoever mails by IPv4 finds every address; by IPv6, this domain mails nothing."""
    four: Types = {"A": ("192.0.2.1",)}
    found = cost("v=spf1 a:h1.example a:h2.example a:h3.example -all", h1=four, h2=four, h3=four)
    assert found == Cost(3, 0, voids_ipv6=3)
    assert not found.too_many


def test_every_host_of_an_mx_is_asked_for() -> None:
    """Those without an address find nothing; a null MX has no host."""
    found = cost(
        "v=spf1 mx:mail.example mx:none.example -all",
        mail={"MX": ("host.example", "no.example", "Host.Example.")},
        none={"MX": ("",)},
    )
    assert found == Cost(2, 1, voids_ipv6=1)


def test_an_mx_of_more_than_ten_hosts_is_an_error() -> None:
    """Ten are allowed."""
    hosts = tuple(f"h{number}.example" for number in range(11))
    found = cost("v=spf1 mx:mail.example -all", mail={"MX": hosts})
    assert found.problem == (
        "example.com has mx:mail.example, and mail.example has 11 MX records where 10 are allowed"
    )
    assert cost("v=spf1 mx:mail.example", mail={"MX": ("host.example",) * 10}) == Cost(1, 0)


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (None, "example.com has include:one.example, but one.example has no SPF record"),
        ({"TXT": ("other",)}, "has include:one.example, but one.example has no SPF record"),
        ({"TXT": ("v=spf1 a", "V=SPF1")}, "but one.example has 2 SPF records"),
        (
            spf("v=spf1 moo -all"),
            'and the record there is malformed: The SPF term "moo" is no mechanism of SPF.',
        ),
        (
            spf("v=spf1 include:EXAMPLE.com. -all"),
            "one.example has include:EXAMPLE.com., which leads back to itself",
        ),
        (
            spf("v=spf1 redirect=one.example"),
            "one.example has redirect=one.example, which leads back to itself",
        ),
        (
            spf("v=spf1 include:no.example redirect=nor.example"),
            "one.example has include:no.example, but no.example has no SPF record",
        ),
    ],
)
def test_a_record_that_does_not_hold(record: Types | None, problem: str) -> None:
    """The first record in the way of evaluation is named, with the term that leads to it."""
    found = cost("v=spf1 include:one.example -all", **({"one": record} if record else {}))
    assert found.problem is not None
    assert problem in found.problem
    assert not found.problem.endswith(".")


def test_a_record_may_be_included_twice() -> None:
    """That is no loop, only dear."""
    found = cost("v=spf1 include:one.example include:one.example -all", one=spf("v=spf1 a ~all"))
    assert found.problem is None
    assert found.lookups == 4


def test_what_nobody_answers_is_not_void() -> None:
    """It is told apart, once for each name, and what it leads to is not made up."""
    text = "v=spf1 a:silent.example mx:silent.example include:silent.example exists:no.example -all"
    assert cost(text) == Cost(4, 1, failed=(SILENT,), voids_ipv6=1)


def test_questions_end_with_the_time() -> None:
    """Everything that is not answered by then has failed, without being asked."""
    now = [0.0]
    asked: list[str] = []

    def slow(name: str, _kind: str) -> Lookup:
        now[0] += 4
        asked.append(name)
        return Lookup("failed")

    text = "v=spf1 " + " ".join(f"include:s{number}.example" for number in range(9))
    found = count(text, HOME, within(10, slow, lambda: now[0]))
    assert asked == ["s0.example", "s1.example", "s2.example"]
    assert (found.lookups, len(found.failed)) == (9, 9)


def test_names_that_depend_on_the_sender_are_not_followed() -> None:
    """They are counted, and records so named are told, as the count may be higher."""
    text = "v=spf1 include:%{d}.example a:%{i}.example redirect=%{d2}.example"
    expected = ("include:%{d}.example", "redirect=%{d2}.example")
    assert cost(text) == Cost(3, 0, unfollowed=expected)


def test_ten_are_allowed_and_eleven_are_not() -> None:
    """Those behind the limit are counted as far as they are known, and not asked for."""
    world = World({"host.example": ADDRESSES})
    ten = "v=spf1" + " a:host.example" * 10
    assert count(ten, HOME, world) == Cost(10, 0)
    assert len(world.asked) == 20
    found = count(f"{ten} include:one.example mx -all", HOME, world)
    assert (found.lookups, found.too_many) == (12, True)
    assert len(world.asked) == 40
    assert not count(ten, HOME, world).too_many


def test_a_malformed_record_costs_nothing() -> None:
    """It is the grammar's error, before anything is asked."""
    world = World({})
    with pytest.raises(SpfError):
        count("v=spf1 a moo", HOME, world)
    assert not world.asked


@given(st.data())
def test_every_count_ends(data: st.DataObject) -> None:
    """However records lead to each other, few questions are asked and no error is raised."""
    names = [f"n{number}.example" for number in range(4)]
    terms = st.one_of(
        st.sampled_from(["a", "mx", "ptr", "-all", "moo", SILENT]),
        st.builds("{}{}".format, st.sampled_from(["include:", "redirect=", "mx:", "a:"]),
                  st.sampled_from([*names, HOME, SILENT, "%{d}.example"])),
    )  # fmt: skip
    records = st.lists(terms, max_size=14).map(lambda found: " ".join(["v=spf1", *found]))
    hosts = st.lists(st.sampled_from(names)).map(tuple)
    world = World({name: {"TXT": (data.draw(records),), "MX": data.draw(hosts)} for name in names})
    found = count("v=spf1 include:n0.example include:n1.example redirect=n2.example", HOME, world)
    assert len(world.asked) <= 10 * (1 + 2 * 10)
    assert found.lookups >= 3
