# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The page that serves the definition of the changes made through Slack."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from ansible_collections.postroom.email.tests.support.bot import RunningBot, running_bot
from ansible_collections.postroom.email.tests.support.company import Company
from ansible_collections.postroom.email.tests.support.recording_proxy import Recorder, recording
from postroom_bot.backends.mail_api import create_mail_api
from postroom_bot.config import load
from postroom_bot.ops.definition_page import DefinitionPage
from postroom_bot.workflow.definition import chat_definition
from postroom_common.database import Database

TOKEN = "definition-token-of-the-tests-0123"
RIGHT = f"Bearer {TOKEN}"


@pytest.fixture(scope="module")
def mail(company: Company) -> Iterator[Recorder]:
    """Run a recorder in front of the mail service."""
    with recording(company.mail.url) as recorder:
        yield recorder


@pytest.fixture(scope="module")
def bot(
    company: Company, mail: Recorder, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningBot]:
    """Run a bot that serves its definition, and that waits for the mail service for 2 seconds."""
    settings = {"definition_token": TOKEN, "api_url": mail.url, "timeout": 2, "log_level": "debug"}
    place = tmp_path_factory.mktemp("bot")
    with running_bot(place, company.slack, company.mail, company.policy, settings=settings) as bot:
        yield bot


def ask(bot: RunningBot, method: str = "GET", authorization: str = RIGHT) -> httpx.Response:
    """Request the definition, with a header unless it is empty."""
    url = f"{bot.admin_url}/definition"
    headers = [(b"Authorization", authorization.encode("latin-1"))] if authorization else []
    return httpx.request(method, url, headers=headers, timeout=30, trust_env=False)


def test_the_page_has_the_changes_made_through_slack(bot: RunningBot, company: Company) -> None:
    """The page has the same definition as the output of the `definition` command."""
    assert company.alice.command("/email alias add fair@example.com").ok
    company.bob.press(company.card_of(company.alice, "fair@"), "request_approve")
    company.wait_told(company.alice, "fair@", "Done")
    answer = ask(bot)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json() == json.loads(bot.command("definition").stdout)
    assert answer.json()["mailboxes"][0]["aliases"] == ["fair@example.com"]
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "sent", ["", TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer \xff"]
)
def test_only_the_token_gives_access(bot: RunningBot, mail: Recorder, sent: str) -> None:
    """Without the token, the bot answers 401 and does not ask the mail service."""
    mail.take()
    answer = ask(bot, authorization=sent)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert mail.take() == []
    assert TOKEN not in bot.log()


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_the_page_is_read_only(bot: RunningBot, method: str) -> None:
    """The page refuses all methods but GET."""
    assert ask(bot, method).status_code == 405


def test_a_silent_mail_service_ends_the_request(bot: RunningBot, mail: Recorder) -> None:
    """While the mail service is silent, the bot answers 503 in the end, and health checks at once.

    Requests for the definition must not occupy all threads.
    """
    with mail.holding("GET") as gate, ThreadPoolExecutor(6) as pool:
        answers = [pool.submit(ask, bot) for _ in range(6)]
        gate.wait()
        assert httpx.get(f"{bot.admin_url}/healthz", trust_env=False).status_code == 200
        found = [answer.result() for answer in answers]
        gate.open(passes=False)
    assert {answer.status_code for answer in found} == {503}
    assert {answer.text for answer in found} == {
        "the mail service, which has the list of mailboxes, can't be used; try again later\n",
        "another client is reading the definition; try again later\n",
    }
    assert ask(bot).status_code == 200


def test_a_database_that_does_not_work_is_named(
    in_environment: dict[str, object], tmp_path: Path
) -> None:
    """If the database can't be used, the bot answers 503 with this reason."""
    database = Database(str(tmp_path / "empty.sqlite3"))
    with ExitStack() as end:
        end.callback(database.close)
        read = partial(chat_definition, database, create_mail_api(load(), end))
        page = DefinitionPage(read, SecretStr(TOKEN))
        answer = page({"REQUEST_METHOD": "GET", "HTTP_AUTHORIZATION": f"Bearer {TOKEN}"})
    assert in_environment
    assert (answer.status, answer.body) == (
        503,
        b"the bot's database can't be used; try again later\n",
    )


def test_without_a_token_there_is_no_page(company: Company, tmp_path: Path) -> None:
    """Without `definition_token`, the path does not exist."""
    with running_bot(tmp_path, company.slack, company.mail, company.policy) as bot:
        for sent in (RIGHT, "Bearer", ""):
            assert ask(bot, authorization=sent).status_code == 404
