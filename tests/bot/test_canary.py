# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""No secret shows anywhere, however much the bot is told to tell and however much goes wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from ansible_collections.postroom.email.tests.bot.canary_life import Life
from ansible_collections.postroom.email.tests.bot.canary_stage import (
    DATABASE_PASSWORD,
    Stage,
    Way,
    canary_stage,
)
from ansible_collections.postroom.email.tests.support.postgresql import fresh_database
from ansible_collections.postroom.email.tests.support.secrets import forms_of, leaks

WAYS = (
    Way("http", "sqlite", "json", "token"),
    Way("socket", "postgresql", "text", "basic"),
)


@pytest.fixture(params=WAYS, ids=str)
def stage(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    """Run the bot with its counterparts; at the end it crashes, and says as little as before."""
    way: Way = request.param
    with ExitStack() as end:
        database = None
        if way.backend == "postgresql":
            url = end.enter_context(fresh_database(request.getfixturevalue("postgresql_url")))
            user = f"postgresql://postgres:{DATABASE_PASSWORD}@/"
            database = url.replace("postgresql:///", user).replace("&user=postgres", "")
        yield end.enter_context(canary_stage(tmp_path_factory.mktemp("canary"), way, database))


#: Settings that a secret may be put into by mistake, and those that only a start finds wrong.
WRONG_PLACES = (
    "mode",
    "replicas",
    "timeout",
    "log_level",
    "policy_file",
    "database",
    "api_url",
    "slack_api_url",
    "slack_bot_token",
    "slack_app_token",
    "awx_url",
    "awx_add_alias_template",
    "executor",
    "config",
    "no_setting",
)
WRONG_STARTS = ("policy_file", "ca_path", "admin_host")


def test_nothing_shows(stage: Stage) -> None:
    """A whole life at level debug, with errors of all kinds, gives none of the secrets away."""
    Life(stage).all()
    for arguments in (["audit", "show"], ["audit", "verify"], ["ledger"], ["check-config"]):
        assert ": 0\n" in stage.run(*arguments)
    stage.run("explain", "--mailbox", "alice@example.com", "alias", "add", "x@example.com")
    _misplace(stage)
    stage.collect()
    stage.crash()
    stage.collect_slack()
    assert len(stage.passwords) == 2
    assert stage.leaks() == {}
    _every_place_was_talkative(stage)


def test_gossip_would_be_found(stage: Stage) -> None:
    """The control: a bot that logs a password and writes it down is caught at both."""
    stage.mistake.write_text("gossip")
    password = Life(stage).own_password()
    stage.collect()
    stage.run("audit", "show")
    found = " ".join(stage.leaks()["password 0"])
    log, dump = "bot.log", "dump.sql" if stage.bot.database.startswith("postgres") else "sqlite3"
    for place in (log, dump, "living", "commands"):
        assert place in found
    assert password in found


def _every_place_was_talkative(stage: Stage) -> None:
    """See that all places were looked at, and hold what is no secret, which is found likewise."""
    holds = {
        "slack": "by-command@example.com",
        "commands": "by-command@example.com",
        "processes": "--ready-file",
        "metrics": "errors_total",
        "readiness": "policy",
        "automation": "by-command@example.com",
        "living": "by-command@example.com",
    }
    for name, word in holds.items():
        assert leaks([word], [stage.kept / name]), name
    assert leaks(["something is wrong in the bot"], [stage.bot.log_path])
    assert leaks(["stopped by a mistake in the bot"], [stage.bot.log_path])
    for secret in stage.secrets.values():
        planted = stage.kept / "planted"
        for form in forms_of(secret):
            planted.write_bytes(b"before " + form + b" after")
            assert leaks([secret], [planted])
        planted.unlink()


def _misplace(stage: Stage) -> None:
    """Check and start the bot with its secrets in the wrong settings."""
    address = f"https://me:{DATABASE_PASSWORD}@host/x"
    for secret in (stage.here.slack.bot_token, stage.here.mail.token, address):
        for name in WRONG_PLACES:
            stage.check_config(**{name: secret})
        for name in WRONG_STARTS:
            assert "serve: 2" in stage.run("serve", **{name: secret})
    stage.run("serve", database=address)
