# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The definition's schema: it is sound, explains itself, and its reference is up to date."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tools import definition_reference

SCHEMA: dict[str, Any] = json.loads(repository.read("schemas/definition.schema.json"))


def described() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every part that a user meets, with the way to it: definitions and properties."""
    yield "the file", SCHEMA
    for name, part in SCHEMA["$defs"].items():
        yield name, part
    for name, part in (("the file", SCHEMA), *SCHEMA["$defs"].items()):
        for key, value in part.get("properties", {}).items():
            if "$ref" not in value:
                yield f"{name}.{key}", value


DESCRIBED = dict(described())


def test_the_schema_is_one() -> None:
    """It is a valid schema of the draft that it names, and its address is its place."""
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    repository_url = repository.read_yaml("galaxy.yml")["repository"]
    assert SCHEMA["$id"] == f"{repository_url}/raw/main/schemas/definition.schema.json"


@pytest.mark.parametrize("part", DESCRIBED)
def test_each_part_explains_itself(part: str) -> None:
    """An editor has a title, a sentence and an example to show, and the example is valid."""
    about = DESCRIBED[part]
    assert about["title"]
    assert about["description"].endswith(".")
    assert about["examples"]
    for example in about["examples"]:
        Draft202012Validator({**about, "$defs": SCHEMA["$defs"]}).validate(example)


@pytest.mark.parametrize("part", [p for p in DESCRIBED if "properties" in DESCRIBED[p]])
def test_no_other_key_is_allowed(part: str) -> None:
    """An editor marks what is misspelled."""
    assert DESCRIBED[part]["additionalProperties"] is False


def test_the_reference_is_what_the_tool_prints() -> None:
    """`python tools/definition_reference.py > docs/definition.md` writes it anew."""
    assert repository.read("docs/definition.md") == definition_reference.reference(SCHEMA)
