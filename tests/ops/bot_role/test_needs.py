# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The role refuses wrong variables before it changes the host, and shows no secret."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.support import playbooks, repository
from ansible_collections.postroom.email.tests.support.secrets import leaks
from postroom_bot import settings

SECRET = "xoxb-juliet-5503-WQkz-7741-secret"
NAME = "postroom-needs"
#: Another service.
OTHER = f"{NAME}-other"
UNIT = Path(f"/etc/systemd/system/{OTHER}.service")
GOOD: dict[str, Any] = {
    "bot_service_manager": "none",
    "bot_settings": {"api_url": "https://mail.example.net", "mail_host": "mail.example.net"},
    "bot_policy": {"version": 1},
    "bot_secrets": {"slack_bot_token": SECRET},
}
#: Variables, and words of the message: one case for each check.
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no package": ({"bot_package": ""}, "bot_package is not given"),
    "secrets as a string": (
        {"bot_secrets": f"slack_bot_token={SECRET}"},
        "bot_secrets is no mapping.",
    ),
    "a secret that is a list": (
        {"bot_secrets": {"api_token": [SECRET]}},
        "api_token in bot_secrets is empty or no text.",
    ),
    "a secret among the settings": (
        {"bot_settings": {"slack_bot_token": SECRET}},
        "slack_bot_token is a secret.",
    ),
    "a password in the database": (
        {"bot_settings": {"database": f"postgresql://bot:{SECRET}@db/bot"}},
        "database has a password in it.",
    ),
    "a path as a secret's name": (
        {"bot_secrets": {"../../shadow": SECRET}},
        "../../shadow in bot_secrets is no setting's name.",
    ),
    "a path of the policy": (
        {"bot_settings": {"policy_file": "policy.yml"}},
        "policy_file is set by the role.",
    ),
    "no fixed port": ({"bot_settings": {"admin_port": 0}}, "admin_port is 0 or no number"),
    "a missing policy": ({"bot_policy": "gone.yml"}, "Correct bot_policy."),
    "a missing wheel": ({"bot_package": "gone.whl"}, "Correct bot_package."),
    "a name with a blank": ({"bot_name": "my bot"}, "bot_name can't be a name on the host."),
    "root": ({"bot_user": "root"}, "bot_user is root"),
    "another service's user": ({"bot_user": "nobody"}, "The user nobody has another home than"),
    "a shared folder": ({"bot_data_dir": "/var"}, "/var can't be a place of the bot."),
    "removal of another folder": (
        {"bot_state": "absent", "bot_purge_data": True, "bot_home": "/usr/local"},
        f"/usr/local is there already, and was not made for {NAME}. ",
    ),
    "another program's log": (
        {"bot_log_file": "/etc/passwd"},
        f"/etc/passwd is there already, and is no file of {NAME}.",
    ),
    "a pid file in no folder": ({"bot_pid_file": "/etc/passwd/pid"}, "/etc/passwd is no folder on"),
    "another service's name": (
        {"bot_name": OTHER, "bot_service_manager": "systemd", "bot_state": "absent"},
        f"/{OTHER}.service is there already, and was not written for {OTHER}.",
    ),
    "another service manager": (
        {"bot_service_manager": "systemd", "bot_home": "{place}/home"},
        "/home/process is of a bot under another bot_service_manager.",
    ),
    "another user": ({"bot_data_dir": "{place}/data"}, "/data belongs to the user nobody."),
    "a folder that systemd hides": (
        {"bot_service_manager": "systemd", "bot_home": "/run/user/1000/bot"},
        "/run/user/1000/bot is hidden from the bot by its systemd unit.",
    ),
}
_PLAY = """\
- hosts: localhost
  gather_facts: false
  tasks:
    - include_tasks: one.yml
      loop: "{{ cases.keys() }}"
      loop_control: {loop_var: case}
    - copy: {dest: "{{ playbook_dir }}/said.json", content: "{{ said | to_json }}"}
      check_mode: false
"""
_ONE = """\
- vars:
    bot_settings: "{{ cases[case].bot_settings }}"
    bot_policy: "{{ cases[case].bot_policy }}"
    bot_secrets: "{{ cases[case].bot_secrets }}"
    bot_package: "{{ cases[case].bot_package | default('postroom[bot]==0.1.0') }}"
    bot_state: "{{ cases[case].bot_state | default('present') }}"
    bot_purge_data: "{{ cases[case].bot_purge_data | default(false) }}"
    bot_name: "{{ cases[case].bot_name | default('postroom-needs') }}"
    bot_user: "{{ cases[case].bot_user | default(bot_name) }}"
    bot_home: "{{ cases[case].bot_home | default('/opt/' ~ bot_name) }}"
    bot_data_dir: "{{ cases[case].bot_data_dir | default('/var/lib/' ~ bot_name) }}"
    bot_log_file: "{{ cases[case].bot_log_file | default('/var/log/' ~ bot_name) }}"
    bot_pid_file: "{{ cases[case].bot_pid_file | default('/run/' ~ bot_name) }}"
    bot_service_manager: "{{ cases[case].bot_service_manager }}"
  block:
    - include_role: {name: postroom.email.bot}
  rescue:
    - set_fact:
        said: "{{ said | default({}) | combine({case: ansible_failed_result.msg}) }}"
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the output of one run of all cases, and their messages as JSON.

    The run is in check mode, so that a case that is not refused leaves this machine alone.
    """
    place = tmp_path_factory.mktemp("needs")
    (place / "play.yml").write_text(_PLAY, "utf-8")
    (place / "one.yml").write_text(_ONE, "utf-8")
    cases = {name: {**GOOD, **given} for name, (given, _words) in REFUSED.items()}
    given = place / "given.json"
    given.write_text(json.dumps({"cases": cases}).replace("{place}", str(place)), "utf-8")
    # Folders of a bot without systemd and with another user.
    for folder in (place / "home", place / "data"):
        folder.mkdir()
        (folder / f".made-for-{NAME}").touch()
    (place / "home" / "process").touch()
    shutil.chown(place / "data", "nobody")
    UNIT.parent.mkdir(parents=True, exist_ok=True)
    UNIT.write_text("[Service]\nExecStart=/bin/true\n", "utf-8")
    try:
        environment = playbooks.environment(place, ANSIBLE_PIPELINING="true")
        options = ("-e", f"@{given}", "--check", "--diff", "-vvvv")
        run = playbooks.run_playbook(place / "play.yml", environment, *options)
    finally:
        UNIT.unlink()
    assert run.status == 0, run.output
    (place / "printed").write_text(run.output, "utf-8")
    given.unlink()
    return place


def test_wrong_variables_are_refused(place: Path) -> None:
    """The message of each case names what to change, and none repeats a secret."""
    said = json.loads((place / "said.json").read_text("utf-8"))
    missing = {name: said.get(name) for name in REFUSED if REFUSED[name][1] not in said[name]}
    assert missing == {}
    assert leaks([SECRET], [place]) == []


def test_secrets_are_those_of_the_bot() -> None:
    """The role keeps exactly the bot's secret settings out of bot_settings."""
    role = repository.read_yaml("roles/bot/vars/main.yml")
    fields = settings.Settings.model_fields.items()
    secret = {name for name, field in fields if "SecretStr" in str(field.annotation)}
    assert set(role["__bot_secret_settings"]) == secret
    assert role["__bot_prefix"] == settings.PREFIX.lower()


def test_an_empty_group_of_hosts_is_an_error(tmp_path: Path) -> None:
    """The playbook fails where Ansible would skip the play and succeed."""
    file = repository.ROOT / "playbooks" / "deploy_bot.yml"
    options = ("-i", "bot.example.com,", "-e", "bot_hosts=bots")
    run = playbooks.run_playbook(file, playbooks.environment(tmp_path), *options)
    assert run.status != 0
    assert "No host of the inventory is in bots." in run.output
