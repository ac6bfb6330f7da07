# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Generate the JSON Schema of the definition and its reference from the pydantic model.

The files are `schemas/definition.schema.json` and `docs/reference/definition.md`. A test checks
that both are current.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "schemas" / "definition.schema.json"
PAGE = ROOT / "docs" / "reference" / "definition.md"

Schema = dict[str, Any]

#: The names of JSON types, for values without a title.
_UNTITLED = {"string": "text", "integer": "number"}

HEAD = """\
# The definition of a tenant

<!-- Written by tools/definition_reference.py. -->

{description}

A definition is a YAML or JSON file, or the options of `email_tenant` with the same names. A small
example, `tenant.yml`:

```yaml
# yaml-language-server: $schema={address}
{example}```

With the first line, editors that support JSON Schema complete and check the file while you type. In
JSON, use the key `$schema` instead.

`email_tenant` rejects keys that are not listed here. The error message names the file and the line.
In YAML, anchors, aliases and merge keys (`<<`) work, but tags and second documents are errors.

## Several files

`definition_files` accepts any number of files, and the options add to them. Together, they form one
definition:

- If an object is declared in two of them, its aliases and members are merged.
- If two of them contradict each other in `state`, `force` or `expires`, nothing is changed. The
  error message names both places.
- `expires` must be the same in all entries for an alias, and in all entries with members for a
  forwarder. Without `expires`, such an entry declares that the object never expires.
- Declaring the same name twice in one file is an error.
"""


def schema() -> Schema:
    """Return the JSON Schema of a definition file."""
    # Imported here because policy_reference.py uses this file without the collection.
    from pydantic.json_schema import GenerateJsonSchema  # noqa: PLC0415

    from ansible_collections.postroom.email.plugins.module_utils._api.tenant import (  # noqa: PLC0415
        definition_format as model,
    )

    class Generator(GenerateJsonSchema):
        """A generator that keeps the order of keys and adds no titles."""

        def sort(self, value: Any, parent_key: str | None = None) -> Any:  # noqa: ARG002
            return value

        def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
            return False

    generated = model.definition_model().json_schema(schema_generator=Generator)
    generated["description"] = " ".join(generated["description"].split())
    entries = (model.DomainEntry, model.MailboxEntry, model.ForwarderEntry, model.AliasEntry)
    generated["$defs"] = {each.__name__: generated["$defs"][each.__name__] for each in entries}
    for part in (generated, *generated["$defs"].values()):
        for key in part["properties"].values():
            # None means only that the key is missing.
            if key.get("default", ...) is None:
                del key["default"]
    about = {
        "title": "URL",
        "description": "The URL of this schema, for editors. The modules ignore it.",
        "examples": [model.SCHEMA_URL],
    }
    del generated["properties"]["$schema"]
    generated["properties"] = {"$schema": about, **generated["properties"]}
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, "$id": model.SCHEMA_URL, **generated}


class _Indenting(yaml.SafeDumper):
    """A YAML dumper that indents the items of lists, as yamllint requires."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002
        super().increase_indent(flow, indentless=False)


def reference(schema: Schema) -> str:
    """Return the complete page."""
    head = HEAD.format(
        description=textwrap.fill(schema["description"], 100),
        address=schema["$id"],
        example=yaml.dump(schema["examples"][0], Dumper=_Indenting, sort_keys=False),
    )
    return "\n".join([head, *tables(schema, "All keys are optional.")])


def tables(schema: Schema, about: str, heading: str = "##") -> Iterator[str]:
    """Yield the lines of a section with a table of keys for the file and for each kind of object.

    :param about: the sentence before the table of the file's keys
    :param heading: the Markdown prefix of the sections' titles
    """
    yield from _section(schema, schema, f"{heading} The file", about)
    for definition in schema["$defs"].values():
        if definition.get("type") == "object":
            title = f"{heading} {definition['title']}"
            yield from _section(schema, definition, title, definition["description"])


def _section(root: Schema, schema: Schema, title: str, text: str) -> Iterator[str]:
    yield f"{title}\n"
    yield f"{text}\n"
    yield "| Key | Type | Example | Meaning |"
    yield "|---|---|---|---|"
    needed = schema.get("required", [])
    for key, part in schema["properties"].items():
        about = _resolved(root, part)
        notes = [about["description"]]
        notes += ["Needed."] if key in needed else []
        notes += [f"Default: `{flow(about['default'])}`."] if "default" in about else []
        yield f"| `{key}` | {_kind(root, part)} | {_example(about)} | {' '.join(notes)} |"
    yield ""


def _resolved(root: Schema, part: Schema) -> Schema:
    """Return a schema in which a reference, if any, is replaced with the target's keys."""
    target = part.get("$ref", "").rpartition("/")[2]
    return {**root["$defs"].get(target, {}), **part}


def _kind(root: Schema, part: Schema) -> str:
    """Describe the type of a value."""
    about = _resolved(root, part)
    if "anyOf" in about:
        return " or ".join(_kind(root, one) for one in about["anyOf"])
    if "type" not in about:
        return _lower(about["title"])
    if "enum" in about or "const" in about:
        return " or ".join(f"`{flow(value)}`" for value in about.get("enum", [about.get("const")]))
    if about.get("type") == "array":
        return f"list of: {_kind(root, about['items'])}"
    if about.get("type") == "object":
        return _kind_of_object(root, about)
    if about.get("type") == "boolean":
        return "`true` or `false`"
    return _lower(about.get("title") or _UNTITLED[about["type"]])


def _kind_of_object(root: Schema, about: Schema) -> str:
    if "patternProperties" in about:
        return f"keys, each with: {_kind(root, *about['patternProperties'].values())}"
    title = about["title"].lower()
    return f"[{title}](#{title.replace(' ', '-')})"


def _lower(title: str) -> str:
    return title if title.isupper() else title.lower()


def _example(about: Schema) -> str:
    return ", ".join(f"`{flow(example)}`" for example in about["examples"])


def flow(value: Any) -> str:
    """Return a value as YAML on one line."""
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=1000)
    return text.removesuffix("\n").removesuffix("\n...")


if __name__ == "__main__":
    SCHEMA.write_text(json.dumps(schema(), indent=2) + "\n", "utf-8")
    PAGE.write_text(reference(schema()), "utf-8")
