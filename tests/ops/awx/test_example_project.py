# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The example project has what AWX needs, and the playbook has the documented defaults."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import yaml

from ansible_collections.postroom.email.tests.support import repository

FOLDER = "playbooks/examples/awx_project"
#: Operators run this one by hand: it configures the controller.
RUN_BY_HAND = {"awx"}
DEFAULT = re.compile(r"\b(awx_\w+) \| default\((?P<value>'[^']*'|\w+|\[\]|\{\}), true\)")
#: Defaults that stand for no value, or for another variable.
NO_DEFAULTS: tuple[Any, ...] = ("", [], {}, "omit", "awx_playbooks_of_tenants", "awx_owner")


def test_the_project_has_a_wrapper_for_each_playbook() -> None:
    """Each imports the playbook of its name; the definition is valid; Galaxy gets no request."""
    files = [file for file in repository.files() if file.parent.as_posix() == FOLDER]
    wrappers = {file.stem for file in files if file.suffix == ".yml"} - {"tenant"}
    assert wrappers == {*repository.playbooks()} - RUN_BY_HAND
    for name in sorted(wrappers):
        (play,) = repository.read_yaml(f"{FOLDER}/{name}.yml")
        assert play["ansible.builtin.import_playbook"] == f"postroom.email.{name}"
    schema = json.loads(repository.read("schemas/definition.schema.json"))
    jsonschema.validate(repository.read_yaml(f"{FOLDER}/tenant.yml"), schema)
    # AWX fails to update a project whose requirements name a collection that Galaxy lacks.
    assert not [file for file in repository.files() if file.match(f"{FOLDER}/*/requirements.yml")]


def test_documented_defaults_are_in_force() -> None:
    """The defaults in the playbook's files are those of its argument file."""
    files = ["playbooks/awx.yml", "playbooks/vars/awx.yml"]
    files += [str(file) for file in repository.files() if file.match("playbooks/tasks/awx/*.yml")]
    text = "\n".join(repository.read(file) for file in files)
    found = {match[1]: yaml.safe_load(match["value"]) for match in DEFAULT.finditer(text)}
    options = repository.read_yaml("playbooks/arguments/awx.yml")["options"]
    documented = {name: one["default"] for name, one in options.items() if "default" in one}
    assert {name: value for name, value in found.items() if value not in NO_DEFAULTS} == {
        # A string also stands for a list of one entry.
        name: value[0] if isinstance(value, list) else value
        for name, value in documented.items()
    }
