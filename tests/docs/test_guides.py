# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The commands in the guides, the demos and the benchmark work."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from pydantic import SecretStr

from ansible_collections.postroom.email.tests.docs import fenced_blocks, guide_runner
from ansible_collections.postroom.email.tests.docs.guide_runner import Reader, write_program
from ansible_collections.postroom.email.tests.support import repository, system_programs
from ansible_collections.postroom.email.tests.support.loopback import free_port
from ansible_collections.postroom.email.tests.support.service import RunningService
from ansible_collections.postroom.email.tests.support.tenant import Api
from postroom_bot import config
from postroom_bot.backends.mail_api import MailApi
from postroom_bot.domain import Action, Change
from postroom_bot.ops.definition_page import DefinitionPage
from postroom_bot.ops.metrics import Metrics
from postroom_bot.ops.web_server import AdminApp, WebServer
from postroom_bot.store import audit, holdings, requests
from postroom_bot.store.tables import migrate
from postroom_bot.workflow.definition import chat_definition
from postroom_common.database import Connection, Database

#: Guides that need other servers or a checkout. tests/dns, tests/ops, test_bot.py and
#: test_readme.py test these.
ELSEWHERE = ("dns", "awx", "first-request", "development")
GUIDES = [
    file
    for file in fenced_blocks.PAGES
    if file.stem not in ELSEWHERE
    and any(b.language == "console" for b in fenced_blocks.all_blocks(file))
]
#: The guide that starts after the README's playbook.
AFTER_README = "first-tenant"
#: The guide that creates its tenant itself.
STARTING_EMPTY = "purge"
#: The guide that the quick tests follow, because it is the fastest.
QUICK = "troubleshooting"
#: The bot's definition in the guides.
DEFINITION_URL = "https://bot.example.com/definition"
DEFINITION_TOKEN = "the-definition-token-of-the-bot-0001"


def fill(tenant: Api) -> None:
    """Create the objects that the other guides expect."""
    tenant.create("example.com")
    tenant.create("example.org")
    tenant.create("alice@example.com", ["alice@example.com", "sales@example.com"])
    tenant.create("bob@example.com", ["bob@example.com", "info@example.org"])
    tenant.create("team@example.com", members=["alice@example.com", "partner@example.net"])


def give_alias(connection: Connection) -> None:
    """Record that the bot gave Alice an alias at her request."""
    change = Change(Action.ALIAS_ADD, "sales@example.com", mailbox="alice@example.com")
    at = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
    request = requests.add(connection, change=change, requester="U1", team="T1", at=at)
    holdings.record(connection, request, change, before=(), after={"alice@example.com"})
    audit.append(connection, "request.done", at=at, actor="bot", request_id=request.id)


@pytest.fixture
def reader(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, service: RunningService
) -> Iterator[Reader]:
    """Provide a reader with a bot to run, in a directory that contains account.yml."""
    database_file = str(tmp_path_factory.mktemp("bot") / "bot.sqlite3")
    migrate(database_file)
    database = Database(database_file)
    database.write(give_alias)
    values = {
        "database": database_file,
        "policy_file": "policy.yml",
        "api_url": service.url,
        "api_token": service.token,
        "mail_host": "mail.example.net",
        "slack_bot_token": "xoxb-1",
        "slack_app_token": "xapp-1",
    }
    variables = " ".join(f"{config.variable(name)}={value}" for name, value in values.items())
    mail = MailApi(service.url, SecretStr(service.token))
    page = DefinitionPage(partial(chat_definition, database, mail), SecretStr(DEFINITION_TOKEN))
    server = WebServer(AdminApp({}, Metrics(), page), "127.0.0.1", 0, threads=1)
    reader = Reader(tmp_path, service, {DEFINITION_URL: f"{server.start()}/definition"})
    python = f"PYTHONPATH={':'.join(sys.path)} {sys.executable}"
    reader.install("postroom-bot", f"env {variables} {python} -m postroom_bot")
    # The service's journal contains the log and the streamed audit.
    reader.install("journalctl", 'echo \'{"time": "..."}\'; postroom-bot audit show #')
    reader.install("postroom-service", f"exec env {python} -m postroom_service")
    yield reader
    server.stop()
    mail.close()
    database.close()


@pytest.mark.parametrize(
    "guide",
    [
        pytest.param(file, id=file.stem, marks=[] if file.stem == QUICK else pytest.mark.full)
        for file in GUIDES
    ],
)
def test_a_guide_works(guide: Path, reader: Reader, tenant: Api) -> None:
    """Every command in a guide succeeds or fails as shown, and prints the lines that are shown."""
    if guide.stem == AFTER_README:
        reader.run_the_playbook_of_the_readme()
    elif guide.stem != STARTING_EMPTY:
        fill(tenant)
    reader.follow(guide)


def test_commands_have_no_prompts() -> None:
    """Readers can copy commands, because no page shows a prompt before them."""
    pages = [file for file in repository.files() if file.suffix in (".md", ".rst")]
    prompt = re.compile(r"^\s*\$ ", re.MULTILINE)
    assert [str(page) for page in pages if prompt.search(repository.read(page))] == []


@pytest.mark.full
def test_the_quick_start_of_the_service_works(tmp_path: Path) -> None:
    """The commands in the service's README start it, create a mailbox, and send and read mail."""
    system_programs.require("curl")
    ports = {"": 8025, "SUBMISSION_": 5870, "IMAP_": 9930, "MX_": 2525}
    free = {name: free_port() for name in ports}
    text = {f":{port}": f":{free[name]}" for name, port in ports.items()}
    blocks = [
        replace(block, text=re.sub("|".join(text), lambda match: text[match[0]], block.text))
        for section in ("Quick start", "Send and read a message")
        for block in fenced_blocks.blocks(section=section, file=SERVICE_README)
    ]
    program = f'PYTHONPATH={":".join(sys.path)} exec {sys.executable} -m postroom_service "$@"'
    write_program(tmp_path / "postroom-service", program)
    env = {f"POSTROOM_SERVICE_{name}PORT": str(port) for name, port in free.items()}
    env |= {"HOME": str(tmp_path), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    output = guide_runner.run_in_one_shell(blocks, env, tmp_path)
    for expected in ("Subject: Hello", "DKIM-Signature: ", "It works."):
        assert expected in output


DATABASES = 2 if system_programs.find("initdb") else 1
BOT_README = repository.ROOT / "bot" / "README.md"
SERVICE_README = repository.ROOT / "service" / "README.md"
#: Replacements for values that differ between runs. The order matters.
VARYING = [
    (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
    (r'; p=[^"]+" "[^"]+"', '; p=KEY" "KEY"'),
    (r"\bR-[0-9A-Z]{4}\b", "R-ID"),
    (r"\b\d{4}-\d\d-\d\d\b", "DATE"),
    (r"\b\d\d:\d\d(:\d\d)?\b", "TIME"),
    (r"\b[0-9a-f]{64}\b", "HASH"),
    (r"\w{4}(?=-\*)", "PART"),
]


def normalised(output: str) -> list[str]:
    """Return the lines of an output, with placeholders for values that differ between runs."""
    for pattern, constant in VARYING:
        output = re.sub(pattern, constant, output)
    return [line.rstrip() for line in output.strip().splitlines()]


@pytest.mark.full
@pytest.mark.parametrize(
    ("program", "file"),
    [("demo.py", None), ("demo_bot.py", BOT_README)],
    ids=["demo", "demo-bot"],
)
def test_a_readme_shows_what_the_demo_prints(
    tmp_path: Path, program: str, file: Path | None
) -> None:
    """The bot's README shows what its demo prints, and both demos delete their files."""
    demo = subprocess.run(
        [sys.executable, str(repository.ROOT / "tools" / program)],
        env={**os.environ, "TMPDIR": str(tmp_path), "HTTP_PROXY": "http://127.0.0.1:1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert demo.returncode == 0, demo.stdout
    if file is not None:
        # The README shows only a part of the output, without indentation.
        (block,) = fenced_blocks.blocks("text", "Try it without Slack", file=file)
        output = "\n".join(line.removeprefix("   ") for line in normalised(demo.stdout))
        assert "\n".join(normalised(block.text)) in output
    assert not list(tmp_path.iterdir())


#: The number of benchmark rows for each unit.
ROWS = {
    "task of a loop": 2,
    "mailbox created": 4 * 2 * 4,
    "play": 4 * 2 + 1,
    "largest process": 4,
    "principal": 2 * 2 * 2 + 1,
    "acknowledgement": 4 * DATABASES,
    "command": DATABASES,
}


@pytest.mark.full
def test_the_benchmark_measures_everything() -> None:
    """The benchmark's JSON contains every row of the README, and a verdict for each goal."""
    command = [sys.executable, str(repository.ROOT / "tests" / "benchmark"), "--quick", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert Counter(row["unit"] for row in rows) == ROWS
    assert all(bool(row["verdict"]) is (row["goal"] is not None) for row in rows)
