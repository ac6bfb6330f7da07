# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The bot never exposes a secret, even at the log level `debug` and with all kinds of errors."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from ansible_collections.postroom.email.tests.bot.backends.sample_changes import ALIAS_SURVEY
from ansible_collections.postroom.email.tests.fakes.awx.jobs import Awx, Play, Template, running_awx
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import Reply, Request, problem
from ansible_collections.postroom.email.tests.fakes.slack.person import Person
from ansible_collections.postroom.email.tests.support.bot import RunningBot, running_bot
from ansible_collections.postroom.email.tests.support.company import (
    ALICE,
    Company,
    open_company,
    password_in,
)
from ansible_collections.postroom.email.tests.support.recording_proxy import Recorder, recording
from ansible_collections.postroom.email.tests.support.secrets import leaks

TYPED = (
    "Hunter2!typed-FOXTROT-8810",
    "Tr0ub4dor&3 GOLFGOLF99172x",
    "hotel7HOTEL7hotel7@example.com",
)
DEFINITION_TOKEN = "definition/t0ken+HOTEL-Kq73-Xy28-Wz91"
WORDS = (
    "help",
    "alias list",
    "forward list",
    "status",
    "cancel R-9999",
    "pasword of mine",
    "forward add out@example.com to someone@example.net",
)


@dataclass
class SecretsRun:
    """A running bot, the services that it talks to, and the directory that collects its output.

    :param mail: the recorder in front of the mail service
    :param automation: the recorder in front of AWX
    """

    company: Company
    bot: RunningBot
    mail: Recorder
    automation: Recorder
    awx: Awx
    place: Path
    kept: Path
    passwords: list[str] = field(default_factory=list)

    # All uses of the bot, and many kinds of errors.

    def use_commands(self) -> None:
        """Type commands, and open the Home tab."""
        alice = self.company.alice
        for word in WORDS:
            assert alice.command(f"/email {word}").ok
        self.company.slack.wait_for(
            lambda: self.company.slack.log().count("call response_url") >= 2
        )
        alice.open_home()
        self.company.slack.wait_for(lambda: alice.sees().home)
        self.company.slack.change_user(alice, real_name="Alice A.")
        for text in TYPED:
            alice.command(f"/email password {text}")
            alice.command(f"/email passwort {text}")
            alice.command(f"/email alias add {text.split('@')[0]}")
        # Wait for the modal that opens when the text looks like an address.
        self.company.window(alice, "note")

    def use_requests(self) -> None:
        """Have one request approved, and executed by AWX."""
        company = self.company
        company.alice.command("/email alias add by-command@example.com because I sell")
        company.bob.press(company.card_of(company.alice, "by-command@"), "request_approve")
        company.wait_told(company.alice, "by-command@", "Done")

    def make_passwords(self) -> None:
        """Have Alice create two passwords, one of which Carol requested."""
        company = self.company
        company.alice.command("/email password")
        self._confirm(company.alice)
        company.carol.command(f"/email password {ALICE}")
        card = company.card_of(company.carol, "new password")
        for approver in (company.bob, company.dora):
            approver.press(card, "request_approve")
        company.alice.press(company.wait_told(company.alice, "ready to copy it"), "password_show")
        self._confirm(company.alice)

    def have_services_echo(self) -> None:
        """Make the mail service and AWX respond with errors that echo each request."""
        company, alice = self.company, self.company.alice
        for status in (401, 422, 500):
            with _echoing(self.mail, status, "PATCH"):
                alice.command("/email password")
                alice.submit(company.window(alice, "password_confirm"))
                company.window(alice, "note")
            before = len(alice.sees().ephemerals)
            with _echoing(self.mail, status):
                alice.command("/email alias list")
                alice.command(f"/email alias add echo-{status}@example.com")
                self.company.slack.wait_for(lambda: len(alice.sees().ephemerals) >= before + 3)  # noqa: B023
        for status in (401, 500):
            alice.command(f"/email alias add job-{status}@example.com")
            card = company.card_of(alice, f"job-{status}@")
            self.automation.take()
            with _echoing(self.automation, status, "launch"):
                company.bob.press(card, "request_approve")
                self.company.slack.wait_for(self.automation.take)
        company.wait_told(alice, "job-500@", "Done")

    def have_slack_fail(self) -> None:
        """Make Slack fail, and then reject calls."""
        company, alice, faults = self.company, self.company.alice, self.company.slack.faults
        for method in ("views.open", "response_url", "views.publish", "chat.postMessage"):
            faults.fail(method)
            faults.reset(method)
            faults.rate_limit(method)
        for number in range(5):
            for word in ("", f"forward add f{number}@example.com to {ALICE}", "alias list"):
                alice.command(f"/email {word}")
            alice.open_home()
        company.card_of(alice, "f4@")
        faults.clear()
        alice.command("/email password")
        window = company.window(alice, "password_confirm")
        faults.fail("views.update", times=10)
        alice.submit(window)
        self.company.slack.wait_for(lambda: "Slack is not responding" in self.bot.log())
        faults.clear()

    def read_definition(self) -> None:
        """Request the definition, with the right token and with a wrong one."""
        for token, status in ((DEFINITION_TOKEN, 200), (f"{DEFINITION_TOKEN}x", 401)):
            headers = {"Authorization": f"Bearer {token}"}
            url = f"{self.bot.admin_url}/definition"
            response = httpx.get(url, headers=headers, timeout=30, trust_env=False)
            assert response.status_code == status
            self.keep("definition", f"{response.headers}\n{response.text}")

    # The bot's output.

    def keep(self, name: str, text: str) -> None:
        """Store a piece of the bot's output."""
        with (self.kept / name).open("a", encoding="utf-8") as file:
            file.write(text)

    def collect(self) -> None:
        """Collect everything that the running bot exposes, and a copy of its files."""
        self.keep("metrics", self.bot.metrics())
        self.keep("readiness", str(self.bot.readiness()))
        self.keep("processes", _processes(self.bot.pid))
        self.keep("automation", "\n".join([*self.awx.requests, *map(str, self.awx.jobs.values())]))
        shutil.copytree(self.place, self.kept / "living")
        with self.company.slack.state.changed:
            lines = list(self.company.slack.state.transcript)
        for line in lines:
            is_reveal = line.what.endswith("views.update") and "password_shown" in line.text
            if not line.what.startswith(("deliver", "redeliver")) and not is_reveal:
                self.keep("slack", f"{line.what}: {line.text}\n")

    def leaks(self) -> dict[str, list[str]]:
        """Return the places in which each secret appears."""
        slack, service = self.company.slack, self.company.mail
        secrets = {
            "bot token": slack.bot_token,
            "app token": slack.app_token,
            "signing secret": slack.signing_secret,
            "API token": service.token,
            "AWX token": self.awx.token,
            "definition token": DEFINITION_TOKEN,
            **{f"response URL {n}": key for n, key in enumerate(slack.state.response_urls)},
            **{f"password {n}": text for n, text in enumerate(self.passwords)},
            **{f"typed {n}": text for n, text in enumerate(TYPED)},
        }
        databases = Path(service.database).parent.glob("*.sqlite3*")
        places = [self.place, self.kept, service.log_path, *databases]
        found = {what: leaks([secret], places) for what, secret in secrets.items()}
        return {what: where for what, where in found.items() if where}

    def _confirm(self, person: Person) -> None:
        """Create a password as the given user, and remember it."""
        person.submit(self.company.window(person, "password_confirm"))
        self.passwords.append(password_in(self.company.window(person, "password_shown")))


@pytest.fixture
def run(tmp_path: Path) -> Iterator[SecretsRun]:
    """Run the bot together with all services that it uses."""
    place, kept = tmp_path / "bot", tmp_path / "kept"
    for made in (place / "tmp", place / "home", kept):
        made.mkdir(parents=True)
    with ExitStack() as end:
        company = end.enter_context(open_company(tmp_path / "mail"))
        awx = end.enter_context(running_awx(_playing(company)))
        awx.templates = {
            7: Template("add_alias", ALIAS_SURVEY),
            8: Template("remove_alias", ALIAS_SURVEY),
        }
        mail = end.enter_context(recording(company.mail.url))
        automation = end.enter_context(recording(awx.url))
        patch = end.enter_context(pytest.MonkeyPatch.context())
        settings = {
            "api_url": mail.url,
            "log_level": "debug",
            "audit_lines": place / "audit.jsonl",
            "timeout": 2,
            "executor": "awx",
            "awx_url": automation.url,
            "awx_token": awx.token,
            "awx_add_alias_template": 7,
            "awx_remove_alias_template": 8,
            "awx_forwarder_template": 9,
            "definition_token": DEFINITION_TOKEN,
        }
        # Check that the bot writes only to its own directory.
        patch.setenv("HOME", str(place / "home"))
        patch.setenv("TMPDIR", str(place / "tmp"))
        running = running_bot(
            place,
            company.slack,
            company.mail,
            company.policy,
            mode="http",
            settings=settings,
        )
        bot = end.enter_context(running)
        company.slack.deliver_over_http(bot.slack_url)
        yield SecretsRun(company, bot, mail, automation, awx, place, kept)


def test_nothing_shows(run: SecretsRun) -> None:
    """No file, log, message, metric, process or printed line contains any of the secrets."""
    run.use_commands()
    run.use_requests()
    run.make_passwords()
    run.read_definition()
    run.have_services_echo()
    run.have_slack_fail()
    for arguments in (["audit", "show"], ["audit", "verify"], ["definition"], ["check-config"]):
        done = run.bot.command(*arguments)
        run.keep("commands", f"{arguments}\n{done.stdout}{done.stderr}")
        assert done.returncode == 0
    run.collect()
    assert run.bot.stop() == 0
    assert len(run.passwords) == 2
    assert run.leaks() == {}
    # Check that all places were searched: each one contains a known word that is not secret.
    words = {"processes": "--ready-file", "metrics": "errors_total", "readiness": "policy"}
    for name in ("slack", "commands", "automation", "living", *words):
        assert leaks([words.get(name, "by-command@example.com")], [run.kept / name]), name
    assert leaks(["Slack is not responding"], [run.bot.log_path])


@contextmanager
def _echoing(spoiler: Recorder, status: int, part: str = "") -> Iterator[None]:
    """Make a service respond with an error that echoes the request in several encodings."""

    def echo(request: Request) -> Reply:
        authorization = request.headers.get("authorization", "")
        scheme, _, value = authorization.partition(" ")
        if scheme == "Basic":
            value = base64.b64decode(value).decode()
        said = f"{value} {request.body.decode()} {dict(request.headers)} {request.body.hex()}"
        return problem(status, said, title=authorization)

    spoiler.spoil(echo, part=part, times=10_000)
    yield
    spoiler.heal()


def _playing(company: Company) -> Play:
    """Return a function that makes the same change as the playbook for an alias."""

    def play(playbook: str, variables: Mapping[str, Any]) -> bool:
        assert playbook == "add_alias"
        mailbox, alias = variables["mail_mailbox"], variables["mail_alias"]
        emails = [*company.aliases(mailbox), alias]
        return company.api.patch(mailbox, emails=emails).is_success

    return play


def _processes(pid: int) -> str:
    """Return the arguments of a process, and the arguments and environments of its children."""
    texts = [Path(f"/proc/{pid}/cmdline").read_text()]
    for thread in Path(f"/proc/{pid}/task").iterdir():
        # Threads and children may end in the meantime.
        with suppress(FileNotFoundError, ProcessLookupError):
            for child in (thread / "children").read_text().split():
                texts += [Path(f"/proc/{child}/{of}").read_text() for of in ("cmdline", "environ")]
    return "\n".join(texts)
