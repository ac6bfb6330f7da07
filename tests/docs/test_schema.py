# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The definition's schema is valid, and accepts the same files as `email_tenant`."""

from __future__ import annotations

import copy
import functools
import json
import operator
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ansible_collections.postroom.email.plugins.module_utils._api.tenant.problems import (
    InvalidDefinition,
    Source,
)
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.read_definition import (
    read_definition,
)
from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tools import definition_reference

SCHEMA: dict[str, Any] = json.loads(repository.read("schemas/definition.schema.json"))
VALIDATOR = Draft202012Validator(SCHEMA)
NOW = datetime(2026, 6, 1, tzinfo=UTC)
ENTRIES = {"domains": "DomainEntry", "mailboxes": "MailboxEntry", "forwarders": "ForwarderEntry"}
#: A definition with every key, and with objects in each state.
WHOLE: dict[str, Any] = {
    "$schema": "a URL",
    "domains": [
        "one.example",
        {"name": "two.example", "state": "present", "force": False},
        {"name": "three.example", "state": "absent", "force": True},
    ],
    "mailboxes": [
        "m1@one.example",
        {
            "name": "m2@one.example",
            "state": "present",
            "aliases": ["a1@one.example", {"address": "a2@one.example", "expires": "2027-01-31"}],
        },
        {
            "name": "m3@one.example",
            "state": "absent",
            "aliases": [{"address": "a3@one.example", "state": "absent"}],
        },
    ],
    "forwarders": [
        {
            "name": "f1@one.example",
            "state": "present",
            "members": ["m1@one.example", "x@far.example"],
            "aliases": [{"address": "a4@one.example", "state": "present"}],
            "expires": "2027-01-31T12:00:00Z",
        },
        {"name": "f2@one.example", "state": "absent", "members": [], "aliases": []},
    ],
}
#: Values to put in place of each value of WHOLE. This address and this domain are nowhere in WHOLE.
VALUES: list[Any] = [
    *(None, True, False, 7, "", "@", [], {}, [None], {"name": 7}),
    *("new@one.example", "new.example", ["new@one.example"], ["new.example"]),
    *({"name": "new@one.example"}, {"name": "new.example"}, {"address": "new@one.example"}),
]
#: More values for some keys. Other keys may accept them as names, which the schema doesn't check.
WORDS = {
    "state": ["present", "absent", "gone"],
    "expires": [
        *("2027-01-31", "2027-01-31T12:00:00Z", "2027-01-31 12:00:00.5+01:00"),
        *("2027-01-31T12:00:00", "2027-1-31", "2027-01-31T12:00Z", "tomorrow"),
    ],
}


def places(data: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the path to each value in the data."""
    inner = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in inner:
        yield (*path, key)
        if isinstance(value, (dict, list)):
            yield from places(value, (*path, key))


def variants() -> Iterator[Any]:
    """Yield variants of the definition.

    In each variant, one value is replaced or deleted, or a key is added to an absent object.
    """
    for *path, last in places(WHOLE):
        for value in [*VALUES, *WORDS.get(str(last), ()), ...]:
            data = copy.deepcopy(WHOLE)
            parent: Any = functools.reduce(operator.getitem, path, data)  # type: ignore[arg-type]
            if value is ...:
                del parent[last]
            else:
                parent[last] = value
            yield data
    for section in ENTRIES:
        for entry in filter(lambda each: isinstance(each, dict), WHOLE[section]):
            absent = {"name": entry["name"], "state": "absent"}
            yield from ({section: [{**absent, key: value}]} for key, value in entry.items())


def is_read(data: Any) -> bool:
    """Return whether `email_tenant` accepts a file, assuming that others declare its members."""
    try:
        read_definition([Source("one.yml", data)], NOW)
    except InvalidDefinition as error:
        return all(problem.code == "no_members" for problem in error.problems)
    return True


def test_a_definition_of_the_first_release_is_valid() -> None:
    """A definition of the first release, with every key of that release, is still valid."""
    definition = repository.read_yaml("tests/docs/first_release_definition.yml")
    assert is_read(definition)
    assert VALIDATOR.is_valid(definition)


def test_the_schema_and_the_reader_accept_the_same_files() -> None:
    """The schema and email_tenant accept the same files, apart from the validity of names."""
    assert is_read(WHOLE)
    assert VALIDATOR.is_valid(WHOLE)
    files = [*VALUES, *variants()]
    assert [data for data in files if is_read(data) != VALIDATOR.is_valid(data)] == []


@pytest.mark.parametrize("section", ENTRIES)
def test_the_schema_and_the_reader_know_the_same_keys(section: str) -> None:
    """The schema has the same keys as `email_tenant`, whose error message lists the known keys."""
    name = "one.example" if section == "domains" else "m1@one.example"
    with pytest.raises(InvalidDefinition) as refusal:
        read_definition([Source("one.yml", {section: [{"name": name, "?": 0}]})], NOW)
    keys = SCHEMA["$defs"][ENTRIES[section]]["properties"].keys()
    assert set(refusal.value.problems[0].params["known"].split(", ")) == keys
    # Without this, the previous test would not compare the values of these keys.
    assert {key for entry in WHOLE[section] if isinstance(entry, dict) for key in entry} == keys
    for key in keys:
        with pytest.raises(InvalidDefinition) as refusal:
            read_definition([Source("one.yml", {section: [{"name": name, key: 7}]})], NOW)
        # This check ignores the message about the complete entry.
        kind = ENTRIES[section].removesuffix("Entry").lower()
        assert refusal.value.problems[0].params["expected"] != f"a {kind}"


def test_the_schema_is_published() -> None:
    """The schema is published at its `$id`, and the reference is generated from the schema."""
    repository_url = repository.read_yaml("galaxy.yml")["repository"]
    assert SCHEMA["$id"] == f"{repository_url}/raw/main/schemas/definition.schema.json"
    Draft202012Validator.check_schema(SCHEMA)
    assert definition_reference.schema() == SCHEMA
    assert repository.read("docs/reference/definition.md") == definition_reference.reference(SCHEMA)
    parts = [SCHEMA, *SCHEMA["$defs"].values()]
    parts += [rules for part in parts for rules in part.get("properties", {}).values()]
    for part in parts:
        for example in part.get("examples", ()):
            Draft202012Validator({**part, "$defs": SCHEMA["$defs"]}).validate(example)
