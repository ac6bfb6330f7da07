# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The variables of a role are said in three places, which agree, and it takes no others."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from ansible_collections.postroom.email.tests.docs import readme
from ansible_collections.postroom.email.tests.support import repository

ROLES = repository.roles()
COMMENT = re.compile(r"^ *#.*$|\{#[\s\S]*?#\}", re.MULTILINE)
CODE = ("tasks", "handlers", "templates", "vars")


def entry_points(role: str) -> dict[str, dict[str, Any]]:
    """Return the options of each of a role's entry points."""
    specs = repository.read_yaml(f"roles/{role}/meta/argument_specs.yml")["argument_specs"]
    return {entry: spec.get("options", {}) for entry, spec in specs.items()}


def options(role: str) -> dict[str, dict[str, Any]]:
    """Return all options of a role, those of `main` as they are there."""
    every = entry_points(role)
    others = {name: option for entry in every.values() for name, option in entry.items()}
    return {**every["main"], **{n: o for n, o in others.items() if n not in every["main"]}}


def defaults(role: str) -> dict[str, Any]:
    """Return the defaults of a role's variables."""
    found: dict[str, Any] = repository.read_yaml(f"roles/{role}/defaults/main.yml")
    return found


def named(role: str, text: str) -> set[str]:
    """Return the variables in a text that begin as those of the role do."""
    return set(re.findall(rf"(?<![\w./]){role}_\w+", text))


def code(role: str) -> str:
    """Return what a role does, in one text, without comments."""
    files = [file for file in repository.files() if file.parts[:2] == ("roles", role)]
    texts = [repository.read(file) for file in files if file.parts[2] in CODE]
    return COMMENT.sub("", "\n".join(texts))


@pytest.mark.parametrize("role", ROLES)
def test_defaults(role: str) -> None:
    """Whatever is not needed has a default, and that is the one that is documented."""
    main = entry_points(role)["main"]
    given = defaults(role)
    assert {name for name, option in main.items() if not option.get("required")} == set(given)
    told = {name: option["default"] for name, option in main.items() if "default" in option}
    computed = {name for name, value in given.items() if "{{" in str(value)}
    assert told == {name: given[name] for name in given.keys() - computed}


@pytest.mark.parametrize("role", ROLES)
def test_readme(role: str) -> None:
    """The table of the README has all variables, in the order of the specification."""
    rows = re.findall(
        rf"^\| `({role}_\w+)` \|", repository.read(f"roles/{role}/README.md"), re.MULTILINE
    )
    assert rows == list(options(role))


@pytest.mark.parametrize("role", ROLES)
def test_what_is_documented_is_used(role: str) -> None:
    """By the role's code, and that uses nothing else, but for what the role leaves."""
    used = named(role, code(role))
    facts = {name for name in used if re.search(rf"^\s+{name}:(\s|$)", code(role), re.MULTILINE)}
    assert used - facts - set(options(role)) == set()
    assert set(options(role)) - used - named(role, yaml.safe_dump(defaults(role))) == set()


@pytest.mark.parametrize("role", ROLES)
def test_examples(role: str) -> None:
    """The README has an example, and its examples use no variable that is not there."""
    blocks = readme.blocks("yaml", file=repository.ROOT / "roles" / role / "README.md")
    examples = [yaml.safe_load(block.text) for block in blocks]
    assert examples
    known = {*options(role), f"{role}_result"}
    assert named(role, yaml.safe_dump(examples, width=1000)) <= known


@pytest.mark.parametrize("role", ROLES)
def test_there_is_a_scenario(role: str) -> None:
    """Molecule converges the role, in a scenario of its name."""
    assert (repository.ROOT / "extensions" / "molecule" / role / "molecule.yml").is_file()


@pytest.mark.parametrize("role", ROLES)
def test_secrets_may_be_encrypted_by_themselves(role: str) -> None:
    """With `no_log`, ansible-core before 2.19 refuses them; what it shows is the same without."""
    marked = {name for name, option in options(role).items() if option.get("no_log")}
    assert marked <= {"bot_secrets"}
