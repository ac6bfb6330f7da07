# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The bot's process: start, failed starts, readiness, reload, shutdown and a second process."""

from __future__ import annotations

import gc
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.support.bot import (
    PREFIX,
    bot_environment,
    running_bot,
)
from ansible_collections.postroom.email.tests.support.company import Company
from postroom_bot import app
from postroom_bot.cli import main

AWX = {
    "executor": "awx",
    "awx_url": "https://127.0.0.1:9",
    "awx_username": "bot",
    "awx_password": "secret",
    "awx_add_alias_template": "1",
    "awx_remove_alias_template": "2",
    "awx_forwarder_template": "3",
}


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"slack_bot_token": "xoxb-wrong"}, "slack_bot_token (invalid_auth)"),
        ({"slack_app_token": "xapp-wrong"}, "Slack rejected the Socket Mode connection"),
        ({"slack_api_url": "http://127.0.0.1:9/api"}, "responding at http://127.0.0.1:9"),
        ({"policy_file": "nowhere.yml"}, "nowhere.yml: "),
        ({"auto_migrate": "false"}, "run postroom-bot migrate"),
        ({"audit_lines": "/nowhere/lines"}, "/nowhere/lines"),
        ({"admin_host": "203.0.113.1"}, "203.0.113.1"),
        ({"mode": "mail"}, "POSTROOM_BOT_MODE"),
        (
            {"ca_path": "/no.pem", "api_url": "https://127.0.0.1:9"},
            "the mail service can't be used",
        ),
        ({"ca_path": "/no.pem", **AWX}, "AWX can't be used"),
    ],
)
def test_what_prevents_a_start_is_one_sentence(
    in_environment: dict[str, object],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    wrong: dict[str, str],
    sentence: str,
) -> None:
    """A failed start prints one sentence without a traceback or secret, and exits with status 2."""
    for name, value in wrong.items():
        monkeypatch.setenv(f"{PREFIX}{name.upper()}", value)
    assert main(["serve"]) == 2
    # This warns about files and sockets that were left open.
    gc.collect()
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith("postroom-bot: ")
    assert sentence in line
    for name in ("slack_bot_token", "slack_app_token", "api_token"):
        assert str(in_environment[name]) not in line


@pytest.mark.full
def test_a_bot_without_a_replica_ends_well(company: Company, tmp_path: Path) -> None:
    """A second process for the same SQLite file is refused. SIGTERM stops the first process."""
    options = {"log_level": "debug"}
    with running_bot(
        tmp_path, company.slack, company.mail, company.policy, settings=options
    ) as bot:
        assert bot.slack_url == ""
        second = bot.command("serve")
        assert second.returncode == 2
        assert "more than one replica needs PostgreSQL" in second.stderr
        assert company.alice.command("/email help").ok
        assert bot.stop() == 0
        lines = [json.loads(line) for line in bot.log().splitlines()]
    assert lines[-1]["event"] == "stopped"
    assert [line for line in lines if line["level"] not in ("info", "debug")] == []


@pytest.mark.full
def test_a_policy_is_reloaded(company: Company, tmp_path: Path) -> None:
    """A reload applies a valid policy, and keeps the previous policy if the new one is invalid."""
    with running_bot(tmp_path, company.slack, company.mail, company.policy) as bot:
        bot.policy_file.write_text("version: 2\n")
        bot.reload()
        company.slack.wait_for(lambda: "previous policy" in bot.readiness()[1]["policy"])
        assert bot.readiness()[0] == 200
        assert "policy.yml: line 1" in bot.log()
        bot.policy_file.write_text(company.policy.replace("requests_per_day: 1000", ""))
        bot.reload()
        company.slack.wait_for(lambda: bot.readiness()[1]["policy"] == "ok")
        # Each signal must be handled, even if it arrives right after another.
        bot.process.send_signal(signal.SIGHUP)
        bot.process.send_signal(signal.SIGTERM)
        assert bot.process.wait(60) == 0


@pytest.mark.full
def test_http_requests_under_way_are_answered_before_the_end(
    company: Company, tmp_path: Path
) -> None:
    """A command that arrives just before SIGTERM is acknowledged and stored."""
    with running_bot(tmp_path, company.slack, company.mail, company.policy, mode="http") as bot:
        company.slack.deliver_over_http(bot.slack_url)
        try:
            company.slack.faults.hang("users.info", seconds=1)
            assert company.alice.command("/email alias add late@example.com").ok
            bot.process.terminate()
            assert bot.stop() == 0
        finally:
            company.slack.deliver_over_sockets()
        shown = bot.command("audit", "show")
    assert "late@example.com" in shown.stdout


@pytest.mark.full
def test_a_bot_that_starts_logs_what_it_finds(company: Company, tmp_path: Path) -> None:
    """The bot starts despite a rejected token or an unknown user group, and logs both problems."""
    wrong = {"api_token": "wrong"}
    policy = company.policy.replace("users: [", "usergroups: [S404]\n    users: [")
    with running_bot(tmp_path, company.slack, company.mail, policy, settings=wrong) as bot:
        company.slack.wait_for(lambda: "S404" in bot.log())
        assert "api_token" in bot.log()
        status, parts = bot.readiness()
        assert (status, parts["mail"]) == (200, "refused")


def test_a_crash_of_the_main_thread_ends_the_process(in_environment: dict[str, object]) -> None:
    """A crash of the main thread ends the process, even if a shutdown step fails."""
    program = """
import signal, sys, threading
from postroom_bot.cli import main
from postroom_bot.slack.transports import SocketModeTransport

def fail(*_):
    raise RuntimeError

threading.Thread(target=threading.Event().wait).start()
signal.sigwait = SocketModeTransport.stop = fail
sys.exit(main(["serve"]))
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command,
        env=bot_environment(in_environment),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 1
    assert "RuntimeError" in done.stderr
    assert "health and metrics at" in done.stderr


def test_a_second_signal_is_ignored() -> None:
    """A second SIGTERM during the shutdown does not kill the process."""
    with app._signals_blocked():
        signal.raise_signal(signal.SIGTERM)
