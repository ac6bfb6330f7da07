# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What is stated in more than one place is the same in all of them."""

from __future__ import annotations

import re

import pytest
import yaml

from ansible_collections.postroom.email.plugins.doc_fragments.api import ModuleDocFragment
from ansible_collections.postroom.email.tests.support import repository

GALAXY = repository.read_yaml("galaxy.yml")
PROJECT = repository.read_toml("pyproject.toml")["project"]


def requirements(file: str) -> list[str]:
    """Return the lines of a requirements file that ask for something."""
    lines = (line.strip() for line in repository.read(file).splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def name_of(requirement: str) -> str:
    """Return what a requirement is for, without its version."""
    return re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0]


def test_an_execution_environment_installs_what_the_wheel_does() -> None:
    """Ansible's execution environments get the requirements of the client core."""
    file = repository.read_yaml("meta/execution-environment.yml")["dependencies"]["python"]
    assert requirements(file) == PROJECT["dependencies"]


def test_the_modules_document_what_they_need() -> None:
    """The requirements that every module documents are those of the client core."""
    documented = yaml.safe_load(ModuleDocFragment.DOCUMENTATION)["requirements"]
    # What follows in parentheses says what a package is for.
    stated = [one.partition(" (")[0].replace(" ", "") for one in documented]
    assert stated == PROJECT["dependencies"]


def test_unit_tests_get_what_the_client_core_needs() -> None:
    """`ansible-test units` installs the same packages."""
    assert {name_of(one) for one in PROJECT["dependencies"]} <= set(
        requirements("tests/unit/requirements.txt")
    )


def test_every_program_has_its_code_in_the_wheel() -> None:
    """A console script points into a package that the wheel carries."""
    packages = repository.read_toml("pyproject.toml")["tool"]["setuptools"]["packages"]
    for target in PROJECT["scripts"].values():
        assert target.split(".")[0] in packages


#: What is built, as examples name it.
BUILT = re.compile(
    r"postroom-email-([0-9.]+)\.tar|postroom-([0-9.]+)-py3|postroom\[bot\]==([0-9.]*[0-9])"
    r"|postroom-ee:([0-9.]+)|postroom\.email\n +version: (\S+)"
)


def test_examples_are_of_this_version() -> None:
    """Whoever copies one from a document gets what the document is about."""
    texts = [repository.read(str(file)) for file in repository.files() if file.suffix == ".md"]
    texts.append(repository.read("roles/bot/meta/argument_specs.yml"))
    named = ["".join(groups) for text in texts for groups in BUILT.findall(text)]
    assert len(named) >= 9
    assert set(named) == {GALAXY["version"]}


def test_a_release_has_its_notes() -> None:
    """The version has been released with its notes, or fragments wait for the release."""
    released = repository.read_yaml("changelogs/changelog.yaml")["releases"]
    fragments = [file for file in repository.files() if file.match("changelogs/fragments/*.yml")]
    assert GALAXY["version"] in released or fragments


def test_the_action_group_holds_every_module() -> None:
    """One `module_defaults` entry reaches all modules."""
    groups = repository.read_yaml("meta/runtime.yml")["action_groups"]
    assert groups["api"] == repository.modules()


@pytest.mark.parametrize("module", repository.modules())
def test_the_readme_lists_the_module(module: str) -> None:
    """The README's table has a row for every module."""
    rows = [line for line in repository.read("README.md").splitlines() if line.startswith("|")]
    assert any(re.search(rf"\b{module}\b", row) for row in rows)
