# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The role's systemd unit, and the places and databases that its variables allow."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

from ansible_collections.postroom.email.tests.support import (
    ansible_yaml,
    playbooks,
    repository,
)

EXAMPLE = "bot/examples/postroom-bot.service"
SECRETS = ("slack_bot_token", "slack_app_token", "api_token")
PYTHON = '{"minor": "3.11"}'
#: The unit's state, which is its name here; the role's action; the command to systemd.
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


def templated(text: str, **given: object) -> Any:
    """Return the value of a template with the role's variables, some of them replaced."""
    variables: dict[str, Any] = {}
    for file in ("defaults", "vars"):
        variables |= yaml.safe_load(repository.read(f"roles/bot/{file}/main.yml"))
    variables = ansible_yaml.with_texts(variables, trust_as_template)
    templar = Templar(loader=DataLoader(), variables={**variables, **given})
    return templar.template(trust_as_template(text))


def rendered(**given: object) -> str:
    """Return the unit that the role writes, with the secrets of the example."""
    template = repository.read("roles/bot/templates/postroom-bot.service.j2")
    return str(templated(template, bot_secrets=dict.fromkeys(SECRETS, "secret"), **given))


def directives(unit: str) -> list[str]:
    """Return the directives of a unit; the order of the secrets does not matter."""
    lines = [line for line in unit.splitlines() if line and not line.startswith("#")]
    secrets = iter(sorted(line for line in lines if line.startswith("LoadCredential=")))
    return [next(secrets) if line.startswith("LoadCredential=") else line for line in lines]


def test_the_example_is_what_the_role_writes() -> None:
    """With the defaults, both have the same directives."""
    assert directives(rendered()) == directives(repository.read(EXAMPLE))


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


@pytest.mark.parametrize(
    ("path", "is_refused"),
    [
        ("/srv/.bot/a..b", False),
        ("/srv", True),
        ("srv/bot", True),
        ("/srv/bot/", True),
        ("/srv//bot", True),
        ("/opt/bot/../../etc", True),
        ("/opt/bot/..", True),
    ],
)
def test_a_place_is_the_bot_s_own(path: str, is_refused: bool) -> None:
    """A place is an absolute path of two parts at least, without `.` or `..`."""
    for variable in ("bot_home", "bot_config_dir", "bot_data_dir", "bot_log_file", "bot_pid_file"):
        found = templated("{{ __bot_shared }}", **{variable: path})
        assert found == ([path] if is_refused else [])


def test_places_are_separate_and_visible() -> None:
    """Root writes nothing below the bot's data, and systemd hides no place from the bot."""
    data, hidden = "/var/lib/postroom-bot", "/run/user/1000/python3"
    assert templated("{{ __bot_nested + __bot_hidden }}", bot_home=f"{data}-program") == []
    for variable in ("bot_home", "bot_config_dir", "bot_log_file", "bot_pid_file"):
        inner = f"{data}/inner"
        assert templated("{{ __bot_nested }}", **{variable: inner}) == [f"{data}:{inner}"]
    for variable in ("bot_home", "bot_config_dir", "bot_data_dir", "bot_python"):
        assert templated("{{ __bot_hidden }}", **{variable: hidden}) == [hidden]


@pytest.mark.parametrize(
    "other", [{"bot_python": "/opt/python/bin/python3"}, {"bot_package": "postroom[bot]==0.2.0"}]
)
def test_another_python_or_package_gets_an_environment_of_its_own(other: dict[str, str]) -> None:
    """Even a Python of the same minor version, because the earlier one may be gone."""
    usual = {"bot_package": "postroom[bot]==0.1.0", "__bot_asked_python": {"stdout": PYTHON}}
    keys = [templated("{{ __bot_key }}", **given) for given in (usual, {**usual, **other})]
    assert keys[0] != keys[1]


def test_paths_are_relative_to_the_working_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """PWD is ignored: programs that start Ansible leave their own there."""
    monkeypatch.setenv("PWD", "/usr")
    file = templated("{{ __bot_policy_file }}", bot_policy="policy.yml")
    assert file == str(Path("policy.yml").resolve())


@pytest.mark.parametrize(
    ("database", "has_password"),
    [
        ("", False),
        ("/var/lib/postroom-bot/bot.sqlite3", False),
        ("postgresql://bot@db:5432/bot?sslmode=verify-full", False),
        ("postgresql://bot:pa:ss/@db:5432/bot", True),
        ("postgresql://bot@srv:secret@db/bot", True),
        ("postgresql://db/bot?user=bot&password=secret", True),
    ],
)
def test_a_password_in_the_database_s_url_is_found(database: str, has_password: bool) -> None:
    """It may be after the user's name or in a parameter."""
    given = {"database": database}
    assert templated("{{ __bot_open_database }}", bot_settings=given) is has_password
