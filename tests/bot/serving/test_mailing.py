# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Who carries wishes out, as the settings say."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from threading import Event

import pytest
from pydantic import SecretStr

from postroom_bot.executors.awx import Awx
from postroom_bot.serving.mailing import executor_of, mail_of
from postroom_bot.serving.web import StartError
from postroom_bot.settings import Settings

BASE = Settings.model_validate(
    {
        "slack_bot_token": "xoxb-1",
        "slack_app_token": "xapp-1",
        "policy_file": "policy.yml",
        "api_url": "https://mail.example.com",
        "api_token": "token",
        "mail_host": "mail.example.com",
    }
)
AWX = BASE.model_copy(
    update={
        "executor": "awx",
        "awx_url": "https://awx.example.com",
        "awx_token": SecretStr("token"),
        "awx_add_alias_template": 1,
        "awx_remove_alias_template": 2,
        "awx_forwarder_template": 3,
    }
)
LOGIN = {"awx_token": None, "awx_username": "bot", "awx_password": SecretStr("secret")}


def test_the_bot_itself_unless_told_otherwise() -> None:
    """It is the same object: one set of connections."""
    with ExitStack() as end:
        mail = mail_of(BASE, end)
        assert executor_of(BASE, mail, Event()) is mail


@pytest.mark.parametrize("settings", [AWX, AWX.model_copy(update=LOGIN)])
def test_awx_with_a_token_or_a_user(settings: Settings) -> None:
    """Nothing is asked before there is something to do."""
    with ExitStack() as end:
        assert isinstance(executor_of(settings, mail_of(settings, end), Event()), Awx)


def test_what_cannot_be_used_is_one_sentence(tmp_path: Path) -> None:
    """A file of authorities that is not there keeps the bot from starting."""
    nowhere = AWX.model_copy(update={"ca_path": tmp_path / "nowhere.pem"})
    with ExitStack() as end:
        with pytest.raises(StartError, match="the mail service can't be used"):
            mail_of(nowhere, end)
        with pytest.raises(StartError, match="AWX can't be used"):
            executor_of(nowhere, mail_of(BASE, end), Event())
