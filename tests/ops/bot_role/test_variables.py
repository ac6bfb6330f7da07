# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Variables that the role refuses without showing a secret, and the role's systemd unit."""

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
from ansible_collections.postroom.email.tests.support.secrets import leaks
from postroom_bot import config

SECRET = "xoxb-juliet-5503-WQkz-7741-secret"
NAME = "postroom-needs"
#: The socket of another service.
OTHER = f"{NAME}-other"
UNIT = Path(f"/etc/systemd/system/{OTHER}.service")
GOOD: dict[str, Any] = {
    "bot_name": NAME,
    "bot_package": "postroom[bot]==0.1.0",
    "bot_service_manager": "none",
    "bot_settings": {"api_url": "https://mail.example.net", "mail_host": "mail.example.net"},
    "bot_policy": {"version": 1},
    "bot_secrets": {"slack_bot_token": SECRET},
}
#: Variables, and words that the message must contain. Each check has one case.
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no package": ({"bot_package": ""}, "bot_package is required"),
    "secrets as a string": (
        {"bot_secrets": f"slack_bot_token={SECRET}"},
        "bot_secrets must be a mapping.",
    ),
    "a secret that is a list": (
        {"bot_secrets": {"api_token": [SECRET]}},
        "api_token in bot_secrets must be a string",
    ),
    "a secret among the settings": (
        {"bot_settings": {"slack_bot_token": SECRET}},
        "slack_bot_token is a secret.",
    ),
    "a password in the database": (
        {"bot_settings": {"database": f"postgresql://bot:{SECRET}@db/bot"}},
        "database in bot_settings contains a password.",
    ),
    "a path as a secret's name": (
        {"bot_secrets": {"../../shadow": SECRET}},
        "../../shadow in bot_secrets is not the name of a setting.",
    ),
    "a path of the policy": (
        {"bot_settings": {"policy_file": "policy.yml"}},
        "The role sets policy_file.",
    ),
    "no fixed port": (
        {"bot_settings": {"admin_port": 0}},
        "admin_port in bot_settings must be a fixed port",
    ),
    "a missing policy": ({"bot_policy": "gone.yml"}, "Correct bot_policy."),
    "a missing wheel": ({"bot_package": "gone.whl"}, "Correct bot_package."),
    "a name with a blank": ({"bot_name": "my bot"}, "bot_name is not a valid name on Debian."),
    "root": ({"bot_user": "root"}, "bot_user must not be root"),
    "another service's user": ({"bot_user": "nobody"}, "The home directory of user nobody is not"),
    "a shared folder": ({"bot_data_dir": "/var"}, "/var can't be used for the bot."),
    "removal of another folder": (
        {"bot_state": "absent", "bot_purge_data": True, "bot_home": "/usr/local"},
        f"/usr/local already exists and was not created for {NAME}. ",
    ),
    "another program's log": (
        {"bot_log_file": "/etc/passwd"},
        f"/etc/passwd already exists and does not belong to {NAME}.",
    ),
    "a pid file in no folder": (
        {"bot_pid_file": "/etc/passwd/pid"},
        "/etc/passwd is not a directory on",
    ),
    "another service's name": (
        {"bot_name": OTHER, "bot_service_manager": "systemd", "bot_state": "absent"},
        f"/{OTHER}.service already exists and was not written for {OTHER}.",
    ),
    "another service manager": (
        {"bot_service_manager": "systemd", "bot_home": "{place}/home"},
        "/home/process belongs to a bot with another bot_service_manager.",
    ),
    "another user": ({"bot_data_dir": "{place}/data"}, "/data belongs to the user nobody."),
    "a folder that systemd hides": (
        {"bot_service_manager": "systemd", "bot_home": "/run/user/1000/bot"},
        "/run/user/1000/bot is hidden from the bot by its systemd unit.",
    ),
}


def tasks_of(cases: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return tasks that use the role with the variables of each case and store the messages."""
    said = "{{{{ said | default({{}}) | combine({{{!r}: ansible_failed_result.msg}}) }}}}"
    blocks = [
        {
            "vars": {key: f"{{{{ cases[{name!r}].{key} }}}}" for key in case},
            "block": [{"include_role": {"name": "postroom.email.bot"}}],
            "rescue": [{"set_fact": {"said": said.format(name)}}],
        }
        for name, case in cases.items()
    ]
    copy = {"dest": "{{ playbook_dir }}/said.json", "content": "{{ said | to_json }}"}
    return [*blocks, {"copy": copy, "check_mode": False}]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a directory with all messages as JSON and with the output of the run.

    The run is in check mode, so that a case that is not refused changes nothing on this machine.
    """
    place = tmp_path_factory.mktemp("needs")
    cases = {name: {**GOOD, **given} for name, (given, _words) in REFUSED.items()}
    play = {"hosts": "localhost", "gather_facts": False, "tasks": tasks_of(cases)}
    (place / "play.yml").write_text(yaml.safe_dump([play]), "utf-8")
    given = place / "given.json"
    given.write_text(json.dumps({"cases": cases}).replace("{place}", str(place)), "utf-8")
    # Directories of a bot that runs without systemd and as another user.
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
    """Each case's message names what to change, and none of the messages contains a secret."""
    said = json.loads((place / "said.json").read_text("utf-8"))
    missing = {name: said.get(name) for name in REFUSED if REFUSED[name][1] not in said[name]}
    assert missing == {}
    assert leaks([SECRET], [place]) == []


def test_secrets_are_those_of_the_bot() -> None:
    """The role excludes exactly the bot's secret settings from bot_settings."""
    role = repository.read_yaml("roles/bot/vars/main.yml")
    fields = config.Settings.model_fields.items()
    secret = {name for name, field in fields if "SecretStr" in str(field.annotation)}
    assert set(role["__bot_secret_settings"]) == secret
    assert role["__bot_prefix"] == config.PREFIX.lower()


def test_an_empty_group_of_hosts_is_an_error(tmp_path: Path) -> None:
    """The playbook fails if its group has no hosts, whereas Ansible would skip the play."""
    file = repository.ROOT / "playbooks" / "deploy_bot.yml"
    options = ("-i", "bot.example.com,", "-e", "bot_hosts=bots")
    run = playbooks.run_playbook(file, playbooks.environment(tmp_path), *options)
    assert run.status != 0
    assert "bots matches no host in the inventory" in run.output


EXAMPLE = "bot/examples/postroom-bot.service"
SECRETS = ("slack_bot_token", "slack_app_token", "api_token")
PYTHON = '{"minor": "3.11"}'
#: The state and name of the unit, the role's action, and the resulting systemd command.
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
_ORDERED_PLAY = """\
- hosts: localhost
  gather_facts: false
  environment: {PATH: "{{ playbook_dir }}:{{ lookup('env', 'PATH') }}"}
  tasks:
    - include_role: {name: postroom.email.bot, tasks_from: systemd}
      vars:
        bot_name: "{{ item[0] }}"
        __bot_service_action: "{{ item[1] }}"
        __bot_unit: "{{ item[3] }}"
      loop: "{{ orders }}"
"""


def templated(text: str, **given: object) -> Any:
    """Return the value of a template with the role's variables, some of which are replaced."""
    variables: dict[str, Any] = {}
    for file in ("defaults", "vars"):
        variables |= yaml.safe_load(repository.read(f"roles/bot/{file}/main.yml"))
    variables = ansible_yaml.with_texts(variables, trust_as_template)
    templar = Templar(loader=DataLoader(), variables={**variables, **given})
    return templar.template(trust_as_template(text))


def rendered(**given: object) -> str:
    """Provide the unit that the role writes with the example's secrets."""
    template = repository.read("roles/bot/templates/postroom-bot.service.j2")
    return str(templated(template, bot_secrets=dict.fromkeys(SECRETS, "secret"), **given))


def directives(unit: str) -> list[str]:
    """Return a unit's directives, with the secrets in any order."""
    lines = [line for line in unit.splitlines() if line and not line.startswith("#")]
    secrets = iter(sorted(line for line in lines if line.startswith("LoadCredential=")))
    return [next(secrets) if line.startswith("LoadCredential=") else line for line in lines]


def test_the_example_is_what_the_role_writes() -> None:
    """The example unit contains the directives that the role writes by default."""
    assert directives(rendered()) == directives(repository.read(EXAMPLE))


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    """Even with other names, systemd accepts the unit and rates it as secure."""
    unit = rendered(bot_name="other-bot", bot_data_dir="/srv/bot", bot_user="robot")
    assert "ReadWritePaths=/srv/bot\n" in unit
    file = tmp_path / "other-bot.service"
    file.write_text(unit.replace("/opt/other-bot/bin/postroom-bot", sys.executable), "utf-8")
    for command in (["verify"], ["security", "--offline=yes", "--threshold=20"]):
        done = subprocess.run(
            ["systemd-analyze", *command, str(file)], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_a_unit_is_told_what_systemd_takes(tmp_path: Path) -> None:
    """The role uses only commands that systemd accepts in the unit's current state."""
    program = tmp_path / "systemctl"
    program.write_text(_SYSTEMCTL, "utf-8")
    program.chmod(0o755)
    (tmp_path / "unit").touch()
    (tmp_path / "play.yml").write_text(_ORDERED_PLAY, "utf-8")
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
    """Each of the bot's paths must be absolute, with at least two parts and without `.` or `..`."""
    for variable in ("bot_home", "bot_config_dir", "bot_data_dir", "bot_log_file", "bot_pid_file"):
        found = templated("{{ __bot_invalid_paths }}", **{variable: path})
        assert found == ([path] if is_refused else [])


def test_places_are_separate_and_visible() -> None:
    """No path may be in the bot's data directory or in a place that systemd hides from the bot."""
    data, hidden = "/var/lib/postroom-bot", "/run/user/1000/python3"
    assert (
        templated("{{ __bot_nested_paths + __bot_hidden_paths }}", bot_home=f"{data}-program") == []
    )
    for variable in ("bot_home", "bot_config_dir", "bot_log_file", "bot_pid_file"):
        inner = f"{data}/inner"
        assert templated("{{ __bot_nested_paths }}", **{variable: inner}) == [f"{data}:{inner}"]
    for variable in ("bot_home", "bot_config_dir", "bot_data_dir", "bot_python"):
        assert templated("{{ __bot_hidden_paths }}", **{variable: hidden}) == [hidden]


@pytest.mark.parametrize(
    "other", [{"bot_python": "/opt/python/bin/python3"}, {"bot_package": "postroom[bot]==0.2.0"}]
)
def test_another_python_or_package_gets_an_environment_of_its_own(other: dict[str, str]) -> None:
    """Each combination of Python and package gets its own virtual environment."""
    usual = {"bot_package": "postroom[bot]==0.1.0", "__bot_python_info": {"stdout": PYTHON}}
    keys = [templated("{{ __bot_key }}", **given) for given in (usual, {**usual, **other})]
    assert keys[0] != keys[1]


def test_paths_are_relative_to_the_working_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative paths start at the working directory, and PWD is ignored."""
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
    """A password in a database URL is detected after the user name and in a parameter."""
    given = {"database": database}
    assert templated("{{ __bot_database_has_password }}", bot_settings=given) is has_password
