# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The process: started, asked how it is, told to reload, ended, killed, and refused."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.support.bot import (
    BotError,
    bot_settings,
    running_bot,
)
from ansible_collections.postroom.email.tests.support.company import Company


@pytest.mark.parametrize("style", ["json", "text"])
def test_it_tells_how_it_is_and_ends_well(here: Company, tmp_path: Path, style: str) -> None:
    """Ready means database, policy and Slack; SIGTERM ends it with status 0 and no complaint."""
    options = {"log_format": style, "log_level": "debug"}
    with running_bot(tmp_path, here.slack, here.mail, here.policy, settings=options) as bot:
        parts = {"database": "ok", "policy": "ok", "slack": "ok"}
        here.slack.wait_for(lambda: bot.readiness()[1]["mail"] == "ok")
        assert bot.readiness() == (200, {"ready": True, "mail": "ok", **parts})
        here.alice.command("/email help")
        assert 'postroom_bot_acks_seconds_count{kind="command"} 1.0' in bot.metrics()
        assert bot.stop() == 0
        lines = bot.log().splitlines()
    assert "stopped" in lines[-1]
    assert not [line for line in lines if "warning" in line.lower() or "error" in line.lower()]
    if style == "json":
        assert {json.loads(line)["level"] for line in lines} <= {"info", "debug"}


def test_without_slack_it_is_alive_and_not_ready(here: Company, tmp_path: Path) -> None:
    """A lost connection shows, and comes back by itself."""
    with running_bot(tmp_path, here.slack, here.mail, here.policy) as bot:
        with here.slack.down():
            here.slack.wait_for(lambda: bot.readiness()[0] == 503)
            assert "no connection" in bot.readiness()[1]["slack"]
        here.slack.wait_for(lambda: bot.readiness()[0] == 200)
        assert here.alice.command("/email help").ok


def test_a_policy_is_read_anew(here: Company, tmp_path: Path) -> None:
    """A good one comes into force; of a bad one the log tells, and the earlier one stays."""
    with running_bot(tmp_path, here.slack, here.mail, here.policy) as bot:
        bot.policy_file.write_text("version: 2\n")
        bot.reload()
        here.slack.wait_for(lambda: "is in force" in bot.readiness()[1]["policy"])
        assert bot.readiness()[0] == 200
        assert "policy.yml: line 1" in bot.log()
        bot.policy_file.write_text(here.policy.replace("requests_per_day: 1000", ""))
        bot.reload()
        here.slack.wait_for(lambda: bot.readiness()[1]["policy"] == "ok")
        assert "read anew" in bot.log()


def test_requests_survive_a_kill(here: Company, tmp_path: Path) -> None:
    """What was acknowledged goes on in the next process, when the first one's lease is over."""
    short = {"lease": 4, "timeout": 3}
    with running_bot(tmp_path, here.slack, here.mail, here.policy, settings=short) as bot:
        ack = here.alice.command("/email alias add kill@example.com")
        bot.kill()
    assert ack.ok
    with running_bot(tmp_path, here.slack, here.mail, here.policy, settings=short):
        here.slack.wait_for_message(here.alice.direct_channel, "kill@example.com")


def test_two_on_one_file_are_refused(here: Company, tmp_path: Path) -> None:
    """The second says so, and the first goes on."""
    with running_bot(tmp_path, here.slack, here.mail, here.policy) as bot:
        second = bot.command("serve")
        assert second.returncode == 2
        assert "more than one replica needs PostgreSQL" in second.stderr
        assert bot.readiness()[0] == 200


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"slack_bot_token": "xoxb-wrong"}, "Slack does not accept slack_bot_token (invalid_auth)"),
        ({"slack_app_token": "xapp-wrong"}, "Slack refuses the Socket Mode connection"),
        (
            {"slack_api_url": "http://127.0.0.1:9/api"},
            "Slack does not answer at http://127.0.0.1:9",
        ),
        ({"policy_file": "nowhere.yml"}, "nowhere.yml: The policy file cannot be read"),
        ({"auto_migrate": "false"}, "the database is empty: run postroom-bot migrate"),
        ({"audit_lines": "/nowhere/lines"}, "audit_lines: /nowhere/lines can't be written"),
        ({"admin_host": "203.0.113.1"}, "can't listen on 203.0.113.1"),
        ({"mode": "mail"}, "The setting mode (POSTROOM_BOT_MODE) must be 'socket' or 'http'"),
    ],
)
def test_what_keeps_it_from_starting_is_one_sentence(
    here: Company, tmp_path: Path, wrong: dict[str, str], sentence: str
) -> None:
    """On standard error, with no trace of the program's inside and no secret; the status is 2."""
    right = bot_settings(tmp_path, here.slack, here.mail, here.policy)
    bot = running_bot(tmp_path, here.slack, here.mail, here.policy, settings=wrong)
    with pytest.raises(BotError) as caught, bot:
        pytest.fail("it has started")
    told = str(caught.value)
    assert sentence in told
    assert "Traceback" not in told
    for name in ("slack_bot_token", "slack_app_token", "api_token"):
        assert str(right[name]) not in told


def test_http_mode_takes_only_what_slack_signed(here: Company, tmp_path: Path) -> None:
    """Signed requests are answered; others are turned away, and nothing of them is logged."""
    options = {"log_level": "debug"}
    with running_bot(
        tmp_path, here.slack, here.mail, here.policy, mode="http", settings=options
    ) as bot:
        transport = here.slack.deliver_over_http(bot.slack_url)
        try:
            assert transport.verify_address()
            assert here.alice.command("/email help").ok
            forger = here.slack.forger()
            for send in (forger.wrong_signature, forger.unsigned, forger.too_old):
                assert send(here.alice, "/email alias add forged@example.com").status == 401
            # Of what is too long not all is read, which may cut the connection before the answer.
            for body, statuses in (
                (b"x" * 600_000, (413, 0)),
                (b"{nonsense", (400,)),
                (b"\xff", (400,)),
            ):
                sent = transport.sent[-1]._replace(body=body)
                assert transport.post(sent, 5).status in statuses
        finally:
            here.slack.deliver_over_sockets()
        assert "forged" not in bot.log()


def test_http_requests_under_way_are_answered_before_the_end(here: Company, tmp_path: Path) -> None:
    """A command that came just before SIGTERM has its acknowledgement and its row."""
    with running_bot(tmp_path, here.slack, here.mail, here.policy, mode="http") as bot:
        here.slack.deliver_over_http(bot.slack_url)
        try:
            here.slack.faults.hang("users.info", seconds=1)
            assert here.alice.command("/email alias add late@example.com").ok
            bot.process.terminate()
            assert bot.stop() == 0
        finally:
            here.slack.deliver_over_sockets()
        shown = bot.command("audit", "show")
    assert "late@example.com" in shown.stdout


def test_the_audit_is_streamed(here: Company, tmp_path: Path) -> None:
    """Each row comes out as a line, which the audit can be compared with."""
    lines = tmp_path / "audit.jsonl"
    options = {"audit_lines": str(lines)}
    with running_bot(tmp_path, here.slack, here.mail, here.policy, settings=options) as bot:
        here.alice.command("/email alias add streamed@example.com")
        here.slack.wait_for(lambda: "streamed@example.com" in lines.read_text())
    verified = bot.command("audit", "verify", "--lines", str(lines))
    assert verified.returncode == 0, verified.stdout
    lines.write_text(lines.read_text().replace("streamed", "forged"))
    assert bot.command("audit", "verify", "--lines", str(lines)).returncode == 1
    assert lines.stat().st_mode & 0o777 == 0o600


def test_a_signal_is_heeded_right_after_another(here: Company, tmp_path: Path) -> None:
    """Told to read its policy anew and to end in one breath, it does both, time and again."""
    for attempt in range(3):
        place = tmp_path / str(attempt)
        place.mkdir()
        with running_bot(place, here.slack, here.mail, here.policy) as bot:
            bot.process.send_signal(signal.SIGHUP)
            bot.process.send_signal(signal.SIGTERM)
            assert bot.process.wait(60) == 0
