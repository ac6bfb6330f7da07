# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The service's SPF terms into a record and out of it, with what else stands there untouched."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ansible_collections.postroom.email.plugins.module_utils._api.errors import (
    InvalidInput,
    Refused,
)
from ansible_collections.postroom.email.plugins.module_utils._api.records import merging, spf

OURS = "v=spf1 include:ours.example ~all"
OTHER_TEXT = "google-site-verification=abc"

FOREIGN = st.sampled_from([
    "a", "-mx", "?a:Example.com./24", "ip4:192.0.2.0/24", "-ip6:2001:db8::/32", "ptr",
    "include:_spf.example.org", "~exists:%{ir}.example.org", "moo=cow", "A", "+mx",
])  # fmt: skip
MINE = st.sampled_from(["include:ours.example", "+INCLUDE:OURS.example."])
ALL = st.sampled_from(["all", "-all", "~all", "?ALL"])
ENDING = st.sampled_from(
    ["redirect=r.example", "exp=e.example", "redirect=r.example exp=e.example"]
)
RECORDS = st.tuples(
    st.lists(st.one_of(FOREIGN, FOREIGN, MINE, ALL), max_size=6), st.one_of(st.just(""), ENDING)
).map(lambda parts: " ".join(filter(None, ["v=spf1", *parts[0], parts[1]])))
GARBAGE = st.one_of(
    st.text(),
    st.lists(st.one_of(FOREIGN, MINE, ALL, ENDING, st.sampled_from([" ", "moo", "a:", "%", "é"])))
    .map(" ".join)
    .map("v=spf1 {}".format),
)


def meaning(text: str) -> list[tuple[str, tuple[str, str]]]:
    """Return what decides in a record, in its order, and its modifiers."""
    record = spf.parse(text)
    decisive = record.before_all + record.terms[record.first_all :][:1]
    mechanisms = [(term.effective, term.key) for term in decisive if not term.is_modifier]
    return mechanisms + sorted(("", term.key) for term in record.terms if term.is_modifier)


@pytest.mark.parametrize(
    ("current", "merged"),
    [
        ("v=spf1", "v=spf1 include:ours.example"),
        ("v=spf1 -all", "v=spf1 include:ours.example -all"),
        ("v=spf1  a   -mx ~all ", "v=spf1 a -mx include:ours.example ~all"),
        ("V=SPF1 A:Example.COM. -ALL", "v=spf1 A:Example.COM. include:ours.example -ALL"),
        ("v=spf1 a mx", "v=spf1 a mx include:ours.example"),
        ("v=spf1 a exp=e.example", "v=spf1 a include:ours.example exp=e.example"),
        ("v=spf1 redirect=r.example", "v=spf1 include:ours.example redirect=r.example"),
        ("v=spf1 a redirect=r.example", "v=spf1 a include:ours.example redirect=r.example"),
        ("v=spf1 redirect=r.example -a", "v=spf1 redirect=r.example -a include:ours.example"),
        (
            "v=spf1 redirect=r.example ?all",
            "v=spf1 redirect=r.example include:ours.example ?all",
        ),
        ("v=spf1 a -all mx ~all", "v=spf1 a include:ours.example -all mx ~all"),
        ("v=spf1 -all include:ours.example", "v=spf1 include:ours.example -all"),
        ("v=spf1 all a Include:OURS.example.", "v=spf1 include:ours.example all a"),
        (
            "v=spf1 +include:OURS.example a include:ours.example -all include:ours.example",
            "v=spf1 +include:OURS.example a -all",
        ),
        (
            "v=spf1 include=ours.example",
            "v=spf1 include:ours.example include=ours.example",
        ),
    ],
)
def test_the_include_goes_where_it_is_read(current: str, merged: str) -> None:
    """Before the first `all`, else behind the last mechanism; once; the rest as it is written."""
    texts = [OTHER_TEXT, current, "v=spf10"]
    assert merging.merge(texts, OURS) == merged
    assert merging.merge([merged], OURS) == merged


@pytest.mark.parametrize(
    "current",
    [
        OURS,
        "v=spf1 include:ours.example -all",
        "V=SPF1   +INCLUDE:OURS.Example.  ?all ",
        "v=spf1 a include:ours.example redirect=r.example",
        "v=spf1 include:ours.example",
    ],
)
def test_a_record_that_has_it_is_left_alone(current: str) -> None:
    """Where nothing is to do, it is the very text, in its own spelling and with its spaces."""
    assert merging.merge([OTHER_TEXT, current], OURS) == current


@pytest.mark.parametrize("texts", [[], [OTHER_TEXT, "v=spf10 -all", "x v=spf1"]])
def test_without_an_spf_record_ours_is_published_as_it_is(texts: list[str]) -> None:
    """Other texts do not matter."""
    assert merging.merge(texts, OURS) == OURS
    assert merging.withdraw(texts, OURS) is None


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
        ("v=spf1 ~all", "v=spf1 mx ip4:192.0.2.7/32 ~all exp=e.example"),
    ],
)
def test_more_terms_are_wanted_than_an_include(wanted: str, merged: str) -> None:
    """Those that are missing go in, in the service's order; its `all` does not."""
    current = "v=spf1 mx ip4:192.0.2.7/32 ~all exp=e.example"
    assert merging.merge([current], wanted) == merged


@pytest.mark.parametrize(
    ("current", "sentence"),
    [
        (
            "v=spf1 -include:OURS.example ~all",
            "has -include:OURS.example where the service asks for include:ours.example.",
        ),
        (
            "v=spf1 -include:ours.example ~all",
            "Replace -include:ours.example by include:ours.example in it, or remove -include:ours",
        ),
        ("v=spf1 include:ours.example ?include:ours.example", "has ?include:ours.example"),
        ("v=spf1 ~all ~include:ours.example", "has ~include:ours.example"),
    ],
)
def test_another_qualifier_is_the_owners_decision(current: str, sentence: str) -> None:
    """What the owner says of the service is not overruled, but named with the remedy."""
    with pytest.raises(merging.SpfConflict) as raised:
        merging.merge([current], OURS)
    assert sentence in str(raised.value)


def test_a_modifier_of_the_service_cannot_be_merged() -> None:
    """A redirect would change what the owner's record says of everybody."""
    with pytest.raises(Refused, match=r"asks for redirect=r.example, which can't be merged"):
        merging.merge(["v=spf1 a -all"], "v=spf1 redirect=r.example")
    assert merging.merge([], "v=spf1 redirect=r.example") == "v=spf1 redirect=r.example"


@pytest.mark.parametrize(
    ("texts", "one"),
    [
        (["v=spf1 a ~all", "v=spf1 mx ~all"], "v=spf1 a mx include:ours.example ~all"),
        (["v=spf1 a -all", OURS], "v=spf1 a include:ours.example -all"),
        ([f"{OURS} ", "v=spf1 a ?all"], "v=spf1 a include:ours.example ?all"),
        ([OURS, f"{OURS} "], OURS),
        (["v=spf1 a", "v=spf1 A/32 -all"], "v=spf1 A/32 include:ours.example -all"),
        (["v=spf1 a", "v=spf1 mx moo=1"], "v=spf1 a mx include:ours.example moo=1"),
        (["v=spf1 a -all mx", "v=spf1 ptr"], "v=spf1 a ptr include:ours.example -all"),
        (
            ["v=spf1 a redirect=R.example", "v=spf1 mx redirect=r.example. exp=e.example"],
            "v=spf1 a mx include:ours.example redirect=r.example. exp=e.example",
        ),
    ],
)
def test_several_records_come_with_the_one_to_publish(texts: list[str], one: str) -> None:
    """Receivers heed none of several, so the remedy is the record that says it all."""
    with pytest.raises(merging.SpfConflict) as raised:
        merging.merge([OTHER_TEXT, *texts], OURS)
    assert str(raised.value) == (
        "There are 2 SPF records, and receivers then heed none of them. Replace them by this one: "
        f"{one}"
    )


@pytest.mark.parametrize(
    "texts",
    [
        ["v=spf1 a ?all", "v=spf1 mx -all"],
        ["v=spf1 a redirect=r.example", "v=spf1 mx -all"],
        ["v=spf1 redirect=r.example", "v=spf1 redirect=s.example"],
        ["v=spf1 a -all", "v=spf1 -a -all"],
        ["v=spf1 a exp=e.example", "v=spf1 mx exp=f.example"],
        ["v=spf1 a -include:ours.example", "v=spf1 mx"],
    ],
)
def test_several_records_that_contradict_are_the_owners_decision(texts: list[str]) -> None:
    """Nothing is made up where they cannot both hold."""
    with pytest.raises(merging.SpfConflict, match="contradict each other, so decide which one"):
        merging.merge(texts, OURS)


def test_a_softer_all_is_named() -> None:
    """Where two records of the owner's differ in it, the sentence says which one was taken."""
    with pytest.raises(merging.SpfConflict) as raised:
        merging.merge([OURS, "v=spf1 a -all", "v=spf1 mx ~all"], OURS)
    assert str(raised.value).endswith(
        "Replace them by this one, with the ~all of one of them and not the -all of another: "
        "v=spf1 a mx include:ours.example ~all"
    )


def test_several_records_and_a_withdrawal() -> None:
    """The one to publish instead of them is without the service."""
    with pytest.raises(merging.SpfConflict, match=r"Replace them by this one: v=spf1 a -all$"):
        merging.withdraw(["v=spf1 a -all", "v=spf1 include:ours.example -all"], OURS)


@pytest.mark.parametrize("change", [merging.merge, merging.withdraw])
def test_a_malformed_record_is_not_touched(change: object) -> None:
    """The sentence names the term."""
    with pytest.raises(InvalidInput, match=r'SPF term "ipv4:1.2.3.4" is no mechanism'):
        change(["v=spf1 ipv4:1.2.3.4 -all"], OURS)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("current", "left"),
    [
        (OURS, None),
        ("v=spf1  +INCLUDE:ours.example. ~ALL", None),
        ("v=spf1 include:ours.example", None),
        ("v=spf1 include:ours.example -all", "v=spf1 -all"),
        ("v=spf1 a include:ours.example ~all", "v=spf1 a ~all"),
        ("v=spf1 include:ours.example redirect=r.example", "v=spf1 redirect=r.example"),
        ("v=spf1 include:ours.example A -all Include:ours.example", "v=spf1 A -all"),
        ("v=spf1 include:ours.example -include:ours.example", "v=spf1 -include:ours.example"),
        ("v=spf1   ~all", "v=spf1   ~all"),
        ("v=spf1", "v=spf1"),
        ("v=spf1 ?include:ours.example ~all", "v=spf1 ?include:ours.example ~all"),
    ],
)  # fmt: skip
def test_withdrawing_takes_out_what_the_service_asked_for(current: str, left: str | None) -> None:
    """Nothing under another qualifier, and nothing else; a record that was only ours goes whole."""
    assert merging.withdraw([OTHER_TEXT, current], OURS) == left


def test_a_redirect_of_the_service_goes_with_its_record() -> None:
    """What stands around the service's mechanisms is not the owner's either."""
    wanted = "v=spf1 a:mail.example.net redirect=r.example"
    assert merging.withdraw([wanted], wanted) is None


@pytest.mark.parametrize(("length", "advised"), [(450, False), (451, True), (700, True)])
def test_long_records_are_advised_against(length: int, advised: bool) -> None:
    """Up to 450 bytes fit every answer."""
    advice = merging.size_advice("v=spf1 " + "x" * (length - 7))
    assert (advice is not None) is advised
    assert advice is None or f"has {length} bytes" in advice


@given(RECORDS)
def test_merging_again_changes_nothing(current: str) -> None:
    """The include is in force, and what else is said stays in its order."""
    merged = merging.merge([current], OURS)
    assert merging.merge([merged], OURS) == merged
    mine = meaning(OURS)[0]
    kept = [said for said in meaning(merged) if said != mine]
    assert kept == [said for said in meaning(current) if said != mine]
    assert mine in meaning(merged)


@given(RECORDS)
def test_withdrawing_undoes_merging(current: str) -> None:
    """A record that was without the service says the same as before."""
    before = meaning(current)
    assume(meaning(OURS)[0][1] not in {term.key for term in spf.parse(current).terms})
    # These two say no more than the service does of everybody else, so they go with it.
    assume(before not in ([], [meaning(OURS)[1]]))
    left = merging.withdraw([merging.merge([current], OURS)], OURS)
    assert left is not None
    assert meaning(left) == before


@given(st.lists(GARBAGE, max_size=3), st.one_of(st.just(OURS), GARBAGE))
def test_no_texts_raise_anything_else(current: list[str], wanted: str) -> None:
    """Malformed records and conflicts have their own errors."""
    for change in (merging.merge, merging.withdraw):
        with contextlib.suppress(spf.SpfError, merging.SpfConflict):
            change(current, wanted)
