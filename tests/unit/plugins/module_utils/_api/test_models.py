# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Edits: what is to be added and removed, worked into whatever there is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.postroom.email.plugins.module_utils._api.models import (
    Edit,
    Foreign,
    Forwarder,
    Individual,
    Mailbox,
)
from ansible_collections.postroom.email.plugins.module_utils._api.names import (
    Name,
    parse_address,
    read_name,
)

ME = parse_address("me@example.com")
POOL = [parse_address(f"{letter}@example.com") for letter in "abcdef"]
SETS = st.frozensets(st.sampled_from(POOL))


def edit_of(aliases: tuple[frozenset[Name], ...], members: tuple[frozenset[Name], ...]) -> Edit:
    """Return an edit that adds and removes different things, as the planner's do."""
    return Edit(aliases[0], aliases[1] - aliases[0], members[0], members[1] - members[0])


EDITS = st.builds(edit_of, st.tuples(SETS, SETS), st.tuples(SETS, SETS))
INDIVIDUALS = st.builds(Mailbox, st.just(ME), SETS) | st.builds(Forwarder, st.just(ME), SETS, SETS)


@given(EDITS, INDIVIDUALS)
def test_an_edit_is_idempotent(edit: Edit, current: Individual) -> None:
    """Once worked in, nothing is left to do."""
    once = edit.applied_to(current)
    assert edit.applied_to(once) == once
    assert once.name == current.name
    assert type(once) is type(current)


@given(EDITS)
def test_the_inverse_of_the_inverse_is_the_edit(edit: Edit) -> None:
    """Taking back what takes back."""
    assert edit.inverse().inverse() == edit


@given(EDITS, INDIVIDUALS)
def test_an_inverse_restores_what_the_edit_changed(edit: Edit, current: Individual) -> None:
    """Where everything that it adds was absent and everything that it removes was there."""
    before = edit.inverse().applied_to(current)
    assert edit.inverse().applied_to(edit.applied_to(before)) == before


@given(EDITS, INDIVIDUALS, SETS)
def test_an_edit_leaves_alone_what_it_does_not_name(
    edit: Edit, current: Individual, others: frozenset[Name]
) -> None:
    """Aliases that somebody else added stay."""
    named = edit.add_aliases | edit.remove_aliases
    after = edit.applied_to(current)
    assert after.aliases - named == current.aliases - named


def test_models_compare_by_names_and_not_by_spelling() -> None:
    """The same mailbox in capitals."""
    one = Mailbox(ME, frozenset({parse_address("Sales@Example.com")}))
    assert one == Mailbox(read_name("ME@EXAMPLE.COM"), frozenset({read_name("sales@example.com")}))
    assert one.addresses == {ME, parse_address("sales@example.com")}


def test_models_are_shown_as_they_are_spelled_and_in_order() -> None:
    """A result of a task is stable from run to run."""
    names = frozenset(map(parse_address, ["b@example.com", "A@Example.com"]))
    assert Forwarder(ME, names, names).as_dict() == {
        "name": "me@example.com",
        "aliases": ["A@Example.com", "b@example.com"],
        "members": ["A@Example.com", "b@example.com"],
    }
    assert Foreign(ME, "group").as_dict() == {"name": "me@example.com", "kind": "group"}
