# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The JSON Schema of the policy file. `python -m postroom_bot.policy.schema` prints it.

It is published as `schemas/policy.schema.json`.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from typing import Any

from postroom_bot.policy.model import Policy

ADDRESS = "https://github.com/postroom/email/raw/main/schemas/policy.schema.json"
#: The first keys of the schema.
_FIRST = ("$schema", "$id", "title", "description")

Schema = dict[str, Any]


@cache
def schema() -> Schema:
    """Return the schema as plain data."""
    about = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ADDRESS,
        **Policy.model_json_schema(),
    }
    plain: Schema = _without_null(about)
    return {key: plain[key] for key in (*_FIRST, *(k for k in plain if k not in _FIRST))}


def part(way: tuple[str | int, ...]) -> Schema:
    """Return the schema of a part of the file, empty for unknown parts."""
    found: Schema = schema()
    for step in way:
        if isinstance(step, int):
            found = found.get("items", {})
        else:
            others = found.get("patternProperties", {}).values()
            found = found.get("properties", {}).get(step) or next(iter(others), {})
        found = {**_target(found), **found}
    return found


def _target(about: Schema) -> Schema:
    """Return the target of a reference."""
    name = about.get("$ref", "").rpartition("/")[2]
    found: Schema = schema()["$defs"][name] if name else {}
    return found


def _without_null(about: Any) -> Any:
    """Return a schema in which optional values can't be null, as in the file."""
    if isinstance(about, list):
        return [_without_null(one) for one in about]
    if not isinstance(about, dict):
        return about
    plain: Schema = {
        key: _without_null(value)
        for key, value in about.items()
        if key != "anyOf" and not (key == "default" and value is None)
    }
    inner = [_without_null(one) for one in about.get("anyOf", ()) if one != {"type": "null"}]
    for one in inner:
        # The key's own texts take precedence, except for the title, which names the type.
        plain = {**one, **plain, **{key: one[key] for key in ("title",) if key in one}}
    return {**plain, "additionalProperties": False} if "patternProperties" in plain else plain


if __name__ == "__main__":
    sys.stdout.write(json.dumps(schema(), indent=2) + "\n")
