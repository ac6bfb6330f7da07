# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The service's README says what the service does."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from postroom_service.faults import READERS
from postroom_service.problems import KINDS

ROOT = Path(__file__).parents[2]
README = (ROOT / "service" / "README.md").read_text(encoding="utf-8")


def test_every_code_is_in_the_table_with_its_status() -> None:
    """The table of codes lists all of them and no others."""
    rows = re.findall(r"^\| (\d{3}) \| `(\w+)` \|", README, re.MULTILINE)
    assert {code: int(status) for status, code in rows} == {
        code: kind.status for code, kind in KINDS.items()
    }


def test_every_option_is_in_a_table() -> None:
    """Each option that the help knows is explained, and each that is explained exists."""
    command = [sys.executable, "-m", "postroom_service"]
    environment = {"PYTHONPATH": ":".join(sys.path)}
    known: set[str] = set()
    for arguments in (["serve"], ["token", "create"], ["token", "list"], ["token", "revoke"]):
        text = subprocess.run(
            [*command, *arguments, "--help"],
            check=True,
            capture_output=True,
            text=True,
            env=environment,
        ).stdout
        known |= set(re.findall(r"--[a-z][a-z-]+", text))
    explained = set(re.findall(r"(?<=[`\[ ])--[a-z][a-z-]+", README))
    assert known - {"--help"} == explained


def test_every_fault_is_in_the_table() -> None:
    """The keys of a fault specification are all explained."""
    section = README.split("## Faults")[1].split("## Storage")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == set(READERS)


def test_the_requirements_are_those_of_the_wheel() -> None:
    """The table of packages and the Python it names are what the wheel's metadata says."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    section = README.split("## Requirements")[1]
    rows = re.findall(r"^\| ([\w\[\]-]+) \| ([\d.]+) \|", section, re.MULTILINE)
    assert [">=".join(row) for row in rows] == project["optional-dependencies"]["service"]
    assert f"Python {project['requires-python'].removeprefix('>=')} or newer" in section
