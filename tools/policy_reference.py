# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Generate the JSON Schema of the policy file and its reference from the pydantic model.

The files are `schemas/policy.schema.json` and `docs/reference/policy.md`. A test checks that both
are current.
"""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]
if __name__ == "__main__":
    # conftest.py makes the bot importable.
    runpy.run_path(str(ROOT / "tests" / "conftest.py"))

from pydantic.json_schema import GenerateJsonSchema  # noqa: E402

from postroom_bot.policy.model import Policy  # noqa: E402
from tools.definition_reference import Schema, tables  # noqa: E402

SCHEMA = ROOT / "schemas" / "policy.schema.json"
PAGE = ROOT / "docs" / "reference" / "policy.md"
ADDRESS = "https://github.com/postroom/email/raw/main/schemas/policy.schema.json"

HEAD = """\
# The policy file

<!-- Written by tools/policy_reference.py from schemas/policy.schema.json. -->

[Write the policy](../guides/policy.md) explains how the bot decides, and [the
example](../../bot/examples/policy.yml) has most of these keys. The file contains plain keys, lists
and values. Anchors, aliases, tags, duplicate keys, empty values and unknown keys are errors, so
that a typing error can't make a rule weaker than intended.
"""
ABOUT = "Keys that are not marked *Needed* are optional."


class _Generator(GenerateJsonSchema):
    """A generator for the schemas of files: optional keys can be omitted, but can't be null."""

    def nullable_schema(self, schema: Any) -> Schema:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: Any) -> Schema:
        if schema.get("default", ...) is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)

    def dict_schema(self, schema: Any) -> Schema:
        return {**super().dict_schema(schema), "additionalProperties": False}


def schema() -> Schema:
    """Return the JSON Schema of the policy file."""
    wrapped = json.dumps(Policy.model_json_schema(schema_generator=_Generator))
    # The descriptions are docstrings, which have line breaks.
    found = json.loads(wrapped.replace(r"\n", " "))
    dialect = "https://json-schema.org/draft/2020-12/schema"
    title, description = found.pop("title"), found.pop("description")
    return {"$schema": dialect, "$id": ADDRESS, "title": title, "description": description, **found}


def reference(schema: Schema) -> str:
    """Return the complete page."""
    return "\n".join([HEAD, *tables(schema, ABOUT)])


if __name__ == "__main__":
    SCHEMA.write_text(json.dumps(schema(), indent=2) + "\n", "utf-8")
    PAGE.write_text(reference(schema()), "utf-8")
