# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The bot's reference is complete, and the commands in its tutorial work."""

from __future__ import annotations

import ast
import itertools
import re
import sys
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.docs import fenced_blocks
from ansible_collections.postroom.email.tests.docs.guide_runner import (
    run_in_one_shell,
    write_program,
)
from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tests.support.service import RunningService
from ansible_collections.postroom.email.tools import bot_reference
from postroom_bot import config
from postroom_bot.backends.awx_executor import REQUEST_VARIABLE, variables_for
from postroom_bot.domain import Action, Change, State
from postroom_bot.store import audit
from postroom_bot.ui.reason_texts import TEXTS

TUTORIAL = repository.ROOT / "docs" / "tutorials" / "first-request.md"
#: The blocks up to the first block that needs Slack. These blocks run in order in one shell.
BLOCKS = list(
    itertools.takewhile(
        lambda block: block.section != "5. Start the bot", fenced_blocks.all_blocks(TUTORIAL)
    )
)
SLACK_TOKENS = "xoxb-1-canary\nxapp-1-canary\n"


def test_the_reference_is_up_to_date() -> None:
    """docs/reference/bot.md is up to date with tools/bot_reference.py."""
    assert repository.read("docs/reference/bot.md") == bot_reference.page()


def test_everything_is_described() -> None:
    """Each setting, command, option, metric, event and scope has a description."""
    rows = re.findall(r"^\| .+ \|$", bot_reference.page(), re.MULTILINE)
    assert len(rows) > 80
    assert [row for row in rows if row.endswith(("|  |", "| |")) or "None" in row] == []


def test_every_audit_event_is_described() -> None:
    """The audit table contains the requests' states and all events that the workflow writes."""
    strings = {
        node.value
        for file in repository.sources("bot/postroom_bot/workflow/")
        for node in ast.walk(ast.parse(repository.read(file)))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    # Reason codes have the same format as events.
    events = {text for text in strings if re.fullmatch(r"[a-z]+\.[a-z_]+", text)} - TEXTS.keys()
    assert len(events) > 5
    assert audit.EVENTS.keys() == events | {f"request.{state}" for state in State}


def test_the_variables_for_awx_are_documented() -> None:
    """The AWX table contains the playbooks and the survey variables that the bot sends."""
    change = Change(Action.FORWARD_ADD, "team@example.com", destinations=("alice@example.com",))
    alias = Change(Action.ALIAS_ADD, "sales@example.com", "alice@example.com")
    asked = {
        name: {REQUEST_VARIABLE, *variables_for(sent, frozenset(sent.destinations))}
        for name, sent in (("add_alias", alias), ("remove_alias", alias), ("forwarder", change))
    }
    rows = re.findall(
        r"^\| `awx_(\w+)_template` \| \[`(\w+)\.yml`\]\S+ \| (.+) \|$",
        repository.read("docs/guides/bot-operation.md"),
        re.MULTILINE,
    )
    assert {playbook: set(re.findall(r"\w+", cell)) for _name, playbook, cell in rows} == asked
    assert all(name == playbook for name, playbook, _cell in rows)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Provide a home directory that contains the postroom-bot command."""
    programs = tmp_path / "bin"
    programs.mkdir()
    ours = f'PYTHONPATH={":".join(sys.path)} {sys.executable} -m postroom_bot "$@"'
    write_program(programs / "postroom-bot", ours)
    return tmp_path


def test_the_session_works(home: Path, service: RunningService) -> None:
    """Each block of the tutorial prints the lines that it shows, and no secret."""
    assert len(BLOCKS) > 5
    environment = {
        "HOME": str(home),
        "PATH": f"{home / 'bin'}:/usr/bin:/bin",
        config.variable("api_url"): service.url,
    }
    secrets = f"{SLACK_TOKENS}{service.token}\n"
    output = run_in_one_shell(BLOCKS, environment, repository.ROOT, secrets)
    assert "canary" not in output
    assert service.token not in output
