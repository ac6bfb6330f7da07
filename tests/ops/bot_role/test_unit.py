# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The systemd unit: the role's template and the bot's example are one, and systemd takes it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

from ansible_collections.postroom.email.tests.support import repository

EXAMPLE = "bot/examples/postroom-bot.service"
SECRETS = ("slack_bot_token", "slack_app_token", "api_token")


def variables(**given: object) -> dict[str, Any]:
    """Return the role's variables, with the secrets of the example and these in place of others."""
    found: dict[str, Any] = {}
    for file in ("defaults", "vars"):
        text = repository.read(f"roles/bot/{file}/main.yml")
        found |= {name: trusted(value) for name, value in yaml.safe_load(text).items()}
    return {**found, "bot_secrets": dict.fromkeys(SECRETS, "secret"), **given}


def trusted(value: Any) -> Any:
    """Return a variable as Ansible has it when it comes from a role."""
    if isinstance(value, dict):
        return {name: trusted(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [trusted(inner) for inner in value]
    return trust_as_template(value) if isinstance(value, str) else value


def rendered(**given: object) -> str:
    """Return the unit that the role writes."""
    template = repository.read("roles/bot/templates/postroom-bot.service.j2")
    templar = Templar(loader=DataLoader(), variables=variables(**given))
    return str(templar.template(trust_as_template(template)))


def directives(unit: str) -> list[str]:
    """Return what systemd reads of a unit, the secrets by their names."""
    lines = [line for line in unit.splitlines() if line and not line.startswith("#")]
    secrets = sorted(line for line in lines if line.startswith("LoadCredential="))
    where = next(i for i, line in enumerate(lines) if line.startswith("LoadCredential="))
    others = [line for line in lines if not line.startswith("LoadCredential=")]
    return [*others[:where], *secrets, *others[where:]]


def test_the_example_is_what_the_role_writes() -> None:
    """With the defaults, systemd reads the same, and every comment of the role's stands in it."""
    example, unit = repository.read(EXAMPLE), rendered()
    assert directives(unit) == directives(example)
    comments = re.findall("^#.*", unit.partition("[Unit]")[2], re.MULTILINE)
    assert set(comments) <= set(example.splitlines())


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    """With another name and other folders, too, and little of the machine is left to the bot."""
    unit = rendered(bot_name="other-bot", bot_data_dir="/srv/bot", bot_user="robot")
    assert "ReadWritePaths=/srv/bot\n" in unit
    file = tmp_path / "other-bot.service"
    file.write_text(unit.replace("/opt/other-bot/bin/postroom-bot", sys.executable), "utf-8")
    for command in (["verify"], ["security", "--offline=yes", "--threshold=20"]):
        told = subprocess.run(
            ["systemd-analyze", *command, str(file)], capture_output=True, text=True, check=False
        )
        assert (told.returncode, told.stderr) == (0, ""), told.stdout
