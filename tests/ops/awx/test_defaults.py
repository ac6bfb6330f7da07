# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The defaults that the argument file tells are those that the playbook has."""

from __future__ import annotations

import re
from typing import Any

import yaml

from ansible_collections.postroom.email.tests.support import repository

FILES = [
    "playbooks/awx.yml",
    "playbooks/vars/awx.yml",
    *(str(file) for file in repository.files() if file.match("playbooks/tasks/awx/*.yml")),
]
DEFAULT = re.compile(r"\b(awx_\w+) \| default\((?P<value>'[^']*'|\w+|\[\]|\{\}), true\)")
#: What stands for nothing told.
NOTHING: tuple[Any, ...] = ("", [], {}, "omit", "awx_playbooks_of_tenants", "awx_owner")


def taken() -> dict[str, Any]:
    """Return what the playbook takes where nothing is told, by variable."""
    text = "\n".join(repository.read(file) for file in FILES)
    found = {match[1]: yaml.safe_load(match["value"]) for match in DEFAULT.finditer(text)}
    return {name: value for name, value in found.items() if value not in NOTHING}


def test_defaults_are_the_same() -> None:
    """A list of one may be taken from a text."""
    options = repository.read_yaml("playbooks/arguments/awx.yml")["options"]
    told = {name: one["default"] for name, one in options.items() if "default" in one}
    listed = {name: value[0] if isinstance(value, list) else value for name, value in told.items()}
    assert taken() == listed
