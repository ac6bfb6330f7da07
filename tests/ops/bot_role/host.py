# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""This machine as a host for the bot, with separate directories and a separate user.

The tests install two wheels of the checkout: one as it is, and one with a later version and schema.
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import urlopen

import yaml

from ansible_collections.postroom.email.tests.docs import fenced_blocks
from ansible_collections.postroom.email.tests.support import playbooks, repository
from ansible_collections.postroom.email.tests.support.bot import MAIL_HOST
from ansible_collections.postroom.email.tests.support.company import Company
from ansible_collections.postroom.email.tests.support.loopback import is_free
from ansible_collections.postroom.email.tools import ansible_tree

NAME = "postroom-ops-bot"
_PLAY = """\
- import_playbook: postroom.email.deploy_bot
- hosts: all
  gather_facts: false
  tasks:
    - copy: {dest: "{{ result_file }}", content: "{{ bot_result | to_json }}"}
      check_mode: false
      changed_when: false
      diff: false
"""
_README = repository.ROOT / "roles" / "bot" / "README.md"
LATER_VERSION, LATER_REVISION = "99.0.0", "9999"
_MIGRATION = '''\
"""Changes only the number."""

revision = "{later}"
down_revision = "{earlier}"


def upgrade() -> None:
    """Change nothing."""
'''


class Wheels(NamedTuple):
    """The two wheels, and the first wheel's version."""

    now: Path
    later: Path
    version: str


def build_wheels(folder: Path) -> Wheels:
    """Build both wheels from a copy of the checkout."""
    copy = folder / "copy"
    ansible_tree.copy_files(repository.ROOT, copy)
    now = _build(copy, folder / "now")
    galaxy = copy / "galaxy.yml"
    text = re.sub(r"(?m)^version: .*", f"version: {LATER_VERSION}", galaxy.read_text("utf-8"))
    galaxy.write_text(text, "utf-8")
    versions = copy / "bot" / "postroom_bot" / "store" / "migrations" / "versions"
    last = max(versions.glob("v*.py")).name[1:5]
    migration = _MIGRATION.format(later=LATER_REVISION, earlier=last)
    (versions / f"v{LATER_REVISION}_later.py").write_text(migration, "utf-8")
    return Wheels(now, _build(copy, folder / "later"), now.name.split("-")[1])


def _build(sources: Path, folder: Path) -> Path:
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(sources)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    [wheel] = folder.glob("*.whl")
    return wheel


class Host:
    """A host on which the bot is deployed.

    :param place: a directory that every user can access
    :ivar outputs: the output of each run
    """

    def __init__(self, place: Path, company: Company, wheels: Wheels) -> None:
        self.place = place
        self.company = company
        self.wheels = wheels
        self.data = place / "data"
        self.config = place / "config"
        self.log_file = place / "bot.log"
        self.pid_file = place / "bot.pid"
        self.secrets = {
            "slack_bot_token": company.slack.bot_token,
            "slack_app_token": company.slack.app_token,
            "api_token": company.mail.token,
        }
        self.policy = place / "controller" / "rules.yml"
        self.policy.parent.mkdir(mode=0o700)
        self.policy.write_text(company.policy, "utf-8")
        self.outputs: list[str] = []
        self._port = lasting_port()
        # Relative paths on the controller start at the directory in which Ansible is started.
        self._environment = playbooks.environment(
            self.policy.parent, ANSIBLE_PIPELINING="true", PWD=str(self.policy.parent)
        )

    def deploy(self, *options: str, **variables: Any) -> playbooks.Run:
        """Run the playbook at the highest verbosity, with the given variables replaced."""
        return self._play(_PLAY, {**self.variables(), **variables}, *options)

    def deploy_by_example(self) -> playbooks.Run:
        """Run the first example of the role's README in a directory that contains its files."""
        example = fenced_blocks.blocks("yaml", file=_README)[0].text
        [play] = yaml.safe_load(example)
        named = play["tasks"][0]["vars"]
        shutil.copy(self.wheels.now, self.policy.parent / named["bot_package"])
        shutil.copy(self.policy, self.policy.parent / named["bot_policy"])
        vault = {f"vault_{name}": secret for name, secret in self.secrets.items()}
        vault["vault_mail_token"] = vault.pop("vault_api_token")
        given = {**self._places(), **vault, "bot_settings": self.settings()}
        return self._play(example, given)

    def _play(self, text: str, variables: Mapping[str, Any], *options: str) -> playbooks.Run:
        folder = self.policy.parent
        play, given, inventory = folder / "play.yml", folder / "given.json", folder / "inventory"
        play.write_text(text, "utf-8")
        inventory.write_text(f"[postroom_bot]\n{NAME}-host\n", "utf-8")
        given.write_text(json.dumps(variables), "utf-8")
        given.chmod(0o600)
        loud = ("-i", str(inventory), "-e", f"@{given}", "-vvvv", "--diff")
        run = playbooks.run_playbook(play, self._environment, *loud, *options)
        given.unlink()
        self.outputs.append(run.output)
        return run

    def variables(self) -> dict[str, Any]:
        """Return the usual variables for the playbook."""
        return {
            **self._places(),
            "bot_package": str(self.wheels.now),
            "bot_settings": self.settings(),
            "bot_policy": str(self.policy),
            "bot_secrets": self.secrets,
        }

    def settings(self, **others: object) -> dict[str, object]:
        """Return the bot's settings."""
        return {
            "api_url": self.company.mail.url,
            "mail_host": MAIL_HOST,
            "slack_api_url": self.company.slack.base_url,
            "admin_port": self._port,
            **others,
        }

    @property
    def result(self) -> dict[str, Any]:
        """The `bot_result` variable from the last run that completed."""
        found: dict[str, Any] = json.loads((self.policy.parent / "result.json").read_text("utf-8"))
        return found

    @property
    def pid(self) -> int:
        """The process ID of the bot."""
        return int(self.pid_file.read_text("utf-8"))

    @property
    def log(self) -> str:
        """The bot's log."""
        return self.log_file.read_text("utf-8")

    def readiness(self) -> dict[str, Any]:
        """Return the response of /readyz."""
        with urlopen(f"http://127.0.0.1:{self._port}/readyz", timeout=30) as answer:
            found: dict[str, Any] = json.load(answer)
            return found

    def audit(self) -> list[str]:
        """Return the lines of the audit log."""
        command = [str(self.place / "home" / "bin" / "postroom-bot"), "audit", "show"]
        environment: Mapping[str, str] = {
            "CREDENTIALS_DIRECTORY": str(self.config / "credentials"),
            "POSTROOM_BOT_CONFIG": str(self.config / "settings.yml"),
        }
        shown = subprocess.run(
            command, cwd=self.data, env=environment, check=True, capture_output=True, text=True
        )
        return shown.stdout.splitlines()

    def _places(self) -> dict[str, Any]:
        return {
            "ansible_connection": "local",
            "ansible_become": False,
            "ansible_python_interpreter": "/usr/bin/python3",
            "bot_hosts": "all",
            "bot_service_manager": "none",
            "bot_name": NAME,
            "bot_home": str(self.place / "home"),
            "bot_config_dir": str(self.config),
            "bot_data_dir": str(self.data),
            "bot_log_file": str(self.log_file),
            "bot_pid_file": str(self.pid_file),
            "result_file": str(self.place / "controller" / "result.json"),
        }


def recap_of(run: playbooks.Run) -> playbooks.Recap:
    """Return the host's counts, without those of localhost."""
    lines = [line for line in run.output.splitlines() if f"{NAME}-host" in line]
    [found] = [recap for line in lines if (recap := playbooks.read_recap(line))]
    return found


def lasting_port() -> int:
    """Return a free port outside the range from which the kernel assigns ports."""
    given = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text("utf-8")
    first = int(given.split()[0])
    while True:
        port = secrets.choice(range(first // 2, first))
        if is_free("127.0.0.1", port):
            return port


def is_running(pid: int) -> bool:
    """Return whether there is a process with this ID."""
    return Path("/proc", str(pid)).exists()
