# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Definitions are read as one: what is declared comes out, expired where it has expired."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.postroom.email.plugins.module_utils._api.definition.file import load
from ansible_collections.postroom.email.plugins.module_utils._api.definition.model import (
    Definition,
    InvalidDefinition,
    Source,
)
from ansible_collections.postroom.email.plugins.module_utils._api.definition.reading import (
    read_definition,
)
from ansible_collections.postroom.email.plugins.module_utils._api.names import parse_address

NOW = datetime(2026, 6, 1, 12, tzinfo=timezone.utc)


def read(folder: Path, *texts: str) -> Definition:
    """Read texts as files 1.yml, 2.yml and so on."""
    sources = []
    for number, text in enumerate(texts, 1):
        (folder / f"{number}.yml").write_text(text, encoding="utf-8")
        sources.append(load(str(folder / f"{number}.yml")))
    return read_definition(sources, NOW)


def inline(**lists: Any) -> Definition:
    """Read the options of a task."""
    return read_definition([Source(None, lists)], NOW)


def names(definition: Definition, name: str) -> dict[str, Any]:
    """Return what is declared of one address, in plain words."""
    declared = definition.individuals[parse_address(name)]
    aliases = declared.aliases
    return {
        "absent": declared.reason if declared.absent else None,
        "aliases": None if aliases is None else sorted(map(str, aliases)),
        "gone": {str(alias): reason for alias, reason in declared.absent_aliases.items()},
        "members": sorted(map(str, getattr(declared, "members", ()))),
    }


def test_text_and_mapping_are_the_same() -> None:
    """Of domains, mailboxes and aliases; all parts may be missing."""
    short = inline(domains=["a.example"], mailboxes=["a@a.example"], forwarders=None)
    long = {"name": "a@a.example", "state": "present"}
    assert short == inline(domains=[{"name": "A.example"}], mailboxes=[long])
    both = ["b@a.example", {"address": "c@a.example"}]
    read = inline(mailboxes=[{"name": "a@a.example", "aliases": both}])
    assert names(read, "a@a.example")["aliases"] == ["b@a.example", "c@a.example"]
    assert names(short, "a@a.example")["aliases"] is None
    assert inline() == Definition({}, {})


def test_files_are_merged(tmp_path: Path) -> None:
    """Aliases and members are joined, and the first place counts."""
    read_twice = read(
        tmp_path,
        "domains: [a.example]\nmailboxes: [m@a.example, {name: n@a.example, aliases: []}]\n"
        "forwarders: [{name: f@a.example, members: [x@b.example], expires: 2026-12-31}, "
        "g@a.example]",
        "domains:\n- A.example\n- {name: b.example, state: absent, force: true}\n"
        "mailboxes:\n- {name: M@a.example, aliases: [p@a.example]}\n"
        "- {name: n@a.example, aliases: [q@a.example, {address: r@a.example, state: absent}]}\n"
        "forwarders:\n- {name: f@a.example, members: [x@b.example, y@b.example], "
        "expires: 2026-12-31}\n"
        "- {name: g@a.example, members: [z@b.example], expires: 2020-12-31}\n",
        "forwarders: [{name: f@a.example, aliases: [s@a.example]}]",
    )
    assert [str(name) for name in read_twice.domains] == ["a.example", "b.example"]
    assert [(d.absent, d.force) for d in read_twice.domains.values()] == [
        (False, False),
        (True, True),
    ]
    mailbox = read_twice.individuals[parse_address("m@a.example")]
    assert str(mailbox.place) == f"{tmp_path}/1.yml:2: mailboxes[0]"
    assert [str(place) for place in mailbox.places.values()] == [
        f"{tmp_path}/2.yml:5: mailboxes[0].aliases[0]"
    ]
    assert names(read_twice, "m@a.example")["aliases"] == ["p@a.example"]
    assert names(read_twice, "n@a.example") == {
        "absent": None,
        "aliases": ["q@a.example"],
        "gone": {"r@a.example": "is to be absent"},
        "members": [],
    }
    assert names(read_twice, "f@a.example")["members"] == ["x@b.example", "y@b.example"]
    assert names(read_twice, "f@a.example")["aliases"] == ["s@a.example"]
    assert names(read_twice, "g@a.example")["absent"] == "it expired on 2020-12-31"


@pytest.mark.parametrize(
    ("first", "second"),
    [("members: [b@b.example]", "aliases: [c@a.example], expires: 2020-12-31"),
     ("members: [b@b.example], expires: 2020-12-31", "members: [c@b.example]")],
)  # fmt: skip
def test_no_file_ends_what_another_one_declares(first: str, second: str, tmp_path: Path) -> None:
    """Members without an end are there for good; the other file can't have them deleted."""
    texts = [f"forwarders: [{{name: a@a.example, {more}}}]" for more in (first, second)]
    says = ["expires on 2020-12-31" if "expires" in text else "never expires" for text in texts]
    with pytest.raises(InvalidDefinition) as caught:
        read(tmp_path, *texts)
    assert str(caught.value) == (
        f"{tmp_path}/2.yml:1: forwarders[0]: a@a.example {says[1]} here and {says[0]} in "
        f"forwarders[0] (line 1, in {tmp_path}/1.yml). Say the same in both, or drop one."
    )


ENDS = {
    "2026-05-31": True,
    "2026-06-01": False,
    "2026-06-01T12:00:00Z": True,
    "2026-06-01t12:00:00.000001z": False,
    "2026-06-01 13:30:00+01:30": True,
    "2026-06-01T11:00:00.5-01:00": False,
    "0001-01-01T00:00:00+05:00": True,
    "9999-12-31": False,
}


@pytest.mark.parametrize("text", ENDS)
def test_what_has_expired_is_to_be_absent(text: str) -> None:
    """A date counts to its end in UTC; its addresses are free for others then."""
    forwarder = {"name": "f@a.example", "members": ["x@b.example"], "expires": text}
    alias = {"address": "p@a.example", "expires": text}
    read = inline(forwarders=[forwarder], mailboxes=[{"name": "m@a.example", "aliases": [alias]}])
    found, mailbox = names(read, "f@a.example"), names(read, "m@a.example")
    if ENDS[text]:
        assert found["absent"] == f"it expired on {text}"
        assert mailbox["gone"] == {"p@a.example": f"expired on {text}"}
        assert mailbox["aliases"] == []
    else:
        assert found["absent"] is None
        assert (mailbox["gone"], mailbox["aliases"]) == ({}, ["p@a.example"])


def test_a_date_that_ansible_has_read_is_a_date() -> None:
    """Its reader of YAML makes dates of what looks like them."""
    alias = {"address": "p@a.example", "expires": NOW.date()}
    read = inline(mailboxes=[{"name": "m@a.example", "aliases": [alias]}])
    assert names(read, "m@a.example")["aliases"] == ["p@a.example"]


def test_what_is_absent_claims_nothing() -> None:
    """An alias moves, and is promoted, within one definition; a domain takes what is absent."""
    read = inline(
        domains=[{"name": "old.example", "state": "absent"}],
        mailboxes=[
            {"name": "a@a.example", "aliases": [{"address": "b@a.example", "state": "absent"}]},
            {"name": "c@a.example", "aliases": ["b@a.example"]},
            {"name": "d@old.example", "state": "absent"},
            {"name": "e@a.example", "state": "absent", "aliases": []},
            {"name": "f@a.example", "aliases": ["e@a.example"]},
        ],
        forwarders=[{"name": "g@a.example", "state": "absent"}],
    )
    assert names(read, "a@a.example")["gone"] == {"b@a.example": "is to be absent"}
    assert names(read, "d@old.example")["absent"] == "it is to be absent"
    assert names(read, "g@a.example")["members"] == []


def chain(length: int, last: str) -> list[dict[str, Any]]:
    """Return forwarders of which each forwards to the next one's alias."""
    links = [f"a{n}@a.example" for n in range(1, length)] + [last]
    return [
        {"name": f"f{n}@a.example", "aliases": [f"a{n}@a.example"], "members": [link]}
        for n, link in enumerate(links)
    ]


def test_a_long_chain_of_forwarders_is_no_loop() -> None:
    """However long it is, and declared in whichever order."""
    links = chain(10_000, "x@b.example")
    assert len(inline(forwarders=links).individuals) == 10_000
    assert len(inline(forwarders=links[::-1]).individuals) == 10_000


def test_a_long_loop_is_told_in_short() -> None:
    """The member that closes it is named."""
    with pytest.raises(InvalidDefinition) as caught:
        inline(forwarders=chain(10_000, "a0@a.example"))
    assert str(caught.value) == (
        "forwarders[9999].members[0]: Mail would go round in a loop: f0@a.example -> f1@a.example "
        "-> f2@a.example -> f3@a.example -> f4@a.example -> 9994 more -> f9999@a.example -> "
        "f0@a.example (a0@a.example is an alias of f0@a.example). Drop this member."
    )


def test_a_forwarder_that_two_lead_to_is_no_loop() -> None:
    """Nor is one that an absent forwarder would close."""
    ends = {"name": "d@a.example", "members": ["x@b.example"]}
    gone = {"name": "e@a.example", "members": ["a@a.example"], "expires": "2026-01-01"}
    both = [{"name": f"{n}@a.example", "members": ["d@a.example", "e@a.example"]} for n in "abc"]
    assert len(inline(forwarders=[*both, ends, gone]).individuals) == 5


KEYS = st.sampled_from(
    ["domains", "mailboxes", "forwarders", "name", "state", "force", "aliases", "members",
     "address", "expires", "password", "$schema"]
)  # fmt: skip
WORDS = st.sampled_from(
    ["absent", "present", "a.example", "a@a.example", "b@a.example", "B@A.example", "2026-01-01"]
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | WORDS
DATA = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(), inner),
    max_leaves=25,
)
LISTS = st.dictionaries(KEYS, st.lists(DATA, max_size=4), max_size=4)


@given(st.sampled_from([None, "x.yml"]), DATA | LISTS, LISTS)
def test_no_data_raises_anything_else(file: str | None, first: Any, second: Any) -> None:
    """Whatever it is: it is read, or refused with findings that all have a place."""
    try:
        read_definition([Source(file, first), Source("y.yml", second)], NOW)
    except InvalidDefinition as error:
        assert all(finding.place for finding in error.findings)  # noqa: PT017


KINDS = st.dictionaries(
    st.from_regex(r"[a-z]{1,6}", fullmatch=True),
    st.sampled_from(["mailbox", "forwarder", "alias"]),
    max_size=12,
)


@given(KINDS)
def test_what_is_valid_gives_back_its_names(kinds: dict[str, str]) -> None:
    """Each address is an object or an alias, exactly as declared."""
    of = {
        kind: [f"{part}@a.example" for part in kinds if kinds[part] == kind]
        for kind in ("mailbox", "forwarder", "alias")
    }
    owner = "owner@b.example"
    definition = inline(
        mailboxes=[*of["mailbox"], {"name": owner, "aliases": of["alias"]}],
        forwarders=[{"name": name, "members": ["x@b.example"]} for name in of["forwarder"]],
    )
    assert {str(name): declared.kind for name, declared in definition.individuals.items()} == {
        owner: "mailbox",
        **dict.fromkeys(of["mailbox"], "mailbox"),
        **dict.fromkeys(of["forwarder"], "forwarder"),
    }
    assert names(definition, owner)["aliases"] == sorted(of["alias"])
