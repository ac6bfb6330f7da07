# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Runs the bot as a process, with a fake Slack workspace and a mail service."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from ansible_collections.postroom.email.tests.fakes.slack.workspace import Workspace
from ansible_collections.postroom.email.tests.support.processes import Running
from ansible_collections.postroom.email.tests.support.service import RunningService

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 120.0
STOP_SECONDS = 60.0
PREFIX = "POSTROOM_BOT_"
MAIL_HOST = "mail.postroom.test"
PROGRAM = (sys.executable, "-m", "postroom_bot")


class BotError(RuntimeError):
    """Raised if the bot does not start or exit as expected, with the end of its log."""


class RunningBot(Running):
    """A bot process that is ready."""

    error = BotError

    def __init__(self, directory: Path, environment: Mapping[str, str]) -> None:
        self.directory = directory
        self.database = environment[f"{PREFIX}DATABASE"]
        self.policy_file = Path(environment[f"{PREFIX}POLICY_FILE"])
        self._ready_file = directory / f"ready-{time.monotonic_ns()}.json"
        command = [*PROGRAM, "serve", "--ready-file", str(self._ready_file)]
        super().__init__(command, environment, directory / "bot.log", STOP_SECONDS)
        try:
            self.wait_until(self._ready_file.exists, START_SECONDS)
            self._addresses = json.loads(self._ready_file.read_text(encoding="utf-8"))
            self.wait_until(lambda: self.readiness()[0] == 200, START_SECONDS)
        except BaseException:
            self.kill()
            raise

    @property
    def admin_url(self) -> str:
        """The base URL of /healthz, /readyz and /metrics."""
        return str(self._addresses["admin"])

    @property
    def slack_url(self) -> str:
        """The URL to which Slack sends requests; empty in Socket Mode."""
        return str(self._addresses["slack"])

    def readiness(self) -> tuple[int, dict[str, Any]]:
        """Return the status and body of /readyz."""
        answer = httpx.get(f"{self.admin_url}/readyz", timeout=30, trust_env=False)
        return answer.status_code, answer.json()

    def metrics(self) -> str:
        """Return the body of /metrics."""
        return httpx.get(f"{self.admin_url}/metrics", timeout=30, trust_env=False).text

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run another command of the bot with the same settings."""
        return subprocess.run(
            [*PROGRAM, *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=START_SECONDS,
        )

    def reload(self) -> None:
        """Make the bot reload its policy."""
        self.process.send_signal(signal.SIGHUP)


@contextmanager
def running_bot(
    directory: str | os.PathLike[str],
    slack: Workspace,
    mail: RunningService,
    policy: str | Path,
    *,
    mode: str = "socket",
    database: str | None = None,
    settings: Mapping[str, object] | None = None,
) -> Iterator[RunningBot]:
    """Run the bot, with its files in a directory, and stop it on exit.

    The bot is ready when the block begins. By default, the database is a file in the directory, so
    a second run in the same directory continues with the first run's state. An exit status other
    than 0 is an error, except after `kill()`.

    :param policy: the text of the policy, or the path of its file
    :param settings: additional settings, keyed by name, such as ``{"log_level": "debug"}``
    """
    place = Path(directory).resolve()
    place.mkdir(parents=True, exist_ok=True)
    given = bot_settings(place, slack, mail, policy, mode=mode, database=database)
    bot = RunningBot(place, bot_environment({**given, **(settings or {})}))
    try:
        yield bot
    finally:
        status = bot.stop()
    bot.check(status)


def bot_settings(
    directory: Path,
    slack: Workspace,
    mail: RunningService,
    policy: str | Path,
    *,
    mode: str = "socket",
    database: str | None = None,
) -> dict[str, object]:
    """Return the settings of a bot whose files are in a directory, keyed by name."""
    if isinstance(policy, str):
        file = directory / "policy.yml"
        file.write_text(policy, encoding="utf-8")
        policy = file
    return {
        "mode": mode,
        "slack_api_url": slack.base_url,
        "slack_bot_token": slack.bot_token,
        "slack_app_token": slack.app_token,
        "slack_signing_secret": slack.signing_secret,
        "database": database or str(directory / "bot.sqlite3"),
        "policy_file": policy,
        "api_url": mail.url,
        "api_token": mail.token,
        "mail_host": MAIL_HOST,
        "http_port": 0,
        "admin_port": 0,
    }


def bot_environment(settings: Mapping[str, object]) -> dict[str, str]:
    """Return the environment of a bot process with exactly these settings."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(PREFIX)}
    # The bot can import everything that this process can import, including the collection.
    paths = [str(ROOT / "bot"), str(ROOT / "common"), *filter(None, sys.path)]
    given = {f"{PREFIX}{name.upper()}": str(value) for name, value in settings.items()}
    return {**kept, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1", **given}
