# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The definition of the execution environment names everything that playbooks and roles need."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.specifiers import SpecifierSet

from ansible_collections.postroom.email.tests.support import ansible_yaml, playbooks, repository

FOLDER = repository.ROOT / "extensions" / "ee"
OURS = "postroom.email"
#: Where names of plugins stand in expressions: `| a.b.c`, `is a.b.c`, `lookup('a.b.c'`.
IN_EXPRESSIONS = re.compile(
    r"(?:\|\s*|\bis (?:not )?|(?:lookup|query)\(\s*['\"])(\w+\.\w+)\.\w+(?=[\s(}'\",|)]|$)"
)
A_MODULE = re.compile(r"^(\w+\.\w+)\.\w+$")


def run(folder: Path, *command: str) -> str:
    """Run one of the programs that lie beside Python and return what it printed."""
    program = str(Path(sys.executable).with_name(command[0]))
    done = playbooks.run([program, *command[1:]], playbooks.environment(folder), folder)
    assert done.status == 0, done.output
    return done.output


def collections_in(content: Any) -> Iterator[str]:
    """Yield the collections whose modules are keys anywhere in a YAML file."""
    if isinstance(content, dict):
        yield from (match[1] for key in content if (match := A_MODULE.match(str(key))))
    if isinstance(content, (dict, list)):
        for value in content.values() if isinstance(content, dict) else content:
            yield from collections_in(value)


def used() -> set[str]:
    """Return the collections that playbooks and roles use."""
    found: set[str] = set()
    for file in repository.files():
        if file.parts[0] in ("playbooks", "roles") and file.suffix in (".yml", ".yaml", ".j2"):
            text = repository.read(file)
            found |= set(IN_EXPRESSIONS.findall(text))
            found |= set() if file.suffix == ".j2" else set(collections_in(ansible_yaml.load(text)))
    return found


def listed() -> dict[str, str]:
    """Return the collections that the image gets from Galaxy, with their versions."""
    rows = repository.read_yaml("extensions/ee/requirements.yml")["collections"]
    return {row["name"]: row["version"] for row in rows}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the definition's folder, with the collection built into it."""
    folder = tmp_path_factory.mktemp("ee")
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("*.gz"), dirs_exist_ok=True)
    options = ("--output-path", str(folder))
    run(folder, "ansible-galaxy", "collection", "build", str(repository.ROOT), *options)
    return folder


def test_every_collection_in_use_is_in_the_image() -> None:
    """And no other: what nothing uses is not listed."""
    assert {"ansible.builtin", OURS, "amazon.aws"} <= used()
    assert used() - {"ansible.builtin", OURS} == set(listed())


def test_collections_are_named_where_they_are_only_looked_for() -> None:
    """What the role dns asks for by name is in the image."""
    needs = repository.read_yaml("roles/dns/vars/main.yml")["__dns_needs"].values()
    assert {need["collection"] for need in needs if "collection" in need} <= set(listed())


def test_the_image_gets_what_is_tested_with(tmp_path: Path) -> None:
    """The versions that the tests run with are among those that the image may have."""
    output = run(tmp_path, "ansible-galaxy", "collection", "list", "--format", "json")
    places = json.loads(output[output.index("{") :]).values()
    versions = {name: row["version"] for place in places for name, row in place.items()}
    for name, wanted in listed().items():
        assert versions[name] in SpecifierSet(wanted), name


def test_the_definition_makes_a_build_context(built: Path) -> None:
    """ansible-builder takes it, and has the collection itself in what it builds from."""
    output = run(built, "ansible-builder", "create", "--output-filename", "Containerfile")
    assert "No matches" not in output
    (archive,) = (built / "context" / "_build" / "collections").iterdir()
    assert archive.name == f"postroom-email-{repository.read_yaml('galaxy.yml')['version']}.tar.gz"
    steps = (built / "context" / "Containerfile").read_text("utf-8")
    assert "ansible-galaxy collection install --offline" in steps


def test_the_image_gets_what_the_collection_imports(built: Path, tmp_path: Path) -> None:
    """The definition's own command installs it, and its Python packages are found in there."""
    definition = yaml.safe_load((built / "execution-environment.yml").read_text("utf-8"))
    (step,) = definition["additional_build_steps"]["append_galaxy"]
    command = step.removeprefix("RUN ").replace("/usr/share/ansible", str(tmp_path))
    shell = command.replace("/build/collections", str(built))
    # As in the image, nothing is installed yet.
    env = playbooks.environment(tmp_path, ANSIBLE_COLLECTIONS_PATH=str(tmp_path))
    done = playbooks.run(["sh", "-c", shell], env, tmp_path)
    assert done.status == 0, done.output
    output = run(tmp_path, "ansible-builder", "introspect", str(tmp_path / "collections"))
    found = yaml.safe_load(output[output.index("---") :])
    wanted = [
        line
        for line in repository.read("meta/ee-requirements.txt").splitlines()
        if not line.startswith("#")
    ]
    assert [row.partition("#")[0].strip() for row in found["python"]] == wanted
    assert found["system"] == []
