# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What is wrong in settings and policy is told before people run into it."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import pytest

from ansible_collections.postroom.email.tests.support.bot import PREFIX, bot_settings, running_bot
from ansible_collections.postroom.email.tests.support.company import Company
from postroom_bot.__main__ import main

NOWHERE = "http://127.0.0.1:9"


class Check(Protocol):
    """A run of `check-config --online`."""

    def __call__(self, policy: str = "", **wrong: str) -> int:
        """Run it with this policy and these settings, and return its exit status."""
        ...


@pytest.fixture
def check(here: Company, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """Return what runs it, with what is right in place of what is not given."""

    def run(policy: str = "", **wrong: str) -> int:
        given = bot_settings(tmp_path, here.slack, here.mail, policy or here.policy) | wrong
        for name, value in given.items():
            monkeypatch.setenv(f"{PREFIX}{name.upper()}", str(value))
        return main(["check-config", "--online"])

    return run


def test_what_is_right_is_said_so(
    here: Company,
    check: Check,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Channels are named as what nobody could look at."""
    assert check() == 0
    told = capsys.readouterr().out
    assert told.endswith("No mistakes found.\n")
    assert f"Not looked at, the first card tells: channels.approvals {here.approvals}." in told


@pytest.mark.parametrize(
    ("wrong", "words", "remedy"),
    [
        ({"api_token": "wrong"}, "token", "Check api_token."),
        ({"api_url": NOWHERE, "timeout": "1"}, NOWHERE, "Check api_url, and that it runs."),
    ],
)
def test_a_mail_service_that_can_not_be_used_is_told(
    check: Check,
    capsys: pytest.CaptureFixture[str],
    wrong: dict[str, str],
    words: str,
    remedy: str,
) -> None:
    """In one line, with its own words and the setting to look at, and no log beside it."""
    assert check(**wrong) == 1
    told = capsys.readouterr()
    [line] = [line for line in told.out.splitlines() if not line.startswith("Not looked at")]
    assert line.startswith("The mail service can't be used now: ")
    assert words in line.removesuffix(remedy)
    assert line.endswith(f" {remedy}")
    assert told.err == ""


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"slack_bot_token": "xoxb-wrong"}, "Slack does not accept slack_bot_token"),
        ({"slack_app_token": "xapp-wrong"}, "Slack refuses the Socket Mode connection"),
        ({"slack_api_url": f"{NOWHERE}/api/"}, "Slack does not answer"),
    ],
)
def test_a_token_that_slack_refuses_is_told(
    check: Check,
    capsys: pytest.CaptureFixture[str],
    wrong: dict[str, str],
    sentence: str,
) -> None:
    """Each of the two that a bot can't be started without, in one line."""
    assert check(**wrong) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"postroom-bot: {sentence}")


def test_ids_that_slack_does_not_know_are_told(
    here: Company,
    check: Check,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """All of them, each with its key in the policy."""
    users = f"users: [{here.bob.id}"
    policy = here.policy.replace(users, f"usergroups: [S404]\n    users: [U99999999, {here.bob.id}")
    assert check(policy) == 1
    told = capsys.readouterr().out
    assert "groups.mail-admins.users names the user U99999999" in told
    assert "groups.mail-admins.usergroups names S404" in told


def test_a_slack_that_does_not_answer_is_no_mistake_of_the_policy(
    here: Company,
    check: Check,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What could not be looked up is said to be so."""
    here.slack.faults.rate_limit("users.info", retry_after=5)
    assert check() == 1
    assert "were not all looked up" in capsys.readouterr().out


def test_a_bot_that_starts_logs_what_it_finds(here: Company, tmp_path: Path) -> None:
    """It starts all the same, and stays ready; how the mail service answered is shown."""
    wrong = {"api_token": "wrong"}
    policy = here.policy.replace("users: [", "usergroups: [S404]\n    users: [")
    with running_bot(tmp_path, here.slack, here.mail, policy, settings=wrong) as bot:
        here.slack.wait_for(lambda: "names S404" in bot.log())
        assert "Check api_token" in bot.log()
        status, parts = bot.readiness()
        assert status == 200
        assert parts["mail"] == "refused"
        assert bot.stop() == 0
