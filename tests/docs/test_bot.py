# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The bot's README lists every setting, command and metric, and its commands run."""

from __future__ import annotations

import ast
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.docs import readme
from ansible_collections.postroom.email.tests.docs.guides import missing, write_program
from ansible_collections.postroom.email.tests.support import playbooks, repository
from ansible_collections.postroom.email.tests.support.service import RunningService
from postroom_bot import config
from postroom_bot.backends.awx import REQUEST_VARIABLE, variables_for
from postroom_bot.cli import main
from postroom_bot.config import Settings
from postroom_bot.domain import Action, Change, State
from postroom_bot.ops.metrics import Metrics
from postroom_bot.slack.manifest import SCOPES
from postroom_bot.store import audit
from postroom_bot.store.schema import migrate
from postroom_bot.ui import commands
from postroom_common.database import Database

README = repository.ROOT / "bot" / "README.md"
EXAMPLES = repository.ROOT / "bot" / "examples"
TEXT = README.read_text("utf-8")
BLOCKS = readme.all_blocks(README)
#: Sections whose commands run here, as one session in one shell.
SESSION = {"Install", "The app in Slack", "The secrets", "Policy and settings", "Database"}
SESSION |= {"HTTP mode", "Audit", "Keeping your definition in step"}
#: Sections that need make, root or Slack.
NOT_HERE = {"Try it without Slack", "Run it", "Commands"}
#: Commands that install what these tests have installed.
INSTALLING = ("python3 -m venv ", ". ", "pip ")
SLACK_TOKENS = "xoxb-1-canary\nxapp-1-canary\n"
#: Printed after the output of each block.
END = "----- end of a block -----"


def section(title: str) -> str:
    """Return what stands under a heading, up to the next one of its rank."""
    return re.split(r"\n## ", TEXT.split(f"\n## {title}\n")[1])[0]


def first_cells(title: str) -> list[str]:
    """Return the first cell of each row of a section, where it is code."""
    return re.findall(r"^\| `([^`]+)` \|", section(title), re.MULTILINE)


def shown(default: object) -> str:
    """Return how the README shows a default."""
    if default is None:
        return "none"
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def test_every_setting_is_in_the_table() -> None:
    """Each has its row, with its variable and its default, and there are no others."""
    rows = re.findall(
        r"^\| `(\w+)` \| `(POSTROOM_BOT_\w+)` \| (\S+) \|", section("Settings"), re.MULTILINE
    )
    assert {name: (variable, default) for name, variable, default in rows} == {
        name: (
            config.variable(name),
            "needed" if field.is_required() else shown(field.default),
        )
        for name, field in Settings.model_fields.items()
    }
    assert len(rows) == len(Settings.model_fields)


def helped(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return what `--help` prints."""
    with pytest.raises(SystemExit):
        main([*arguments, "--help"])
    return capsys.readouterr().out


def subcommands(text: str) -> list[str]:
    """Return the commands that a help text lists."""
    return re.findall(r"^    ([a-z-]+)(?:  |$)", text, re.MULTILINE)


def test_every_command_is_in_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    """Each has its row, with its options, and there are no others."""
    known: dict[str, set[str]] = {}
    for name in subcommands(helped(capsys)):
        text = helped(capsys, name)
        for path in [[name, inner] for inner in subcommands(text)] or [[name]]:
            options = re.findall(r"--[a-z][a-z-]+", helped(capsys, *path))
            known[" ".join(path)] = set(options) - {"--help", "--config"}
    documented = {
        re.split(r" [\[A-Z]", cell)[0]: set(re.findall(r"--[a-z][a-z-]+", cell))
        for cell in first_cells("Commands")
    }
    assert documented == known
    assert "`--config FILE`" in section("Commands")
    assert config.CONFIG_VARIABLE in section("Commands")


def test_the_other_tables_are_complete() -> None:
    """Slash commands, scopes, metrics and audit events are those of the code."""
    rows = re.findall(r"^\| `/email (.+)` \| .+ \|$", TEXT, re.MULTILINE)
    assert rows == [entry.usage for entry in commands.ENTRIES]
    assert tuple(re.findall(r"^\| `([a-z:.]+)` \| ", section("Set it up"), re.MULTILINE)) == SCOPES
    families = Metrics().registry.collect()
    names = {f.name + ("_total" if f.type == "counter" else "") for f in families}
    assert {name for name in first_cells("Watching it") if "/" not in name} == names
    strings = {
        node.value
        for file in repository.sources("bot/postroom_bot/workflow/")
        for node in ast.walk(ast.parse(repository.read(file)))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    events = {text for text in strings if re.fullmatch(r"[a-z]+\.[a-z_]+", text)}
    assert len(events) > 5
    assert set(first_cells("Audit")) == events | {f"request.{state}" for state in State}


def test_the_variables_for_awx_are_documented() -> None:
    """The table has the playbooks, and the survey variables that the bot sends."""
    change = Change(Action.FORWARD_ADD, "team@example.com", destinations=("alice@example.com",))
    alias = Change(Action.ALIAS_ADD, "sales@example.com", "alice@example.com")
    asked = {
        name: {REQUEST_VARIABLE, *variables_for(sent, sent)}
        for name, sent in (("add_alias", alias), ("remove_alias", alias), ("forwarder", change))
    }
    rows = re.findall(
        r"^\| `awx_(\w+)_template` \| \[`(\w+)\.yml`\]\S+ \| (.+) \|$", section("AWX"), re.MULTILINE
    )
    assert {playbook: set(re.findall(r"\w+", cell)) for _name, playbook, cell in rows} == asked
    assert all(name == playbook for name, playbook, _cell in rows)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a home whose bot has an audit already, with a journal that holds it and the log."""
    folder = tmp_path / "postroom-bot"
    folder.mkdir()
    url = str(folder / "postroom-bot.sqlite3")
    migrate(url)
    database = Database(url)
    at = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
    for event in ("request.new", "request.denied"):
        database.write(lambda c, event=event: audit.append(c, event, at=at, actor="U1"))  # type: ignore[misc]
    database.close()
    programs = tmp_path / "bin"
    programs.mkdir()
    ours = f'PYTHONPATH={":".join(sys.path)} {sys.executable} -m postroom_bot "$@"'
    write_program(programs / "postroom-bot", ours)
    write_program(programs / "journalctl", 'echo \'{"time": "..."}\'; postroom-bot audit show')
    return tmp_path


def typed() -> list[tuple[list[str], str]]:
    """Return the commands of each block of the session, and the output that is shown after it."""
    found: list[tuple[list[str], str]] = []
    for block in BLOCKS:
        if block.section in SESSION and block.language == "console":
            found.append(([c for c in block.commands if not c.startswith(INSTALLING)], ""))
        elif block.section in SESSION and block.language == "text":
            found[-1] = (found[-1][0], block.text)
    return found


def test_the_session_works(home: Path, service: RunningService) -> None:
    """From the example files to a verified audit, each block prints the lines shown, no secret."""
    assert {block.section for block in BLOCKS if block.language == "console"} == SESSION | NOT_HERE
    script = [f"{command}\n" for commands, _ in typed() for command in [*commands, f"echo {END}"]]
    environment = {
        "HOME": str(home),
        "PATH": f"{home / 'bin'}:/usr/bin:/bin",
        config.variable("api_url"): service.url,
    }
    secrets = f"{SLACK_TOKENS}{service.token}\n"
    run = playbooks.run(["bash", "-ec", "".join(script)], environment, repository.ROOT, secrets)
    assert run.status == 0, run.output
    for (_commands, wanted), output in zip(typed(), run.output.split(END), strict=False):
        assert missing(wanted, output) is None, output
    assert "canary" not in run.output
    assert service.token not in run.output
    assert "The audit is in order: 2 rows" in run.output
