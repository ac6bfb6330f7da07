# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the guides in docs/ tell to type works, from the first block to the last.

What guides say in words about messages and failures is compared with the code, too.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api import errors
from ansible_collections.postroom.email.plugins.module_utils._api.definition import model
from ansible_collections.postroom.email.plugins.module_utils._api.records import merging
from ansible_collections.postroom.email.tests.docs import readme
from ansible_collections.postroom.email.tests.docs.guides import Reader, missing
from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tests.support.service import RunningService
from ansible_collections.postroom.email.tests.support.site import Api
from postroom_bot import settings
from postroom_bot.model import Action, Wish
from postroom_bot.store import ledger, requests
from postroom_bot.store.database import Connection, Database, migrate

COMMANDS = [
    file for file in readme.GUIDES if any(b.language == "console" for b in readme.all_blocks(file))
]
#: These need a name server, or a controller, and are followed where there is one: by tests/dns and
#: by tests/ops.
ELSEWHERE = ("dns", "awx")
HERE = [file for file in COMMANDS if file.stem not in ELSEWHERE]
#: This one begins with an empty tenant.
FROM_NOTHING = "first-tenant"


def prepare(tenant: Api) -> None:
    """Fill the tenant with what the guides take to be there."""
    tenant.create("example.com")
    tenant.create("example.org")
    tenant.create("alice@example.com", ["alice@example.com", "sales@example.com"])
    tenant.create("bob@example.com", ["bob@example.com", "info@example.org"])
    tenant.create("team@example.com", members=["alice@example.com", "partner@example.net"])


@pytest.fixture
def reader(tmp_path: Path, service: RunningService, bot: str) -> Reader:
    """Return a folder with the README's account.yml, where the bot can be run."""
    reader = Reader(tmp_path, service)
    reader.install("postroom-bot", bot)
    return reader


@pytest.fixture
def bot(tmp_path_factory: pytest.TempPathFactory, service: RunningService) -> str:
    """Return the command of a bot that has given Alice an alias."""
    folder = tmp_path_factory.mktemp("bot")
    url = str(folder / "bot.sqlite3")
    migrate(url)
    database = Database(url)
    database.write(_give_alias)
    database.close()
    given = {
        "database": url,
        "policy_file": "policy.yml",
        "api_url": service.url,
        "api_token": service.token,
        "mail_host": "mail.example.net",
        "slack_bot_token": "xoxb-1",
        "slack_app_token": "xapp-1",
    }
    variables = " ".join(f"{settings.variable(name)}={value}" for name, value in given.items())
    return f"env {variables} PYTHONPATH={':'.join(sys.path)} {sys.executable} -m postroom_bot"


def _give_alias(connection: Connection) -> None:
    """Write down that Alice asked for an alias, and has it."""
    wish = Wish(Action.ALIAS_ADD, "sales@example.com", mailbox="alice@example.com")
    at = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
    request = requests.add(connection, wish=wish, requester="U1", team="T1", at=at)
    ledger.record(connection, request_id=request.id, wish=wish, at=at)


@pytest.mark.parametrize("guide", HERE, ids=lambda file: file.stem)
def test_a_guide_does_what_it_says(guide: Path, reader: Reader, tenant: Api) -> None:
    """Every command succeeds or fails as shown, and prints what is shown, without a secret."""
    if guide.stem != FROM_NOTHING:
        prepare(tenant)
    reader.follow(guide)


def test_the_guides_are_found() -> None:
    """There are guides with commands; the reference has none."""
    assert {file.stem for file in COMMANDS} >= {"dns", "existing-account", "purge"}


def test_output_is_compared_in_order() -> None:
    """A line that is missing or stands earlier is noticed; lines may be left out."""
    output = os.linesep.join(["one", "two  ", "three"])
    assert missing("one\n...\nthree\n", output) is None
    assert missing("two\none\n", output) == "one"
    assert missing("four\n", output) == "four"


SPF_ROW = re.compile(r"^\| `(v=spf1 [^`]+)` \| `([^`]+)` \|$", re.MULTILINE)


def test_spf_records_are_merged_as_the_guide_says() -> None:
    """Each row of the guide's table is what merging really gives."""
    rows = SPF_ROW.findall((readme.CHECKOUT / "docs" / "dns.md").read_text("utf-8"))
    assert len(rows) >= 3
    for before, after in rows:
        assert merging.merge([before], "v=spf1 include:spf.postroom.test ~all") == after


QUOTED = re.compile(r'\*"([^"]+)"\*')


def said(file: Path) -> Iterator[str]:
    """Yield the texts of a source file, those of an f-string one by one."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize("guide", COMMANDS, ids=lambda file: file.stem)
def test_quoted_messages_are_those_of_the_code(guide: Path) -> None:
    """Each part of a message that a guide quotes stands in a source file or a playbook."""
    sources = repository.sources("plugins/", "bot/postroom_bot/")
    texts = [text for file in sources for text in said(repository.ROOT / file)]
    folders = ("playbooks", "playbooks/tasks/**", "roles/*/tasks")
    tasks = [repository.ROOT.glob(f"{folder}/*.yml") for folder in folders]
    texts += [" ".join(file.read_text("utf-8").split()) for files in tasks for file in files]
    for quote in QUOTED.findall(guide.read_text("utf-8")):
        parts = [part.strip(" .:,") for part in re.split(r"\.\.\.|\d+|\n", quote)]
        for part in filter(None, parts):
            assert any(part in text for text in texts), part


def kinds_of(error: type[errors.PostroomError]) -> set[str]:
    """Return the names of an error's class and of all that are derived from it."""
    return {error.__name__}.union(*map(kinds_of, error.__subclasses__()))


def test_every_kind_of_failure_is_explained() -> None:
    """The guide has a row for each kind that `failure` can name, and for nothing else."""
    text = (readme.CHECKOUT / "docs" / "troubleshooting.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    kinds = kinds_of(errors.PostroomError)
    assert {model.InvalidDefinition.__name__, merging.SpfConflict.__name__} < kinds
    assert set(rows) == kinds - {"PostroomError", "ServiceError"}
    assert len(set(rows)) == len(rows)
    assert len(QUOTED.findall(text)) > 40
