# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The systemd unit: the role's template and the bot's example are one, and systemd takes it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.ops.bot_role.templated import templated
from ansible_collections.postroom.email.tests.support import playbooks, repository

EXAMPLE = "bot/examples/postroom-bot.service"
SECRETS = ("slack_bot_token", "slack_app_token", "api_token")
#: How systemd says the bot is, its name here; what the role is to do; what systemd is told.
ORDERS = [
    ("active", "reload", "reload"),
    ("activating", "reload", "restart"),
    ("active", "stop", "stop"),
]
_SYSTEMCTL = """\
#!/bin/sh
echo "$*" >> "$0.log"
case $1 in
    is-active) echo "${2%.service}" ;;
    show) printf 'LoadState=loaded\\nActiveState=%s\\n' "${2%.service}" ;;
esac
"""
_PLAY = """\
- hosts: localhost
  gather_facts: false
  environment: {PATH: "{{ playbook_dir }}:{{ lookup('env', 'PATH') }}"}
  tasks:
    - include_role: {name: postroom.email.bot, tasks_from: systemd}
      vars: {bot_name: "{{ item[0] }}", __bot_act: "{{ item[1] }}", __bot_unit: "{{ item[3] }}"}
      loop: "{{ orders }}"
"""


def rendered(**given: object) -> str:
    """Return the unit that the role writes, with the secrets of the example."""
    template = repository.read("roles/bot/templates/postroom-bot.service.j2")
    return str(templated(template, bot_secrets=dict.fromkeys(SECRETS, "secret"), **given))


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


def test_a_unit_is_told_what_systemd_takes(tmp_path: Path) -> None:
    """One that waits to be started again can't be reloaded, and one that is gone not be stopped."""
    program = tmp_path / "systemctl"
    program.write_text(_SYSTEMCTL, "utf-8")
    program.chmod(0o755)
    (tmp_path / "unit").touch()
    (tmp_path / "play.yml").write_text(_PLAY, "utf-8")
    orders = [(*order, str(tmp_path / "unit")) for order in ORDERS]
    orders.append(("inactive", "stop", "", str(tmp_path / "gone")))
    given = ("-e", json.dumps({"orders": orders}))
    run = playbooks.run_playbook(tmp_path / "play.yml", playbooks.environment(tmp_path), *given)
    assert run.status == 0, run.output
    said = [line.split() for line in (tmp_path / "systemctl.log").read_text("utf-8").splitlines()]
    asked = {"is-active", "is-enabled", "is-failed", "show"}
    assert [words[0] for words in said if words[0] not in asked] == [told for _, _, told in ORDERS]
