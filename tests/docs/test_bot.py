# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The bot's README says what the bot does, and what it tells to type works."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr

from ansible_collections.postroom.email.tests.docs import readme
from ansible_collections.postroom.email.tests.docs.guides import write_program
from ansible_collections.postroom.email.tests.support import playbooks, repository
from ansible_collections.postroom.email.tests.support.service import RunningService
from postroom_bot import settings
from postroom_bot.__main__ import main
from postroom_bot.executors.awx import REQUEST_VARIABLE, variables_for
from postroom_bot.metrics import Metrics
from postroom_bot.model import Action, State, Wish
from postroom_bot.serving import fronts, web
from postroom_bot.settings import Settings
from postroom_bot.store import audit
from postroom_bot.store.database import Database, migrate
from postroom_bot.words import catalog
from postroom_bot.words.manifest import SCOPES

README = repository.ROOT / "bot" / "README.md"
EXAMPLES = repository.ROOT / "bot" / "examples"
TEXT = README.read_text("utf-8")
BLOCKS = readme.all_blocks(README)
#: Whose commands are run here, as one session in one shell.
SESSION = {"Install", "The app in Slack", "The secrets", "Policy and settings", "Database"}
SESSION |= {"HTTP mode", "Audit", "Keeping your definition in step"}
#: What needs make, root or Slack.
NOT_HERE = {"Try it without Slack", "Run it", "Commands"}
#: What the tests have done already.
INSTALLING = ("python3 -m venv ", ". ", "pip ")
SLACK_TOKENS = "xoxb-1-canary\nxapp-1-canary\n"
#: Comes after the output of each block.
END = "----- end of a block -----"


def section(title: str) -> str:
    """Return what stands under a heading, up to the next one of its rank."""
    return re.split(r"\n## ", TEXT.split(f"\n## {title}\n")[1])[0]


def first_cells(title: str) -> list[str]:
    """Return the first cell of each row of a section, where it is code."""
    return re.findall(r"^\| `([^`]+)` \|", section(title), re.MULTILINE)


def strings(folder: str = "") -> Iterator[str]:
    """Yield every text in the bot's sources, those of an f-string one by one."""
    for file in repository.sources(f"bot/postroom_bot/{folder}"):
        for node in ast.walk(ast.parse(repository.read(file))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


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
            settings.variable(name),
            "needed" if field.is_required() else shown(field.default),
        )
        for name, field in Settings.model_fields.items()
    }
    assert len(rows) == len(Settings.model_fields)


def test_secrets_are_marked_in_the_table() -> None:
    """What the bot keeps secret is called so."""
    rows = re.findall(r"^\| `(\w+)` \|.* Secret \|$", section("Settings"), re.MULTILINE)
    assert set(rows) == {name for name in Settings.model_fields if is_secret(name)}


def is_secret(name: str) -> bool:
    """Tell whether a setting is one that must appear in no log."""
    return SecretStr.__name__ in str(Settings.model_fields[name].annotation)


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
    told = {
        re.split(r" [\[A-Z]", cell)[0]: set(re.findall(r"--[a-z][a-z-]+", cell))
        for cell in first_cells("Commands")
    }
    assert told == known
    assert "`--config FILE`" in section("Commands")
    assert settings.CONFIG_VARIABLE in section("Commands")


def test_all_that_can_be_typed_is_in_the_table() -> None:
    """The table of what people type is the catalogue, word for word."""
    rows = re.findall(r"^\| `/email (.+)` \| (.+) \|$", TEXT, re.MULTILINE)
    assert rows == [(entry.usage, entry.says) for entry in catalog.ENTRIES]


def test_every_scope_is_in_the_table() -> None:
    """The scopes that are explained are those that the manifest asks for."""
    assert tuple(re.findall(r"^\| `([a-z:.]+)` \| ", section("Set it up"), re.MULTILINE)) == SCOPES


def test_every_metric_is_in_the_table() -> None:
    """Each has its row, under the name that Prometheus sees."""
    families = Metrics().registry.collect()
    names = {f.name + ("_total" if f.type == "counter" else "") for f in families}
    assert {name for name in first_cells("Watching it") if "/" not in name} == names


def test_every_audit_event_is_in_the_table() -> None:
    """The events are those of the code: one for each state, and those that it names itself."""
    named = {text for text in strings("work/") if re.fullmatch(r"[a-z]+\.[a-z_]+", text)}
    assert set(first_cells("Audit")) == named | {f"request.{state}" for state in State}
    assert len(named) > 5


def test_what_awx_needs_is_told() -> None:
    """The surveys ask for what is sent, and the playbooks are there."""
    wish = Wish(Action.FORWARD_ADD, "team@example.com", destinations=("alice@example.com",))
    alias = Wish(Action.ALIAS_ADD, "sales@example.com", "alice@example.com")
    asked = {
        name: {REQUEST_VARIABLE, *variables_for(sent, sent)}
        for name, sent in (("add_alias", alias), ("remove_alias", alias), ("forwarder", wish))
    }
    rows = re.findall(
        r"^\| `awx_(\w+)_template` \| \[`(\w+)\.yml`\]\S+ \| (.+) \|$", section("AWX"), re.MULTILINE
    )
    assert {playbook: set(re.findall(r"\w+", told)) for _name, playbook, told in rows} == asked
    assert all(name == playbook for name, playbook, _told in rows)


def test_numbers_are_those_of_the_code() -> None:
    """The path for Slack, and the size of what a proxy has to let through."""
    assert f"location = {fronts.PATH} {{" in TEXT
    assert f"client_max_body_size {web.BODY_BYTES // 1024}k;" in TEXT
    assert f"proxy_pass http://127.0.0.1:{Settings.model_fields['http_port'].default};" in TEXT


def test_quoted_messages_are_those_of_the_code() -> None:
    """Each part of a message that is quoted stands in the bot's sources."""
    texts = list(strings())
    quotes = re.findall(r'\*"([^"]+)"\*', TEXT)
    assert len(quotes) > 5
    for part in (part for quote in quotes for part in quote.split("...")):
        assert any(part in text for text in texts), part


def test_make_knows_the_demo() -> None:
    """The command that tries it without Slack is one of make's."""
    [block] = [block for block in BLOCKS if block.section == "Try it without Slack"]
    [target] = [command.removeprefix("make ") for command in block.commands]
    assert re.search(rf"^[\w -]*\b{target}\b[\w -]*:", repository.read("Makefile"), re.MULTILINE)


def test_links_lead_somewhere() -> None:
    """Files and headings that the README links to are there."""
    for link in readme.links(README):
        assert (README.parent / link).exists(), link
    headings = re.findall(r"^#+ (.+)$", TEXT, re.MULTILINE)
    anchors = {heading.lower().replace(" ", "-").replace(",", "") for heading in headings}
    assert set(re.findall(r"\]\(#([\w-]+)\)", TEXT)) <= anchors


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


def test_every_block_is_accounted_for() -> None:
    """Commands are run here, or are in a section that needs what is not here."""
    sections = {block.section for block in BLOCKS if block.language == "console"}
    assert sections == SESSION | NOT_HERE


def test_the_session_works(home: Path, service: RunningService) -> None:
    """From the example files to a verified audit, each block does what it says, without Slack."""
    script = [f"{command}\n" for commands, _ in typed() for command in [*commands, f"echo {END}"]]
    environment = {
        "HOME": str(home),
        "PATH": f"{home / 'bin'}:/usr/bin:/bin",
        settings.variable("api_url"): service.url,
    }
    secrets = f"{SLACK_TOKENS}{service.token}\n"
    run = playbooks.run(["bash", "-ec", "".join(script)], environment, repository.ROOT, secrets)
    assert run.status == 0, run.output
    for (_commands, wanted), output in zip(typed(), run.output.split(END), strict=False):
        lines = iter(output.splitlines())
        for line in wanted.splitlines():
            assert line == "..." or line in lines, f"{line}\n\nis not in\n\n{output}"
    assert "canary" not in run.output
    assert service.token not in run.output
    assert "The audit is in order: 2 rows" in run.output


def test_the_example_settings_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the secrets, they are all that the bot needs."""
    for name, value in (("slack_bot_token", "xoxb-1"), ("slack_app_token", "xapp-1")):
        monkeypatch.setenv(settings.variable(name), value)
    monkeypatch.setenv(settings.variable("api_token"), "token")
    given = settings.load(EXAMPLES / "settings.yml")
    assert (EXAMPLES / given.policy_file).is_file()


def test_the_example_unit_loads_the_secrets() -> None:
    """Each credential has the name of a secret's variable, here and on the disk."""
    unit = (EXAMPLES / "postroom-bot.service").read_text("utf-8")
    line = r"^(#?)LoadCredential=(\w+):/etc/postroom-bot/credentials/(\w+)$"
    loaded = re.findall(line, unit, re.MULTILINE)
    assert all(credential == file for _off, credential, file in loaded)
    secrets = [name for name in Settings.model_fields if is_secret(name)]
    names = {settings.variable(name).lower() for name in secrets}
    assert {credential for _off, credential, _file in loaded} <= names
    required = {name for name in secrets if Settings.model_fields[name].is_required()}
    # What the example settings need, as in the session.
    assert {credential for off, credential, _file in loaded if not off} == {
        settings.variable(name).lower() for name in required | {"slack_app_token"}
    }
