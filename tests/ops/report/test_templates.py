# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The report's templates escape whatever they put in. Ansible's templates do not by themselves."""

from __future__ import annotations

import re

import pytest

from ansible_collections.postroom.email.tests.support import repository

FOLDER = "roles/tenant/templates/"
TEMPLATES = [
    file.as_posix()
    for file in repository.files()
    if file.as_posix().startswith((f"{FOLDER}report.", f"{FOLDER}report/"))
    and file.suffix == ".j2"
    # It makes no HTML, but text that is escaped where it is put in.
    and file.stem != "pasting"
]
OUTPUT = re.compile(r"\{\{-?\s*(.*?)\s*-?\}\}", re.DOTALL)
#: What gives HTML already: macros of these templates, and a choice between two literal texts.
MACRO = re.compile(
    r"(words|record_of|addresses)\.(counted|status|noun|show|tables)\(.*\)|listed\(.*\)"
)
LITERALS = re.compile(r"'[^']*' if [^']*('[^']*'[^']*)?else '[^']*'")


def is_escaped(expression: str) -> bool:
    """Tell whether an expression gives text that is safe in HTML."""
    text = " ".join(expression.split())
    escaped = text.endswith("| e") and " if " not in text
    return escaped or bool(MACRO.fullmatch(text) or LITERALS.fullmatch(text))


@pytest.mark.parametrize("template", TEMPLATES)
def test_every_value_is_escaped(template: str) -> None:
    """It ends in the filter `e`, or is made of what does."""
    found = OUTPUT.findall(repository.read(template))
    assert [expression for expression in found if not is_escaped(expression)] == []


def test_there_are_templates() -> None:
    """The check above looks at the page and all of its parts."""
    assert len(TEMPLATES) == 6
    assert not is_escaped("name")
    assert not is_escaped("name if name else other | e")
