# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The variables that guides and READMEs speak of are there, under these names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tools import playbook_reference
from postroom_bot.settings import Settings

PAGES = [
    file
    for file in repository.files()
    if file.suffix == ".md" and file.parts[0] in ("README.md", "bot", "docs", "roles")
]
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`]+)`")
#: Not what is a part of another name, or names a file.
_VARIABLE = re.compile(r"(?<![\w./-])(?:awx|bot|dns|mail|tenant)_\w+(?![\w-]|\.(?:ya?ml|py)\b)")
#: What a task leaves behind.
_FACT = re.compile(r"\bregister: (\w+)|^ +(\w+_(?:drift|result)):", re.MULTILINE)


def left_by(text: str) -> set[str]:
    """Return the names of what the tasks in a text leave behind."""
    return {one or other for one, other in _FACT.findall(text)}


def names() -> Iterator[str]:
    """Give the names of what playbooks, roles and the bot take, and of what roles leave behind."""
    for arguments in playbook_reference.read_all().values():
        yield from arguments["options"]
    for role in repository.roles():
        specs = repository.read_yaml(f"roles/{role}/meta/argument_specs.yml")["argument_specs"]
        for entry in specs.values():
            yield from entry.get("options", {})
        for file in repository.ROOT.glob(f"roles/{role}/tasks/*.yml"):
            yield from left_by(file.read_text("utf-8"))
    yield from Settings.model_fields


KNOWN = {*names()}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_variable_is_called_so(page: Path) -> None:
    """Each that a sentence names is a playbook's, a role's, the bot's or the page's own."""
    text = repository.read(page)
    spoken = {
        name for code in _CODE.findall(_FENCED.sub("", text)) for name in _VARIABLE.findall(code)
    }
    assert spoken - KNOWN - left_by(text) == set()
