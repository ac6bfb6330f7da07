# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The project for AWX to copy has what job templates need."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import yaml

from ansible_collections.postroom.email.tests.support import repository

FOLDER = "playbooks/examples/awx_project"
#: What makes the controller is run by a person, not by the controller.
RUN_BY_HAND = {"awx"}


def project_yaml(file: str) -> Any:
    """Return what a file of the project holds."""
    return yaml.safe_load(repository.read(f"{FOLDER}/{file}"))


def test_every_playbook_of_a_template_has_a_wrapper() -> None:
    """Each runs the collection's playbook of its own name, and nothing else is there."""
    found = [file for file in repository.files() if file.parent.as_posix() == FOLDER]
    wrappers = {file.stem for file in found if file.suffix == ".yml"} - {"tenant"}
    assert wrappers == {*repository.playbooks()} - RUN_BY_HAND
    for name in sorted(wrappers):
        (play,) = project_yaml(f"{name}.yml")
        assert play["ansible.builtin.import_playbook"] == f"postroom.email.{name}"


def test_its_definition_is_one() -> None:
    """`tenant.yml` may be converged as it is."""
    schema = json.loads(repository.read("schemas/definition.schema.json"))
    jsonschema.validate(project_yaml("tenant.yml"), schema)


def test_it_asks_galaxy_for_nothing() -> None:
    """AWX fails to update a project that names what Galaxy does not know, as this collection."""
    assert not [file for file in repository.files() if file.match(f"{FOLDER}/*/requirements.yml")]
