# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The `converge`, `drift` and `report` playbooks with the definition that the bot serves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.fakes.http_server import Reply
from ansible_collections.postroom.email.tests.support.bot import RunningBot, running_bot
from ansible_collections.postroom.email.tests.support.collection_playbooks import (
    PlaybookRunner,
    output_text,
)
from ansible_collections.postroom.email.tests.support.company import (
    ALICE,
    BOB,
    Company,
    open_company,
)
from ansible_collections.postroom.email.tests.support.playbooks import Run
from ansible_collections.postroom.email.tests.support.recording_proxy import Recorder, recording
from ansible_collections.postroom.email.tests.support.secrets import leaks

TOKEN = "definition/t0ken+of-the-bot-Kq73-Xy28-Wz91"
NOT_COMPARED = "not compared: undeclared mailboxes, aliases, forwarders and members."
REFUSAL = "Nothing was changed, because the definition is incomplete."
SALES, TEAM = "sales@example.com", "team@example.com"
DORA = "dora@example.com"
FILES = {"mail_definition_files": "tenant.yml"}
#: What the administrator declares. Chat adds the alias SALES, a forwarder, and members of TEAM.
DECLARED: dict[str, Any] = {
    "domains": ["example.com"],
    "mailboxes": [
        {"name": ALICE, "aliases": []},
        *(f"{name}@example.com" for name in ("bob", "carol", "dora")),
    ],
    "forwarders": [{"name": TEAM, "members": [ALICE]}],
}


@dataclass
class Chat:
    """A bot through which people have changed the tenant, and a recorder in front of the bot."""

    company: Company
    bot: RunningBot
    proxy: Recorder
    runner: PlaybookRunner

    def play(self, playbook: str, *options: str, **variables: object) -> Run:
        """Run a playbook with the administrator's definition and the bot's."""
        given = {
            **FILES,
            "mail_bot_url": f"{self.proxy.url}/definition",
            "vault_mail_bot_token": TOKEN,
            **variables,
        }
        return self.runner.play(playbook, *options, **given)

    def listing(self) -> dict[str, Any]:
        """Return the lists of the mailbox and the forwarder that people changed."""
        found = {name: self.company.api.get(name).json() for name in (ALICE, TEAM)}
        return {ALICE: found[ALICE]["emails"], TEAM: found[TEAM]["members"]}


@pytest.fixture(scope="module")
def approved(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Company, RunningBot]]:
    """Run a bot that has added an alias, a forwarder and a member after approvals."""
    with open_company(tmp_path_factory.mktemp("company")) as company:
        company.api.forwarder(TEAM, [ALICE])
        running = running_bot(
            tmp_path_factory.mktemp("bot"),
            company.slack,
            company.mail,
            company.policy,
            settings={"definition_token": TOKEN, "timeout": 2},
        )
        with running as bot:
            for text in (
                f"alias add {SALES}",
                f"forward add {TEAM} to {DORA}",
                f"forward add fair@example.com to {ALICE}",
            ):
                address = text.split()[2]
                assert company.alice.command(f"/email {text}").ok
                company.bob.press(company.card_of(company.alice, address), "request_approve")
                company.wait_told(company.alice, address, "Done")
            yield company, bot


@pytest.fixture
def chat(approved: tuple[Company, RunningBot], tmp_path: Path) -> Iterator[Chat]:
    """Provide the bot, and a directory with the administrator's definition."""
    company, bot = approved
    with recording(bot.admin_url) as proxy:
        runner = PlaybookRunner(tmp_path, company.mail.url, company.mail.token)
        runner.save("tenant.yml", DECLARED)
        yield Chat(company, bot, proxy, runner)


def shown_drift(runner: PlaybookRunner) -> list[str]:
    """Return the lines of the report file."""
    return (runner.folder / "drift.txt").read_text("utf-8").splitlines()


def test_the_playbooks_know_what_people_requested(chat: Chat) -> None:
    """With the bot's definition, nothing has drifted, and a run that purges changes nothing."""
    before = chat.listing()
    without = chat.play("drift", mail_bot_url="")
    assert without.status == 2
    assert SALES in without.output
    assert chat.proxy.take() == []
    done = chat.play("drift", "-vvvv", "--diff")
    assert (done.status, done.recap.changed) == (0, 0), done.output
    purging = {"mail_purge": "alias, forwarder", "mail_max_deletions": 10}
    for options in (["--check"], []):
        done = chat.play("converge", "-vvvv", *options, **purging)
        assert (done.status, done.recap.changed) == (0, 0), done.output
    assert chat.listing() == before
    done = chat.play("report", mail_report_file="report.html", mail_verify_dns=False)
    assert done.status == 0, done.output
    page = (chat.runner.folder / "report.html").read_text("utf-8")
    assert "No drift" in page


def test_drift_without_the_bot_claims_nothing_about_chat(chat: Chat) -> None:
    """If the bot's definition can't be read, drift says so, and reports only what it can't declare.

    The objects that the definition may declare are mailboxes, aliases, forwarders and members.
    """
    declared = {**DECLARED, "domains": [], "forwarders": [{"name": TEAM, "members": [BOB]}]}
    declared["mailboxes"] = [*DECLARED["mailboxes"][:-1], "erin@example.com"]
    chat.runner.save("tenant.yml", declared)
    chat.proxy.spoil(Reply(503), times=10)
    done = chat.play("drift", "-vvvv", mail_report_file="drift.txt")
    assert done.status == 2
    first, *others = shown_drift(chat.runner)
    assert first.startswith(NOT_COMPARED)
    assert "the bot can't use its database or the mail service now" in first
    assert sorted(others) == [
        "differs: forwarder team@example.com: missing member bob@example.com",
        "missing: mailbox erin@example.com",
        "not declared: domain example.com",
    ]
    summary = f"{first} The tenant differs from its definition in 3 places: "
    assert summary in output_text(done)
    report = chat.play("report", mail_report_file="report.html", mail_verify_dns=False)
    assert report.status == 0, report.output
    page = (chat.runner.folder / "report.html").read_text("utf-8")
    assert "forwarders and members were not compared. The bot&#39;s definition" in page
    assert "undeclared member" not in page
    assert "No drift" not in page


def test_drift_gives_up_a_slow_bot(chat: Chat) -> None:
    """If the bot's response takes longer than mail_timeout, drift reports that and ends."""
    chat.proxy.spoil(Reply(200, b" " * 1000, drip=0.1))
    done = chat.play("drift", mail_report_file="drift.txt", mail_timeout=5)
    assert done.status == 2
    (only,) = shown_drift(chat.runner)
    assert only.startswith(f"{NOT_COMPARED} The bot's definition can't be read from ")
    assert "The tenant differs" not in done.output


@pytest.mark.parametrize(
    "options", [{}, {"mail_purge": "alias, forwarder", "mail_max_deletions": 10}]
)
def test_converge_without_the_bot_changes_nothing(chat: Chat, options: dict[str, object]) -> None:
    """If the bot's definition can't be read, converge refuses, unless mail_bot_url is empty."""
    before = chat.listing()
    for arguments in (["--check"], []):
        chat.proxy.spoil(Reply(503))
        done = chat.play("converge", *arguments, **options)
        assert done.status == 2
        assert f"{REFUSAL} The bot's definition can't be read from " in output_text(done)
        assert "set mail_bot_url to an empty string" in output_text(done)
    assert chat.listing() == before
    done = chat.play("converge", "--check", mail_bot_url="", **options)
    assert done.status == 0, done.output


#: What goes wrong, and what the message says.
FAILURES: list[tuple[dict[str, object], Reply | None, str]] = [
    ({"vault_mail_bot_token": "wrong"}, None, "the bot does not accept vault_mail_bot_token"),
    ({"mail_bot_url": "http://127.0.0.1:9/definition"}, None, "refused"),
    ({}, Reply(404), "the server has no such page"),
    (
        {},
        Reply(200, b"<html>", {"Content-Type": "text/html"}),
        "the response is not the bot's definition",
    ),
    (
        {},
        Reply(200, b'{"ready": true}', {"Content-Type": "application/json"}),
        "not the bot's definition",
    ),
    ({}, Reply(302, b"", {"Location": "http://127.0.0.1:9/"}), "the HTTP status 302"),
    ({"mail_bot_url": "http://bot.example.com/definition"}, None, "must begin with https://"),
    ({"vault_mail_bot_token": ""}, None, "requires vault_mail_bot_token"),
    ({"vault_mail_bot_token": f"{TOKEN}\nx"}, None, "requires vault_mail_bot_token"),
]


@pytest.mark.full
@pytest.mark.parametrize(("given", "reply", "sentence"), FAILURES)
def test_the_message_names_the_reason(
    chat: Chat, given: dict[str, object], reply: Reply | None, sentence: str
) -> None:
    """The message says why the definition can't be read, and contains no token."""
    if reply is not None:
        chat.proxy.spoil(reply)
    done = chat.play("converge", "-vvvv", **given)
    assert done.status == 2
    assert sentence in output_text(done), done.output
    assert TOKEN not in done.output


def test_the_token_shows_nowhere(chat: Chat) -> None:
    """Neither the playbooks' output and files nor the bot's log and files contain the token."""
    chat.runner.save("wrong.json", {"vault_mail_bot_token": "wrong"})
    outputs = [chat.play("drift", "-vvvv", "--diff").output]
    chat.proxy.spoil(lambda request: Reply(500, json.dumps(dict(request.headers)).encode(), {}))
    outputs.append(chat.play("converge", "-vvvv", "--diff").output)
    (chat.runner.folder / "variables.json").unlink()
    (chat.runner.folder / "outputs").write_text("\n".join(outputs), "utf-8")
    assert "the HTTP status 500" in outputs[1]
    assert leaks([TOKEN], [chat.runner.folder, chat.bot.log_path, chat.bot.directory]) == []
    assert leaks([SALES], [chat.runner.folder, chat.bot.directory])
