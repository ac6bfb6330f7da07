# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The commands beside serve."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.support.bot import (
    PREFIX,
    bot_settings,
    running_bot,
)
from ansible_collections.postroom.email.tests.support.company import Company
from ansible_collections.postroom.email.tests.support.repository import ROOT
from postroom_bot.__main__ import main
from postroom_bot.words.manifest import manifest

EXAMPLE = str(ROOT / "bot" / "examples" / "policy.yml")


@pytest.fixture
def _settings(here: Company, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put settings for a bot in this directory into the environment."""
    for name, value in bot_settings(tmp_path, here.slack, here.mail, here.policy).items():
        monkeypatch.setenv(f"{PREFIX}{name.upper()}", str(value))


@pytest.mark.usefixtures("_settings")
def test_a_right_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    """There is nothing to say, and the status is 0."""
    assert main(["check-config"]) == 0
    assert capsys.readouterr().out == "No mistakes found.\n"


@pytest.mark.usefixtures("_settings")
def test_all_mistakes_of_settings_are_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The status is 1, as the check itself was done."""
    monkeypatch.setenv("POSTROOM_BOT_MODE", "mail")
    monkeypatch.delenv("POSTROOM_BOT_API_TOKEN")
    assert main(["check-config"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[2] for line in lines[:2]] == ["mode", "api_token"]
    assert main(["migrate"]) == 2
    assert capsys.readouterr().err.splitlines() == [f"postroom-bot: {line}" for line in lines]


@pytest.mark.usefixtures("_settings")
def test_settings_database_and_policy_are_told_together(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A mistake in one hides none in the others; other commands tell the same of the database."""
    file = tmp_path / "wrong.yml"
    file.write_text("version: 2\n")
    for name, value in (("POLICY_FILE", str(file)), ("DATABASE", "mysql://db/bot")):
        monkeypatch.setenv(f"{PREFIX}{name}", value)
    assert main(["migrate"]) == 2
    database = capsys.readouterr().err.strip().removeprefix("postroom-bot: ")
    monkeypatch.setenv(f"{PREFIX}MODE", "mail")
    assert main(["check-config"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "(POSTROOM_BOT_MODE)" in lines[0]
    assert lines[1] == database == "databases are SQLite and PostgreSQL, not mysql"
    assert lines[2].startswith(f"{file}: line 1: ")


@pytest.mark.usefixtures("_settings")
@pytest.mark.parametrize("command", [["ledger"], ["audit", "verify"], ["audit", "show"]])
def test_looking_makes_no_database(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    command: list[str],
) -> None:
    """A file that is not there, or is no database, is named."""
    file = tmp_path / "nope.sqlite3"
    monkeypatch.setenv(f"{PREFIX}DATABASE", str(file))
    assert main(command) == 2
    assert f"there is no file {file}: check the setting database" in capsys.readouterr().err
    assert not file.exists()
    file.write_text("Dear diary, this is no database, and long enough to be told from one.")
    assert main(command) == 2
    assert f"the database {file} can't be used (" in capsys.readouterr().err
    assert main(["migrate"]) == 2
    assert f"the database {file} can't be used (" in capsys.readouterr().err


@pytest.mark.usefixtures("_settings")
def test_a_request_that_the_audit_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    """It is told, and the status is 1: an empty answer may as well be a typing mistake."""
    assert main(["migrate"]) == main(["audit", "show"]) == 0
    assert main(["audit", "show", "--request", "R-XXXX"]) == 1
    assert capsys.readouterr().err == "postroom-bot: the audit has no rows about R-XXXX\n"


@pytest.mark.parametrize("command", [["--config", "{}", "migrate"], ["migrate", "--config", "{}"]])
def test_settings_are_named_before_a_command_or_after_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: list[str]
) -> None:
    """Both name the same file."""
    file = str(tmp_path / "nowhere.yml")
    assert main([word.format(file) for word in command]) == 2
    assert f"The settings file {file} can't be read" in capsys.readouterr().err


def test_mistakes_of_a_policy_have_their_lines(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A policy can be checked without any settings, with file and line for each mistake."""
    file = tmp_path / "policy.yml"
    file.write_text("version: 1\nrulez: []\n")
    assert main(["check-config", "--policy", str(file)]) == 1
    assert f"{file}: line 2: rulez" in capsys.readouterr().out
    assert main(["check-config", "--policy", EXAMPLE]) == 0


def test_a_decision_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    """Each rule that was looked at is named, and what came of it."""
    who = ["--mailbox", "alice@example.com", "--group", "mail-admins"]
    command = ["explain", "--policy", EXAMPLE, *who]
    assert main([*command, "alias", "add", "sales@example.com"]) == 0
    assert "Allowed with approvals by own-alias" in capsys.readouterr().out
    assert main([*command, "password"]) == 0
    assert "Allowed at once by own-password" in capsys.readouterr().out
    assert main([*command, "forward", "add", "x@example.com", "to", "y@other.test"]) == 0
    assert "forward-outside" in capsys.readouterr().out


def test_a_user_s_id_tells_what_the_policy_knows_of_them(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Their pinned mailbox, the groups that list them, and whose another mailbox is."""
    rule = "- {name: admins-only, actions: [alias.add], groups: [mail-admins], automatic: true}"
    file = tmp_path / "policy.yml"
    file.write_text(Path(EXAMPLE).read_text().replace("rules:", f"rules:\n  {rule}", 1))
    command = ["explain", "--policy", str(file), "--user", "U024BE7LJ"]
    assert main([*command, "alias", "add", "sales@example.com"]) == 0
    assert "Allowed at once by admins-only" in capsys.readouterr().out
    assert main([*command, "alias", "add", "a@example.com", "to", "alice@example.com"]) == 0
    assert "known to own" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--group", "contractor"], "There is no group contractor. Known are everyone, mail-ad"),
        (["--user", "bob"], "'bob' is no user id. Write it like U024BE7LH"),
        (["--domain", "example"], "'example' is not a domain name."),
        (["--mailbox", "alice"], "'alice' is not an email address"),
    ],
)
def test_who_can_not_be_is_not_explained(
    capsys: pytest.CaptureFixture[str], options: list[str], text: str
) -> None:
    """A mistake in who asks is told, before it makes a decision look like another."""
    assert main(["explain", "--policy", EXAMPLE, *options, "password"]) == 2
    assert text in capsys.readouterr().err


def test_what_slack_alone_knows_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Groups with user groups, unless the person is said to be in them."""
    command = ["explain", "--policy", EXAMPLE, "--user", "U024BE7LH"]
    assert main([*command, "--group", "contractors", "password"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("Allowed at once by own-password")
    assert said[-1] == "Not looked at: who is in the user groups of security; Slack knows."


@pytest.mark.parametrize("words", [["help"], ["nonsense"], ["alias", "add", "nobody"]])
def test_what_needs_no_decision_is_not_explained(
    capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    """It is told in a sentence, and the status is 2."""
    assert main(["explain", "--policy", EXAMPLE, *words]) == 2
    assert capsys.readouterr().err.startswith("postroom-bot: ")


def test_the_manifest(capsys: pytest.CaptureFixture[str]) -> None:
    """It is the one for the given way, as JSON."""
    assert main(["manifest"]) == 0
    assert json.loads(capsys.readouterr().out) == manifest(socket_mode=True)
    url = "https://bot.example.com/slack/events"
    assert main(["manifest", "--url", url]) == 0
    assert json.loads(capsys.readouterr().out) == manifest(socket_mode=False, url=url)
    assert main(["manifest", "--url", "http://bot.example.com"]) == 2


@pytest.mark.usefixtures("_settings")
def test_a_database_is_migrated_once(capsys: pytest.CaptureFixture[str]) -> None:
    """Before, the audit can't be looked at; after, and after a second time, it can."""
    assert main(["audit", "verify"]) == 2
    assert "there is no file" in capsys.readouterr().err
    assert main(["migrate"]) == main(["migrate"]) == 0
    assert main(["audit", "verify"]) == 0
    assert "in order: 0 rows" in capsys.readouterr().out


def test_what_chat_changed_is_shown(here: Company, tmp_path: Path) -> None:
    """The ledger as a definition, the audit as lines, also of one request alone."""
    with running_bot(tmp_path, here.slack, here.mail, here.policy) as bot:
        here.alice.command("/email forward add team@example.com to bob@example.com")
        here.slack.wait_for_message(here.alice.direct_channel, "team@example.com")
        card = here.slack.wait_for_message(here.approvals, "team@example.com")
        here.carol.press(card, "request_approve")
        here.slack.wait_for(lambda: "Done" in card.text)
    ledger = json.loads(bot.command("ledger").stdout)
    assert ledger["forwarders"] == [{"name": "team@example.com", "members": ["bob@example.com"]}]
    rows = [json.loads(line) for line in bot.command("audit", "show").stdout.splitlines()]
    assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
    later = bot.command("audit", "show", "--after", str(len(rows) - 1)).stdout.splitlines()
    assert [json.loads(line) for line in later] == rows[-1:]
    number = rows[0]["request_id"]
    only = bot.command("audit", "show", "--request", number).stdout.splitlines()
    assert {json.loads(line)["request_id"] for line in only} == {number}
    assert bot.command("audit", "verify").returncode == 0
