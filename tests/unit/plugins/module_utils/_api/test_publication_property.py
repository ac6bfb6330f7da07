# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What holds of publishing and withdrawing whatever is at the names."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.postroom.email.plugins.module_utils._api.errors import Refused
from ansible_collections.postroom.email.plugins.module_utils._api.planning.publication import (
    Publication,
    plan_absence,
    plan_presence,
)
from ansible_collections.postroom.email.plugins.module_utils._api.records import (
    dkim,
    merging,
    spf,
)
from ansible_collections.postroom.email.plugins.module_utils._api.records.sets import (
    Mx,
    RecordSet,
    Txt,
    txt,
)
from ansible_collections.postroom.email.tests.support.recordsets import (
    DOMAIN,
    KEY,
    OURS,
    SELECTOR,
    SPF,
    CurrentSets,
    current,
    key,
    wanted,
)

WANTED = wanted()
FOREIGN_TERMS = ("a", "mx", "ip4:192.0.2.1", "include:other.example", "-ip6:2001:db8::/32")
HARMLESS_SPF = (SPF, "v=spf1 -all", "v=spf1 redirect=other.example", "V=SPF1  mx ?all", "v=spf1")
STRANGE_SPF = ("v=spf1 ipv4:1 -all", "v=spf1 ?include:spf.example.net", "v=spf1 mx ~all exp=")

foreign_texts = st.builds(Txt, st.lists(st.binary(max_size=40), min_size=1, max_size=3).map(tuple))
merged_spf = st.lists(st.sampled_from((*FOREIGN_TERMS, SPF.split()[1])), unique=True).map(
    lambda terms: " ".join(("v=spf1", *terms, "~all"))
)
spf_records = st.one_of(st.sampled_from(HARMLESS_SPF), merged_spf).map(txt)
any_spf = st.one_of(spf_records, st.sampled_from(STRANGE_SPF).map(txt))
some_keys = st.sampled_from(
    (KEY, f"{KEY}; t=s", KEY.replace(" ", ""), KEY[:200], key(seed="other"), "v=DKIM1; p=", "p=")
).map(txt)
servers = st.builds(
    Mx,
    st.sampled_from((0, 5, 10, 20)),
    st.sampled_from(("mail.example.net", "mx.other.example", "mx2.other.example")),
)


@st.composite
def zones(draw: st.DrawFn, records: st.SearchStrategy[Txt] = spf_records) -> CurrentSets:
    """Draw what is at the names: at most one SPF record, anything else."""
    ttl = st.sampled_from((60, 3600))
    hosts = draw(st.lists(servers, unique=True, max_size=4))
    apex = draw(st.lists(foreign_texts, max_size=3)) + draw(st.lists(records, max_size=1))
    selector = draw(st.lists(st.one_of(some_keys, foreign_texts), max_size=4))
    sets = (
        RecordSet(DOMAIN, "MX", draw(ttl), tuple(hosts)),
        RecordSet(
            DOMAIN, "TXT", draw(ttl), tuple(draw(st.permutations(list(dict.fromkeys(apex)))))
        ),
        RecordSet(SELECTOR, "TXT", draw(ttl), tuple(dict.fromkeys(selector))),
    )
    return current(*(found for found in sets if found.values))


def applied(found: CurrentSets, plan: Publication) -> CurrentSets:
    """Return what is there when a plan has been carried out."""
    after = dict(found)
    for change in plan.changes:
        name = change.subject.name, change.subject.type
        assert after.get(name) == change.before
        assert change.after is None or change.after.values
        after.pop(name, None)
        if change.after:
            after[name] = change.after
    return after


def foreign(found: CurrentSets) -> dict[tuple[str, str], set[Mx | Txt]]:
    """Return what is certainly somebody else's."""
    return {
        name: values
        for name, record_set in found.items()
        if (values := {value for value in record_set.values if not is_of_us(name[0], value)})
    }


def is_of_us(name: str, value: Mx | Txt) -> bool:
    """Tell whether a value may be changed."""
    if isinstance(value, Mx):
        return value.exchange == OURS.exchange
    return dkim.is_key(value.text) if name == SELECTOR else spf.is_spf(value.text)


def texts_at(found: CurrentSets, name: str) -> list[str]:
    """Return the texts at a name."""
    values: Iterable[Mx | Txt] = found[name, "TXT"].values if (name, "TXT") in found else ()
    return [value.text for value in values if isinstance(value, Txt)]


@given(zones())
def test_publishing_is_done_at_once_and_for_all(found: CurrentSets) -> None:
    """A second plan is empty, and what the service asks for is there as it is verified."""
    after = applied(found, plan_presence(WANTED, found, {}))
    assert not plan_presence(WANTED, after, {}).changes
    assert OURS in after[DOMAIN, "MX"].values
    assert dkim.compare(KEY, texts_at(after, SELECTOR)).status == "match"
    (record,) = [text for text in texts_at(after, DOMAIN) if spf.is_spf(text)]
    assert merging.merge([record], SPF) == record


@given(zones())
def test_withdrawing_is_done_at_once_and_for_all(found: CurrentSets) -> None:
    """A second plan is empty, and nothing of the service is left."""
    after = applied(found, plan_absence(WANTED, found, {}))
    assert not plan_absence(WANTED, after, {}).changes
    assert not any("include:spf.example.net" in text for text in texts_at(after, DOMAIN))
    assert not any(dkim.same_key(KEY, text) for text in texts_at(after, SELECTOR))
    assert all(OURS not in found.values for found in after.values())


@given(zones())
def test_what_others_published_stays(found: CurrentSets) -> None:
    """Byte for byte, whether the service's records come or go."""
    there = applied(found, plan_presence(WANTED, found, {}))
    assert foreign(there) == foreign(found)
    assert foreign(applied(there, plan_absence(WANTED, there, {}))) == foreign(found)


@given(zones())
def test_withdrawing_gives_back_what_was_there(found: CurrentSets) -> None:
    """Where nothing of the service was, no other key had to go, and SPF was worth keeping."""
    before = {name: only_foreign(record_set) for name, record_set in found.items()}
    before = {name: record_set for name, record_set in before.items() if record_set.values}
    there = applied(before, plan_presence(WANTED, before, {}))
    after = applied(there, plan_absence(WANTED, there, {}))
    assert {name: spoken(record_set) for name, record_set in after.items()} == {
        name: spoken(record_set) for name, record_set in before.items()
    }


def only_foreign(found: RecordSet) -> RecordSet:
    """Return a set with what the service has no part in, and SPF records of another's."""
    return found._replace(
        values=tuple(
            value
            for value in found.values
            if not is_of_us(found.name, value)
            or (isinstance(value, Txt) and spf.is_spf(value.text) and is_worth_keeping(value.text))
        )
    )


def is_worth_keeping(text: str) -> bool:
    """Tell whether an SPF record says something, and nothing of the service."""
    return "include:spf.example.net" not in text and text.lower() not in ("v=spf1", "v=spf1 ~all")


def spoken(found: RecordSet) -> tuple[int, tuple[object, ...]]:
    """Return a set, with SPF records by their terms, for whoever merges them writes them anew."""
    values = (
        spf.parse(value.text) if isinstance(value, Txt) and spf.is_spf(value.text) else value
        for value in found.values
    )
    return found.ttl, tuple(values)


@given(zones())
def test_the_order_of_values_changes_nothing(found: CurrentSets) -> None:
    """Name servers give them in any order."""
    shuffled = {
        name: found_set._replace(values=tuple(reversed(found_set.values)))
        for name, found_set in found.items()
    }
    for planner in (plan_presence, plan_absence):
        one, other = planner(WANTED, found, {}), planner(WANTED, shuffled, {})
        assert sets_of(one) == sets_of(other)
        assert one.warnings == other.warnings


def sets_of(plan: Publication) -> list[tuple[str, object]]:
    """Return what a plan leads to, without the order of values."""
    return [
        (change.action, change.after and (change.after.ttl, frozenset(change.after.values)))
        for change in plan.changes
    ]


@given(zones(any_spf), st.lists(any_spf, max_size=2))
def test_nothing_but_a_refusal_is_raised(found: CurrentSets, more: list[Txt]) -> None:
    """Never are there two SPF records afterwards; withdrawing refuses nothing."""
    name = DOMAIN, "TXT"
    values = (*(found[name].values if name in found else ()), *more)
    if values:
        found[name] = RecordSet(*name, 60, tuple(dict.fromkeys(values)))
    plan_absence(WANTED, found, {})
    try:
        after = applied(found, plan_presence(WANTED, found, {}))
    except Refused as error:
        assert str(error).startswith(f"{DOMAIN} TXT: ")  # noqa: PT017
    else:
        assert len([text for text in texts_at(after, DOMAIN) if spf.is_spf(text)]) == 1
