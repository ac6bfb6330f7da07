# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The playbooks' heads and the README list the variables that the playbooks take, all of them."""

from __future__ import annotations

import re

import pytest
import yaml

from ansible_collections.postroom.email.tests.support import repository

PLAYBOOKS = [file.stem for file in repository.files() if file.parent.as_posix() == "playbooks"]
VARIABLE = re.compile(r"\b(?:vault_)?mail_\w+")
HEAD = re.compile(r"^#   (\w+)  +\S", re.MULTILINE)
ROW = re.compile(r"^\| (?P<names>`[^|]+`) \| (?P<playbooks>all|`[^|]+`) \|", re.MULTILINE)


def taken(playbook: str) -> set[str]:
    """Return the variables that a playbook uses and does not set itself."""
    text = repository.read(f"playbooks/{playbook}.yml")
    (play,) = yaml.safe_load(text)
    own = {*play.get("vars", {}), *(task.get("register") for task in play["tasks"])}
    return set(VARIABLE.findall(yaml.safe_dump(play))) - own


def told_by_readme(playbook: str) -> set[str]:
    """Return the variables that the README's table lists for a playbook."""
    rows = ROW.finditer(repository.read("README.md"))
    mine = [row for row in rows if row["playbooks"] == "all" or f"`{playbook}`" in row["playbooks"]]
    return {name for row in mine for name in re.findall(r"`(\w+)`", row["names"])}


def test_the_readme_lists_every_playbook() -> None:
    """By the name to run it by."""
    rows = re.findall(
        r"^\| \[`postroom\.email\.(\w+)`\]\(playbooks/(\w+)\.yml\)",
        repository.read("README.md"),
        re.MULTILINE,
    )
    assert rows == [(playbook, playbook) for playbook in PLAYBOOKS]


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_every_variable_is_documented(playbook: str) -> None:
    """What a playbook takes is in its head and in the README, and nothing else is."""
    head = repository.read(f"playbooks/{playbook}.yml").partition("\n- name:")[0]
    assert set(HEAD.findall(head)) == taken(playbook)
    assert told_by_readme(playbook) == taken(playbook)
