# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the role refuses before it touches the host: one sentence each, and never with a secret."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.postroom.email.tests.support import playbooks, repository
from ansible_collections.postroom.email.tests.support.secrets import leaks
from postroom_bot import settings

SECRET = "xoxb-juliet-5503-WQkz-7741-secret"
NAME = "postroom-needs"
#: What is another service's.
OTHER = f"{NAME}-other"
UNIT = Path(f"/etc/systemd/system/{OTHER}.service")
GOOD: dict[str, Any] = {
    "bot_service_manager": "none",
    "bot_settings": {"api_url": "https://mail.example.net", "mail_host": "mail.example.net"},
    "bot_policy": {"version": 1},
    "bot_secrets": {"slack_bot_token": SECRET},
}
#: What is given beside, and what is said.
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no package": ({"bot_package": ""}, "bot_package is not given, and the bot needs it."),
    "nothing": ({"bot_settings": {}}, "bot_settings is not given, and the bot needs it."),
    "no policy": ({"bot_policy": ""}, "bot_policy is not given"),
    "no secrets": ({"bot_secrets": {}}, "bot_secrets is not given"),
    "secrets as text": ({"bot_secrets": SECRET}, "bot_secrets"),
    "secrets as a text that Ansible could read": (
        {"bot_secrets": f"slack_bot_token={SECRET}"},
        "bot_secrets is no mapping. Give names with their values",
    ),
    "settings as JSON": (
        {"bot_settings": json.dumps(GOOD["bot_settings"])},
        "bot_settings is no mapping. Give names with their values",
    ),
    "a secret that is a list": (
        {"bot_secrets": {"api_token": [SECRET]}},
        "api_token in bot_secrets is empty or no text.",
    ),
    "a secret among the settings": (
        {"bot_settings": {"slack_bot_token": SECRET}},
        "slack_bot_token is a secret. Move it from bot_settings to bot_secrets.",
    ),
    "a password in the database": (
        {"bot_settings": {"database": f"postgresql://bot:{SECRET}@db/bot"}},
        "database has a password in it. Move it from bot_settings to bot_secrets.",
    ),
    "a secret's name that leads elsewhere": (
        {"bot_secrets": {"../../shadow": SECRET}},
        "../../shadow in bot_secrets is no setting's name.",
    ),
    "a place of the policy": (
        {"bot_settings": {"policy_file": "policy.yml"}},
        "policy_file is set by the role.",
    ),
    "no fixed port": ({"bot_settings": {"admin_port": 0}}, "admin_port is 0 or no number"),
    "a policy that is not there": ({"bot_policy": "gone.yml"}, "There is no file"),
    "a wheel that is not there": ({"bot_package": "gone.whl"}, "Correct bot_package."),
    "a name with a blank": ({"bot_name": "my bot"}, "bot_name can't be a name on the host."),
    "root": ({"bot_user": "root"}, "bot_user is root, which the bot must not run as."),
    "somebody else's user": ({"bot_user": "nobody"}, "The user nobody has another home than"),
    "everybody's folder": ({"bot_data_dir": "/var"}, "/var can't be a place of the bot."),
    "removal of somebody else's folder": (
        {"bot_state": "absent", "bot_purge_data": True, "bot_home": "/usr/local"},
        f"/usr/local is there already, and was not made for {NAME}. ",
    ),
    "a log where the bot writes": (
        {"bot_log_file": f"/var/lib/{NAME}/log"},
        f"/var/lib/{NAME}/log lies in another folder of the bot.",
    ),
    "a log that is somebody else's": (
        {"bot_log_file": "/etc/passwd"},
        f"/etc/passwd is there already, and is no file of {NAME}.",
    ),
    "a log in no folder": ({"bot_log_file": "/nowhere/bot/log"}, "/nowhere/bot is no folder on"),
    "a pid file in no folder": ({"bot_pid_file": "/etc/passwd/pid"}, "/etc/passwd is no folder on"),
    "a name that another service has": (
        {"bot_name": OTHER, "bot_service_manager": "systemd", "bot_state": "absent"},
        f"/{OTHER}.service is there already, and was not written for {OTHER}.",
    ),
    "another service manager": (
        {"bot_service_manager": "systemd", "bot_home": "{place}/home"},
        "/home/process is of a bot under another bot_service_manager.",
    ),
    "another user of a bot that is there": (
        {"bot_data_dir": "{place}/data"},
        "/data belongs to the user nobody. Leave bot_user as it was",
    ),
    "removal with another user": (
        {"bot_data_dir": "{place}/data", "bot_state": "absent"},
        "/data belongs to the user nobody.",
    ),
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
    """Return a folder with what was printed, and what was said of each case as JSON.

    In check mode: what should not be refused after all is not to get onto this machine.
    """
    place = tmp_path_factory.mktemp("needs")
    (place / "play.yml").write_text(_PLAY, "utf-8")
    (place / "one.yml").write_text(_ONE, "utf-8")
    cases = {name: {**GOOD, **given} for name, (given, _said) in REFUSED.items()}
    given = place / "given.json"
    given.write_text(json.dumps({"cases": cases}).replace("{place}", str(place)), "utf-8")
    _make_another_bot(place)
    with another_service():
        _play(place, given)
    given.unlink()
    return place


@contextmanager
def another_service() -> Iterator[None]:
    """Have systemd's unit of something else on this machine."""
    UNIT.parent.mkdir(parents=True, exist_ok=True)
    UNIT.write_text("[Service]\nExecStart=/bin/true\n", "utf-8")
    try:
        yield
    finally:
        UNIT.unlink()


def _play(place: Path, given: Path) -> None:
    environment = playbooks.environment(place, ANSIBLE_PIPELINING="true")
    options = ("-e", f"@{given}", "--check", "--diff", "-vvvv")
    run = playbooks.run_playbook(place / "play.yml", environment, *options)
    assert run.status == 0, run.output
    (place / "printed").write_text(run.output, "utf-8")


def _make_another_bot(place: Path) -> None:
    """Make what is left of a bot without systemd that has another user."""
    for folder in ("home", "data"):
        (place / folder).mkdir()
        (place / folder / f".made-for-{NAME}").touch()
    (place / "home" / "process").touch()
    shutil.chown(place / "data", "nobody")


@pytest.mark.parametrize("case", REFUSED)
def test_a_mistake_is_told(place: Path, case: str) -> None:
    """Each gets the sentence that names what to change."""
    said = json.loads((place / "said.json").read_text("utf-8"))
    assert REFUSED[case][1] in said[case]


def test_no_mistake_shows_a_secret(place: Path) -> None:
    """Secrets in the wrong place or of the wrong kind are not repeated, in no file that is left."""
    assert leaks([SECRET], [place]) == []


def test_secrets_may_be_encrypted_by_themselves() -> None:
    """Ansible before 2.19 can't look through such a value for what it is not to log."""
    specs = yaml.safe_load(repository.read("roles/bot/meta/argument_specs.yml"))
    assert "no_log" not in specs["argument_specs"]["main"]["options"]["bot_secrets"]


def test_secrets_are_the_bots() -> None:
    """What may not be among the settings is what the bot keeps secret, and nothing else."""
    role = yaml.safe_load(repository.read("roles/bot/vars/main.yml"))
    fields = settings.Settings.model_fields.items()
    secret = {name for name, field in fields if "SecretStr" in str(field.annotation)}
    assert set(role["__bot_secret_settings"]) == secret
    assert role["__bot_prefix"] == settings.PREFIX.lower()
