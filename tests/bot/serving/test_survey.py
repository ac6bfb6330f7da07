# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What is wrong in settings and policy is reported before people run into it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.support.bot import PREFIX, bot_settings, running_bot
from ansible_collections.postroom.email.tests.support.company import Company
from postroom_bot.__main__ import main

NOWHERE = "http://127.0.0.1:9"

#: Runs `check-config --online` with this policy and these wrong settings; returns its status.
Check = Callable[[str, dict[str, str]], int]


@pytest.fixture
def check(here: Company, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """Give the check."""

    def run(policy: str, wrong: dict[str, str]) -> int:
        given = bot_settings(tmp_path, here.slack, here.mail, policy) | wrong
        for name, value in given.items():
            monkeypatch.setenv(f"{PREFIX}{name.upper()}", str(value))
        return main(["check-config", "--online"])

    return run


def test_a_right_configuration_has_no_mistakes(
    here: Company, check: Check, capsys: pytest.CaptureFixture[str]
) -> None:
    """Channels are named as unchecked."""
    assert check(here.policy, {}) == 0
    told = capsys.readouterr().out
    assert f"channels.approvals {here.approvals}" in told
    assert told.endswith("No mistakes found.\n")


@pytest.mark.parametrize(
    ("wrong", "remedy"),
    [
        ({"api_token": "wrong"}, "Check api_token."),
        ({"api_url": NOWHERE, "timeout": "1"}, "Check api_url"),
    ],
)
def test_a_mail_service_that_can_not_be_used_is_one_line(
    here: Company,
    check: Check,
    capsys: pytest.CaptureFixture[str],
    wrong: dict[str, str],
    remedy: str,
) -> None:
    """It names the setting to check, and the log adds nothing."""
    assert check(here.policy, wrong) == 1
    told = capsys.readouterr()
    [line] = [line for line in told.out.splitlines() if not line.startswith("Not looked at")]
    assert remedy in line
    assert told.err == ""


def test_ids_that_slack_does_not_know_are_named(
    here: Company, check: Check, capsys: pytest.CaptureFixture[str]
) -> None:
    """All of them, each with its key in the policy; what Slack does not answer is no mistake."""
    users = f"users: [{here.bob.id}"
    policy = here.policy.replace(users, f"usergroups: [S404]\n    users: [U99999999, {here.bob.id}")
    assert check(policy, {}) == 1
    told = capsys.readouterr().out
    assert "groups.mail-admins.users names the user U99999999" in told
    assert "groups.mail-admins.usergroups names S404" in told
    here.slack.faults.rate_limit("users.info", retry_after=5)
    assert check(here.policy, {}) == 1
    assert "were not all looked up" in capsys.readouterr().out


@pytest.mark.full
def test_a_bot_that_starts_logs_what_it_finds(here: Company, tmp_path: Path) -> None:
    """It starts anyway, and is ready; the mail service's answer shows."""
    wrong = {"api_token": "wrong"}
    policy = here.policy.replace("users: [", "usergroups: [S404]\n    users: [")
    with running_bot(tmp_path, here.slack, here.mail, policy, settings=wrong) as bot:
        here.slack.wait_for(lambda: "names S404" in bot.log())
        assert "Check api_token" in bot.log()
        status, parts = bot.readiness()
        assert status == 200
        assert parts["mail"] == "refused"
