# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The policy's schema: it is sound, explains itself, and agrees with the reader."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import event, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tools import policy_reference
from postroom_bot.policy.model import Policy
from postroom_bot.policy.schema import ADDRESS, part, schema

SCHEMA: dict[str, Any] = json.loads(repository.read("schemas/policy.schema.json"))
EXAMPLE = yaml.safe_load(repository.read("bot/examples/policy.yml"))
VALIDATOR = Draft202012Validator(SCHEMA)


def keys() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every key with what the schema says of it."""
    for name, about in (("Policy", SCHEMA), *SCHEMA["$defs"].items()):
        for key, value in about.get("properties", {}).items():
            target = value.get("$ref", "").rpartition("/")[2]
            yield f"{name}.{key}", {**SCHEMA["$defs"].get(target, {}), **value}


KEYS = dict(keys())


def test_the_published_schema_is_the_models() -> None:
    """`python -m postroom_bot.policy.schema > schemas/policy.schema.json` writes it anew."""
    assert repository.read("schemas/policy.schema.json") == json.dumps(schema(), indent=2) + "\n"


def test_the_schema_is_one() -> None:
    """It is a valid schema of the draft that it names, and its address is its place."""
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    repository_url = repository.read_yaml("galaxy.yml")["repository"]
    assert SCHEMA["$id"] == ADDRESS == f"{repository_url}/raw/main/schemas/policy.schema.json"
    assert ADDRESS in repository.read("bot/examples/policy.yml")


@pytest.mark.parametrize("key", KEYS)
def test_each_key_explains_itself(key: str) -> None:
    """An editor has a title, a sentence and examples to show, and each example is valid."""
    about = KEYS[key]
    assert about["title"]
    assert about["description"].endswith(".")
    for example in about["examples"]:
        Draft202012Validator({**about, "$defs": SCHEMA["$defs"]}).validate(example)
    assert about["examples"]


def test_no_other_key_is_allowed() -> None:
    """An editor marks what is misspelled."""
    objects = [SCHEMA, *SCHEMA["$defs"].values(), *KEYS.values()]
    found = [about for about in objects if about.get("type") == "object"]
    assert found
    assert all(about["additionalProperties"] is False for about in found)


def test_the_reference_is_what_the_tool_writes() -> None:
    """`python tools/policy_reference.py` writes it anew."""
    page = repository.read("docs/policy.md")
    assert policy_reference.MARK in page
    assert policy_reference.page(page, SCHEMA) == page


def test_a_part_is_found_by_its_way() -> None:
    """In lists and in keys of any name; what is not known has no part."""
    assert part(("groups", "admins", "users", 0))["title"] == "User id"
    assert part(("rules", 3, "own"))["type"] == "boolean"
    assert part(("channels",))["properties"].keys() == {"approvals", "audit"}
    assert part(("nothing", "here")) == {}


# --- against the reader ------------------------------------------------------------------------

JUNK: list[Any] = [True, False, 0, 7, 11, "x", "X!", "24h", "U024BE7LH", [], {}, ["x"], {"x": 1}]


def ways(data: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every part of data."""
    yield way
    if isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from ways(value, (*way, key))


def changed(data: Any, way: tuple[Any, ...], value: Any) -> Any:
    """Return data with another value in one part; None leaves the part out."""
    if not way:
        return value
    copy = data.copy()
    if value is None and len(way) == 1:
        del copy[way[0]]
    else:
        copy[way[0]] = changed(data[way[0]], way[1:], value)
    return copy


#: What only the reader looks at: whether names are names, not just how they are written.
NAMES = {"pinned", "domains"}


@settings(max_examples=1000, deadline=None)
@given(st.sampled_from([way for way in ways(EXAMPLE) if way]), st.sampled_from([*JUNK, None]))
def test_the_schema_and_the_reader_refuse_the_same(way: tuple[Any, ...], value: Any) -> None:
    """Whatever stands in one part of the example, an editor and the bot agree on it."""
    data = changed(EXAMPLE, way, value)
    valid = VALIDATOR.is_valid(data)
    event("valid" if valid else "not valid")
    assert valid or not reads(data)
    assert reads(data) or not valid or not NAMES.isdisjoint(way)


def reads(data: Any) -> bool:
    """Return whether the bot's model takes a policy."""
    try:
        Policy.model_validate(data)
    except ValidationError:
        return False
    return True
