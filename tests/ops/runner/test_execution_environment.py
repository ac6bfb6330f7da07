# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The execution environment has every collection and package that playbooks and roles need."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.postroom.email.tests.support import ansible_yaml, playbooks, repository

FOLDER = repository.ROOT / "extensions" / "ee"
OURS = "postroom.email"
#: Names of plugins in expressions: `| a.b.c`, `is a.b.c`, `lookup('a.b.c'`.
IN_EXPRESSIONS = re.compile(
    r"(?:\|\s*|\bis (?:not )?|(?:lookup|query)\(\s*['\"])(\w+\.\w+)\.\w+(?=[\s(}'\",|)]|$)"
)
A_MODULE = re.compile(r"^(\w+\.\w+)\.\w+$")


def run(folder: Path, *command: str) -> str:
    """Run a program of the environment and return its output."""
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


def test_the_image_has_every_collection_in_use() -> None:
    """It has no other."""
    rows = repository.read_yaml("extensions/ee/requirements.yml")["collections"]
    listed = {row["name"] for row in rows}
    assert {"ansible.builtin", OURS, "amazon.aws"} <= used()
    assert used() - {"ansible.builtin", OURS} == listed
    # Collections that the role dns only names as a requirement.
    needs = repository.read_yaml("roles/dns/vars/main.yml")["__dns_needs"].values()
    assert {need["collection"] for need in needs if "collection" in need} <= listed


def test_the_definition_builds(tmp_path: Path) -> None:
    """ansible-builder makes a build context that installs the collection and its requirements."""
    built = tmp_path / "ee"
    shutil.copytree(FOLDER, built, ignore=shutil.ignore_patterns("*.gz"))
    run(built, "ansible-galaxy", "collection", "build", str(repository.ROOT))
    output = run(built, "ansible-builder", "create", "--output-filename", "Containerfile")
    assert "No matches" not in output
    (archive,) = (built / "context" / "_build" / "collections").iterdir()
    assert archive.name == f"postroom-email-{repository.read_yaml('galaxy.yml')['version']}.tar.gz"
    steps = (built / "context" / "Containerfile").read_text("utf-8")
    assert "ansible-galaxy collection install --offline" in steps
    # The definition's own command, where nothing is installed yet, as in the image.
    definition = yaml.safe_load((built / "execution-environment.yml").read_text("utf-8"))
    (step,) = definition["additional_build_steps"]["append_galaxy"]
    command = step.removeprefix("RUN ").replace("/usr/share/ansible", str(tmp_path))
    shell = command.replace("/build/collections", str(built))
    env = playbooks.environment(tmp_path, ANSIBLE_COLLECTIONS_PATH=str(tmp_path))
    done = playbooks.run(["sh", "-c", shell], env, tmp_path)
    assert done.status == 0, done.output
    output = run(tmp_path, "ansible-builder", "introspect", str(tmp_path / "collections"))
    found = yaml.safe_load(output[output.index("---") :])
    lines = repository.read("meta/ee-requirements.txt").splitlines()
    wanted = [line for line in lines if not line.startswith("#")]
    assert [row.partition("#")[0].strip() for row in found["python"]] == wanted
    assert found["system"] == []
