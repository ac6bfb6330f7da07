# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The output of all commands except `serve`, and of all commands with invalid settings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import Mock

import pytest

from ansible_collections.postroom.email.tests.support.bot import PREFIX, bot_environment
from ansible_collections.postroom.email.tests.support.company import Company
from ansible_collections.postroom.email.tests.support.repository import ROOT
from ansible_collections.postroom.email.tests.support.secrets import shown
from postroom_bot.cli import main
from postroom_bot.domain import Action, Change
from postroom_bot.slack.manifest import manifest
from postroom_bot.store import audit, requests
from postroom_common.database import Database

EXAMPLE = str(ROOT / "bot" / "examples" / "policy.yml")
WHO = ["explain", "--policy", EXAMPLE]
#: Settings that may contain a secret by mistake. Those in WRONG_STARTS are checked only when the
#: bot starts.
WRONG_PLACES = (
    *("mode", "replicas", "timeout", "log_level", "policy_file", "database", "api_url"),
    *("slack_bot_token", "slack_app_token", "awx_url", "awx_add_alias_template", "executor"),
    *("config", "no_setting"),
)
WRONG_STARTS = ("policy_file", "admin_host")

#: A function that runs a command and returns its exit status, standard output and standard error.
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Provide a function that runs a command in this process, in an empty directory."""
    monkeypatch.chdir(tmp_path)

    def command(*words: str) -> tuple[int, str, str]:
        status = main([*words])
        said = capsys.readouterr()
        return status, said.out, said.err

    return command


@pytest.mark.usefixtures("in_environment")
def test_mistakes_are_reported_together(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Errors in the settings, the database and the policy are reported together."""
    status, out, _ = run("check-config")
    assert status == 0
    assert [line.split(",")[0] for line in out.splitlines()] == [
        "smtp_host is not set",
        "No errors found.",
    ]
    file = tmp_path / "wrong.yml"
    file.write_text("version: 2\n")
    for name, value in (("POLICY_FILE", str(file)), ("DATABASE", "mysql://db/bot")):
        monkeypatch.setenv(f"{PREFIX}{name}", value)
    status, _, database = run("migrate")
    assert status == 2
    monkeypatch.setenv(f"{PREFIX}MODE", "mail")
    monkeypatch.delenv(f"{PREFIX}API_TOKEN")
    status, out, _ = run("check-config")
    lines = out.splitlines()
    assert status == 1
    assert [line.split()[0] for line in lines[:3]] == ["mode", "database", "api_token"]
    assert database.strip().removeprefix("postroom-bot: ") in lines
    assert any(line.startswith(f"{file}: line 1: ") for line in lines)
    for words in (("--config", "nowhere.yml", "migrate"), ("migrate", "--config", "nowhere.yml")):
        status, _, err = run(*words)
        assert (status, "nowhere.yml" in err) == (2, True)


@pytest.mark.usefixtures("in_environment")
def test_a_configuration_is_checked_online(
    company: Company, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The online check lists the channels as unchecked, and fails if Slack rejects a token."""
    status, out, _ = run("check-config", "--online")
    assert status == 0
    assert f"channels.approvals {company.approvals}" in out
    assert out.endswith("No errors found.\n")
    monkeypatch.setenv(f"{PREFIX}SLACK_APP_TOKEN", "xapp-wrong")
    status, _, err = run("check-config", "--online")
    assert (status, "Slack rejected the Socket Mode connection" in err) == (2, True)


@pytest.mark.usefixtures("in_environment")
@pytest.mark.parametrize(
    ("wrong", "remedy"),
    [
        ({"api_token": "wrong"}, "check api_token"),
        ({"api_url": "http://127.0.0.1:9", "timeout": "1"}, "Check api_url"),
    ],
)
def test_a_service_that_can_not_be_used_is_one_line(
    run: Run, monkeypatch: pytest.MonkeyPatch, wrong: dict[str, str], remedy: str
) -> None:
    """An unusable service is reported in one line that names the setting to check."""
    for name, value in wrong.items():
        monkeypatch.setenv(f"{PREFIX}{name.upper()}", value)
    status, out, err = run("check-config", "--online")
    [line] = [line for line in out.splitlines() if not line.startswith("These channels")]
    assert (status, line.count(remedy), err) == (1, 1, "")


@pytest.mark.usefixtures("in_environment")
def test_ids_that_slack_does_not_know_are_named(company: Company, run: Run) -> None:
    """IDs that Slack doesn't know are listed with the policy keys that contain them."""
    users = f"users: [{company.bob.id}"
    groups = f"usergroups: [{company.slack.usergroup(company.bob)}, S404]"
    policy = company.policy.replace(users, f"{groups}\n    users: [U99999999, {company.bob.id}")
    Path(os.environ[f"{PREFIX}POLICY_FILE"]).write_text(policy)
    status, out, _ = run("check-config", "--online")
    assert status == 1
    assert "groups.mail-admins.users" in out
    assert "U99999999" in out
    assert "groups.mail-admins.usergroups lists S404" in out
    company.slack.faults.rate_limit("users.info", retry_after=5)
    assert "not all ids in the policy" in run("check-config", "--online")[1]


@pytest.mark.usefixtures("in_environment")
@pytest.mark.parametrize(
    ("command", "places"), [("check-config", WRONG_PLACES), ("serve", WRONG_STARTS)]
)
def test_a_misplaced_secret_is_not_shown(
    company: Company,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    places: tuple[str, ...],
) -> None:
    """An error never shows the value of a setting, because it may be a misplaced secret."""
    secrets = (company.slack.bot_token, company.mail.token, "https://me:db-pass-5521@host/x")
    for secret in secrets:
        for name in places:
            with monkeypatch.context() as patch:
                patch.setenv(f"{PREFIX}{name.upper()}", secret)
                status, out, err = run(command)
            assert status == 2 or command == "check-config", name
            assert shown([*secrets[:2], "db-pass-5521"], (out + err).encode()) == []


@pytest.mark.usefixtures("in_environment")
def test_an_operator_lists_and_cancels_requests(run: Run, tmp_path: Path) -> None:
    """An operator can list requests and cancel open requests, and the audit names the operator."""
    run("migrate")
    database, change = (
        Database(str(tmp_path / "bot.sqlite3")),
        Change(Action.PASSWORD, "a@example.com"),
    )
    made = database.write(
        lambda c: requests.add(c, change=change, requester="U1", team="T1", at=datetime.now(UTC))
    )
    (line,) = run("requests")[1].splitlines()
    assert (json.loads(line)["id"], json.loads(line)["requester"]) == (made.id, "U1")
    for number, status in ((made.id.lower(), 0), ("R-XXXX", 1)):
        assert run("cancel", number)[0] == status
    assert run("requests")[1] == ""
    row = json.loads(run("audit", "show", "--request", made.id)[1])
    assert row["actor"].startswith("operator:")
    database.close()


@pytest.mark.usefixtures("in_environment")
@pytest.mark.parametrize("command", [["definition"], ["audit", "verify"], ["audit", "show"]])
def test_reading_creates_no_database(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: list[str]
) -> None:
    """Read-only commands report a missing or invalid database file, and create no file."""
    file = tmp_path / "nope.sqlite3"
    monkeypatch.setenv(f"{PREFIX}DATABASE", str(file))
    status, _, err = run(*command)
    assert (status, f"file {file} does not exist" in err) == (2, True)
    assert not file.exists()
    file.write_text("Dear diary, this is no database, and long enough to differ from one.")
    for words in (command, ["migrate"]):
        status, _, err = run(*words)
        assert (status, str(file) in err) == (2, True)


def test_the_audit_is_shown_in_part_or_as_a_whole(
    in_environment: dict[str, object], run: Run, tmp_path: Path
) -> None:
    """The audit can be shown in full, after a row or for one request.

    It can also be compared with the streamed lines.
    """
    assert run("migrate")[0] == run("migrate")[0] == 0
    database, at = Database(str(tmp_path / "bot.sqlite3")), datetime.now(UTC)
    for number in ("R-2222", "R-3333"):
        database.write(
            lambda c: audit.append(c, "vote.cast", at=at, actor="U1", request_id=number, data={})  # noqa: B023
        )
    database.close()

    def rows(*words: str) -> list[int]:
        status, out, _ = run("audit", "show", *words)
        assert status == 0
        return [json.loads(line)["seq"] for line in out.splitlines()]

    assert rows() == [1, 2]
    command = [sys.executable, "-m", "postroom_bot", "audit", "show"]
    env = bot_environment(in_environment)
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as cut:
        assert cut.stdout is not None
        cut.stdout.close()
        assert cut.communicate()[1] == b""
    assert rows("--after", "1") == rows("--request", "R-3333") == [2]
    # An empty result might hide a typo in the ID.
    assert run("audit", "show", "--request", "R-XXXX")[0] == 1
    lines, wrong = tmp_path / "audit.jsonl", tmp_path / "wrong.jsonl"
    lines.write_text(run("audit", "show")[1])
    wrong.write_text(lines.read_text().replace("U1", "U2"))
    assert run("audit", "verify")[0] == run("audit", "verify", "--lines", str(lines))[0] == 0
    assert run("audit", "verify", "--lines", str(wrong))[0] == 1
    assert run("audit", "verify", "--lines", "nowhere.jsonl")[0] == 2


def test_mistakes_of_a_policy_have_their_lines(run: Run, tmp_path: Path) -> None:
    """A policy can be checked without any settings, and its errors have line numbers."""
    file = tmp_path / "policy.yml"
    file.write_text("version: 1\nrulez: []\n")
    status, out, _ = run("check-config", "--policy", str(file))
    assert (status, f"{file}: line 2: rulez" in out) == (1, True)
    assert run("check-config", "--policy", EXAMPLE)[0] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["alias", "add", "sales@example.com"], "Allowed with approvals by own-alias"),
        (["password"], "Allowed without approval by own-password"),
        (["forward", "add", "x@example.com", "to", "y@other.test"], "forward-outside"),
        (["alias", "add", "x@example.com", "until", "2020-01-31"], "its end date has passed"),
    ],
)
def test_a_decision_is_explained(run: Run, words: list[str], said: str) -> None:
    """The explanation of a decision names the rule that made it."""
    who = ["--mailbox", "alice@example.com", "--group", "mail-admins"]
    status, out, _ = run(*WHO, *who, *words)
    assert (status, said in out) == (0, True)


def test_a_user_id_selects_what_the_policy_knows_of_a_person(run: Run, tmp_path: Path) -> None:
    """A user ID selects the user's pinned mailbox and the user's groups in the policy."""
    rule = "- {name: admins-only, actions: [alias.add], groups: [mail-admins], automatic: true}"
    file = tmp_path / "policy.yml"
    file.write_text(Path(EXAMPLE).read_text().replace("rules:", f"rules:\n  {rule}", 1))
    command = ["explain", "--policy", str(file), "--user", "U024BE7LJ"]
    output = run(*command, "alias", "add", "a@example.com")[1]
    assert "Allowed without approval by admins-only" in output
    other = ["alias", "add", "a@example.com", "to", "alice@example.com"]
    assert "known to own" not in run(*command, *other)[1]
    out = run(*WHO, "--user", "U024BE7LH", "--group", "contractors", "password")[1]
    assert out.splitlines()[-1].startswith("Not checked: the user groups of security")


@pytest.mark.parametrize(
    "words",
    [
        ["--group", "contractor", "password"],
        ["--user", "bob", "password"],
        ["--domain", "example", "password"],
        ["--mailbox", "alice", "password"],
        ["help"],
        ["nonsense"],
        ["alias", "add", "nobody"],
    ],
)
def test_what_needs_no_decision_is_not_explained(run: Run, words: list[str]) -> None:
    """An invalid question is refused instead of being misread as a different question."""
    status, out, err = run(*WHO, *words)
    assert (status, out) == (2, "")
    assert err.startswith("postroom-bot: ")


def test_the_manifest(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The manifest is printed as JSON, for the given transport."""
    status, out, _ = run("manifest")
    assert (status, json.loads(out)) == (0, manifest())
    url = "https://bot.example.com/slack/events"
    assert json.loads(run("manifest", "--url", url)[1]) == manifest(url)
    assert run("manifest", "--url", "http://bot.example.com")[0] == 2
    monkeypatch.setattr("postroom_bot.cli.manifest", Mock(side_effect=KeyboardInterrupt))
    assert run("manifest") == (2, "", "postroom-bot: interrupted\n")
