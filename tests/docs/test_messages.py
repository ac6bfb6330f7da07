# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Messages and task names that a page quotes match the code, word for word."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.docs import fenced_blocks
from ansible_collections.postroom.email.tests.support import repository

#: A quoted message, such as *"... does not exist"*.
_QUOTE = re.compile(r'(?<!")\*"(.+?)"\*', re.DOTALL)
#: A task in a playbook's output, without the name of its role.
_TASK = re.compile(r"^TASK \[(?:\S+ : )?(.+)\] \*", re.MULTILINE)
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
#: A placeholder in a format string or a template.
_VALUE = re.compile(r"\{\{.*?\}\}|\{[^{}]*\}", re.DOTALL)
_QUOTED = {
    page: _QUOTE.findall(_FENCED.sub("", page.read_text("utf-8"))) for page in fenced_blocks.PAGES
}


def one_line(text: str) -> str:
    """Return the text with single spaces instead of line breaks."""
    return " ".join(text.split())


def strings(file: Path) -> Iterator[str]:
    """Yield the strings in Python code, with spaces instead of the values in f-strings."""
    for node in ast.walk(ast.parse(repository.read(file))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            parts = [part.value for part in node.values if isinstance(part, ast.Constant)]
            yield "\n".join(map(str, parts))


@functools.cache
def code() -> str:
    """Return all strings of the programs and plugins, and all tasks of playbooks and roles."""
    texts = [
        _VALUE.sub("\n", text)
        for file in repository.sources("bot/", "common/", "plugins/", "service/")
        for text in strings(file)
    ]
    for file in repository.files():
        if file.parts[0] in ("playbooks", "roles") and file.suffix in (".yml", ".j2"):
            # Most messages of tasks are strings in templates.
            texts += [repository.read(file), _VALUE.sub("\n", repository.read(file))]
    return "\n".join(map(one_line, texts))


@pytest.mark.parametrize("page", [page for page in _QUOTED if _QUOTED[page]], ids=lambda p: p.stem)
def test_quoted_messages_are_in_the_code(page: Path) -> None:
    """Each quoted message is in the code, with any values in place of `...`."""
    parts = [
        part.strip(" .,:;()")
        for quote in _QUOTED[page]
        for part in re.split(r"\.\.\.", one_line(quote))
    ]
    assert [part for part in parts if part not in code()] == []


@pytest.mark.parametrize(
    "page",
    [page for page in fenced_blocks.PAGES if _TASK.search(repository.read(page))],
    ids=lambda p: p.stem,
)
def test_shown_tasks_exist(page: Path) -> None:
    """Each task that a page shows in output exists in a playbook or role, or on the page itself."""
    text = repository.read(page)
    known = f"{code()} {one_line(text)} "
    assert [name for name in _TASK.findall(text) if f"- name: {name} " not in known] == []
