# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Where a bot runs that must keep its secrets: all that it gives away ends up in one folder."""

from __future__ import annotations

import base64
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ansible_collections.postroom.email.tests.bot.executors.automation import ALIAS_SURVEY
from ansible_collections.postroom.email.tests.bot.flows.premises import MailAccess
from ansible_collections.postroom.email.tests.fakes.awx.jobs import Awx, Play, Template, running_awx
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import Reply, Request, problem
from ansible_collections.postroom.email.tests.fakes.mail_api.spoiler import Spoiler, spoiled
from ansible_collections.postroom.email.tests.fakes.slack.records import View
from ansible_collections.postroom.email.tests.fakes.slack.world import PATIENCE
from ansible_collections.postroom.email.tests.support.bot import (
    PREFIX,
    PROGRAM,
    BotError,
    RunningBot,
    running_bot,
)
from ansible_collections.postroom.email.tests.support.company import Company, company
from ansible_collections.postroom.email.tests.support.postgresql import binaries
from ansible_collections.postroom.email.tests.support.secrets import leaks
from postroom_bot.__main__ import main

LAUNCHER = Path(__file__).with_name("canary_launcher.py")
DATABASE_PASSWORD = "db-pass-ECHO-5521-kqzx"
TYPED = (
    "Hunter2!typed-FOXTROT-8810",
    "Tr0ub4dor&3 GOLFGOLF99172x",
    "hotel7HOTEL7hotel7@example.com",
)
_OF = ("cmdline", "environ")


class Way(NamedTuple):
    """How the bot is run.

    :param login: to AWX, with ``token`` or ``basic``
    """

    mode: str
    backend: str
    style: str
    login: str

    def __str__(self) -> str:
        return "-".join(self)


@dataclass
class Stage:
    """A running bot, its counterparts, and the folder for all that comes out of it.

    :param mail: before the mail service; it goes wrong when told to
    :param automation: before AWX
    :param place: what the bot may write to
    :param kept: what was collected of the rest
    """

    here: Company
    bot: RunningBot
    mail: Spoiler
    automation: Spoiler
    awx: Awx
    place: Path
    kept: Path
    mistake: Path
    passwords: list[str] = field(default_factory=list)
    has_crashed: bool = False

    @property
    def secrets(self) -> dict[str, str]:
        """Every secret of the run, by what it is."""
        slack, world = self.here.slack, self.here.slack.world
        return {
            "bot token": slack.bot_token,
            "app token": slack.app_token,
            "signing secret": slack.signing_secret,
            "API token": self.here.mail.token,
            "AWX token": self.awx.token,
            "AWX password": self.awx.password,
            "database password": DATABASE_PASSWORD,
            **{f"response URL {n}": key for n, key in enumerate(world.response_urls)},
            **{f"password {n}": text for n, text in enumerate(self.passwords)},
            **{f"typed {n}": text for n, text in enumerate(TYPED)},
        }

    @property
    def places(self) -> list[Path]:
        """Where none of them may be."""
        service = self.here.mail
        return [
            self.place,
            self.kept,
            service.log_path,
            *Path(service.database).parent.glob("*.sqlite3*"),
        ]

    def learn(self, view: View) -> str:
        """Read the new password in a window as its owner does."""
        password = str(view.blocks[1]["elements"][0]["elements"][0]["text"])
        self.passwords.append(password)
        return password

    def keep(self, name: str, text: str) -> None:
        """Keep something that came out of the bot."""
        with (self.kept / name).open("a", encoding="utf-8") as file:
            file.write(text)

    def run(self, *arguments: str, **wrong: str) -> str:
        """Run another command of the product, and keep and return what it prints.

        :param wrong: settings that are not as they should be
        """
        command = [*PROGRAM, *arguments]
        environment = self._environment(wrong)
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        printed = f"{' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}"
        self.keep("commands", printed)
        return printed

    def check_config(self, **wrong: str) -> None:
        """Run check-config with wrong settings, in this process, and keep what it prints."""
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as told:
            for name, value in self._environment(wrong).items():
                patch.setenv(name, value)
            status = main(["check-config"])
        self.keep("commands", f"check-config: {status}\n{told.getvalue()}")

    def crash(self) -> None:
        """Have the main thread end with an error that holds secrets."""
        self.mistake.write_text("reload")
        self.bot.reload()
        assert self.bot.process.wait(PATIENCE) == 1
        self.has_crashed = True

    def leaks(self) -> dict[str, list[str]]:
        """Return where each secret shows."""
        found = {what: leaks([secret], self.places) for what, secret in self.secrets.items()}
        return {what: places for what, places in found.items() if places}

    def collect(self) -> None:
        """Keep what is seen of the bot while it runs, and a copy of its files as they are then."""
        self.keep("metrics", self.bot.metrics())
        self.keep("readiness", str(self.bot.readiness()))
        self.keep("processes", _processes(self.bot.pid))
        self.keep("automation", "\n".join([*self.awx.requests, *map(str, self.awx.jobs.values())]))
        shutil.copytree(self.place, self.kept / "living")
        if self.bot.database.startswith("postgresql"):
            self.keep("dump.sql", _dumped(self.bot.database))

    def collect_slack(self) -> None:
        """Keep what the bot sent to Slack, but for the calls that show a password."""
        with self.here.slack.world.changed:
            lines = list(self.here.slack.world.transcript)
        for line in lines:
            is_reveal = line.what.endswith("views.update") and "password_shown" in line.text
            if not line.what.startswith(("deliver", "redeliver")) and not is_reveal:
                self.keep("slack", f"{line.what}: {line.text}\n")

    def _environment(self, wrong: Mapping[str, str]) -> dict[str, str]:
        given = {f"{PREFIX}{name.upper()}": value for name, value in wrong.items()}
        return {**self.bot.environment, **given}


@contextmanager
def canary_stage(place: Path, way: Way, database: str | None) -> Iterator[Stage]:
    """Run everything until the block ends.

    :param database: the URL of one on PostgreSQL, or None for a file
    """
    bot_place, kept, mistake = place / "bot", place / "kept", place / "mistake"
    for made in (bot_place / "tmp", bot_place / "home", kept):
        made.mkdir(parents=True)
    mistake.write_text("")
    with _crash_is_fine(stages := list[Stage]()), ExitStack() as end:
        here = end.enter_context(company(place / "mail"))
        awx = end.enter_context(running_awx(_playing(here)))
        awx.templates = {
            7: Template("add_alias", ALIAS_SURVEY),
            8: Template("remove_alias", ALIAS_SURVEY),
        }
        mail = end.enter_context(spoiled(here.mail.url))
        automation = end.enter_context(spoiled(awx.url))
        patch = end.enter_context(pytest.MonkeyPatch.context())
        for name, value in _surroundings(bot_place).items():
            patch.setenv(name, value)
        bot = end.enter_context(
            running_bot(
                bot_place,
                here.slack,
                MailAccess(mail.url, here.mail.token),
                here.policy,
                mode=way.mode,
                database=database,
                settings=_settings(bot_place, way, awx, automation),
                program=(sys.executable, str(LAUNCHER), "--mistake", str(mistake)),
            )
        )
        if way.mode == "http":
            here.slack.deliver_over_http(bot.slack_url)
        stages.append(Stage(here, bot, mail, automation, awx, bot_place, kept, mistake))
        yield stages[0]


def echoing(status: int) -> Callable[[Request], Reply]:
    """Return what answers with an error that repeats all that was sent, in some forms."""

    def echo(request: Request) -> Reply:
        authorization = request.headers.get("authorization", "")
        scheme, _, value = authorization.partition(" ")
        if scheme == "Basic":
            value = base64.b64decode(value).decode()
        said = f"{value} {request.body.decode()} {dict(request.headers)} {request.body.hex()}"
        return problem(status, said, title=authorization)

    return echo


@contextmanager
def _crash_is_fine(stages: list[Stage]) -> Iterator[None]:
    """Let a bot end badly whose stage expects it."""
    try:
        yield
    except BotError:
        if not (stages and stages[0].has_crashed):
            raise


def _surroundings(place: Path) -> dict[str, str]:
    """Return the environment in which a bot writes to its own folder alone."""
    return {
        "HOME": str(place / "home"),
        "TMPDIR": str(place / "tmp"),
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }


def _settings(place: Path, way: Way, awx: Awx, automation: Spoiler) -> dict[str, object]:
    login = (
        {"awx_token": awx.token}
        if way.login == "token"
        else {"awx_username": awx.user, "awx_password": awx.password}
    )
    return {
        "log_level": "debug",
        "log_format": way.style,
        "audit_lines": place / "audit.jsonl" if way.style == "json" else "-",
        "auto_migrate": True,
        "timeout": 2,
        "executor": "awx",
        "awx_url": automation.url,
        "awx_add_alias_template": 7,
        "awx_remove_alias_template": 8,
        "awx_forwarder_template": 9,
        **login,
    }


def _playing(here: Company) -> Play:
    """Return what does at once as the playbook for an alias would."""

    def play(playbook: str, variables: Mapping[str, Any]) -> bool:
        assert playbook == "add_alias"
        mailbox, alias = variables["mail_mailbox"], variables["mail_alias"]
        emails = [*here.aliases(mailbox), alias]
        return here.api.patch(mailbox, emails=emails).is_success

    return play


def _processes(pid: int) -> str:
    """Return the arguments of a process, and the arguments and environments of its children."""
    told = [Path(f"/proc/{pid}/cmdline").read_text()]
    for thread in Path(f"/proc/{pid}/task").iterdir():
        # Threads and children may end while they are looked at.
        with suppress(FileNotFoundError, ProcessLookupError):
            children = (thread / "children").read_text().split()
            told += [Path(f"/proc/{child}/{of}").read_text() for child in children for of in _OF]
    return "\n".join(told)


def _dumped(url: str) -> str:
    place = binaries()
    assert place is not None
    done = subprocess.run(
        [str(place / "pg_dump"), "--dbname", url], capture_output=True, text=True, check=True
    )
    return done.stdout
