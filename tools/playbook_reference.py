# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Generate the playbooks' reference, `docs/reference/playbooks.md`, from their argument files.

A test checks that the page is current.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from tools.definition_reference import flow  # noqa: E402

ARGUMENTS = ROOT / "playbooks" / "arguments"

#: The content of an argument file. Its schema is schemas/arguments.schema.json.
Arguments = dict[str, Any]

HEAD = """\
# Playbooks

<!-- Written by tools/playbook_reference.py from playbooks/arguments. -->

Run a playbook by its full name, such as `postroom.email.add_alias`. Pass variables with `-e`, one
by one or in a file. Put secrets only into files that are encrypted with `ansible-vault`, such as
the `account.yml` in the README: the process list and `-vvvv` show variables that are passed one by
one.

If the message of a failed task names an option of a module, it also names the playbook's variable
for that option. If a variable given with `-e` looks like an option but the playbook does not use
it, the playbook shows a warning.

In AWX, each playbook that changes or reads a tenant is a job template; see
[AWX](../guides/awx.md). The tables list the survey questions. Other variables come from a
credential or are set in the job template.

| Playbook | What it does | Run again |
|---|---|---|
"""
TABLE = """\
| Variable | Type | Default | Meaning |
|---|---|---|---|"""

_TYPES = {
    "str": "text",
    "path": "path",
    "int": "number",
    "float": "number",
    "bool": "`true` or `false`",
    "dict": "mapping",
}
#: The characters to escape in Markdown tables.
_MARKS = re.compile(r"([*|<])")


def read_all(folder: Path = ARGUMENTS) -> dict[str, Arguments]:
    """Return the content of each argument file, keyed by the file's name without the extension."""
    return {file.stem: yaml.safe_load(file.read_bytes()) for file in sorted(folder.glob("*.yml"))}


def playbooks(files: Mapping[str, Arguments]) -> dict[str, Arguments]:
    """Return the argument files of playbooks, without those that only contain shared options."""
    return {name: arguments for name, arguments in files.items() if "example" in arguments}


def options(files: Mapping[str, Arguments], playbook: str) -> dict[str, dict[str, Any]]:
    """Return all options of a playbook, with required options first and shared options last."""
    arguments = files[playbook]
    found = dict(arguments["options"])
    for shared in arguments.get("options_from", []):
        found |= files[shared]["options"]
    return dict(sorted(found.items(), key=lambda item: not item[1].get("required")))


def reference(files: Mapping[str, Arguments]) -> str:
    """Return the complete page."""
    known = playbooks(files)
    rows = [
        f"| [`{name}`](#{name}) | {_escaped(arguments['short_description'])}. "
        f"| {_again(arguments)} |\n"
        for name, arguments in known.items()
    ]
    return (
        HEAD + "".join(rows) + "".join(line + "\n" for name in known for line in _part(files, name))
    )


def _part(files: Mapping[str, Arguments], playbook: str) -> Iterator[str]:
    """Yield the lines of a playbook's section."""
    arguments = files[playbook]
    source = f"[{playbook}.yml](../../playbooks/{playbook}.yml)"
    yield from ("", f"## {playbook}", "")
    yield from (f"{_escaped(arguments['short_description'])}: {source}.", "")
    for paragraph in [*map(_escaped, arguments["description"]), _promise(arguments)]:
        yield from (paragraph, "")
    yield from ("```shell", arguments["example"].rstrip("\n"), "```", "")
    yield TABLE
    for name, option in options(files, playbook).items():
        yield _row(name, option)
    for role in arguments.get("roles", []):
        yield ""
        yield (
            "The playbook also accepts the variables of the "
            f"[{role} role](../../roles/{role}/README.md)."
        )


def _again(arguments: Arguments) -> str:
    if arguments.get("reads_only"):
        return "Reads only."
    return "Changes nothing." if arguments["repeatable"] else "Repeats its changes."


def _promise(arguments: Arguments) -> str:
    if arguments.get("reads_only"):
        return "This playbook only reads from the service."
    if "second_run" in arguments:
        return str(arguments["second_run"])
    again = "changes nothing" if arguments["repeatable"] else "repeats its changes"
    return f"A second run with the same variables {again}."


def _row(name: str, option: Mapping[str, Any]) -> str:
    described = option["description"]
    paragraphs = described if isinstance(described, list) else [described]
    if option.get("no_log"):
        paragraphs = [*paragraphs, "Secret."]
    if "survey" in option:
        paragraphs = [*paragraphs, f"AWX asks: {option['survey']['question']}."]
    meaning = _escaped(" ".join(paragraphs))
    return f"| `{name}` | {_kind(option)} | {_default(option)} | {meaning} |"


def _kind(option: Mapping[str, Any]) -> str:
    """Describe the type of an option."""
    choices = [f"`{choice}`" for choice in option.get("choices", [])]
    if option["type"] == "list":
        return f"list of {', '.join(choices) or _TYPES[option['elements']] + 's'}"
    return " or ".join(choices) or _TYPES[option["type"]]


def _default(option: Mapping[str, Any]) -> str:
    if option.get("required"):
        return "required"
    if "default" in option:
        return f"`{flow(option['default'])}`"
    return _escaped(option.get("default_text", ""))


def _escaped(text: str) -> str:
    return _MARKS.sub(r"\\\1", text)


if __name__ == "__main__":
    (ROOT / "docs" / "reference" / "playbooks.md").write_text(reference(read_all()), "utf-8")
