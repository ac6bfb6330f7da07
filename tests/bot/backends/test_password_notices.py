# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Notices about new passwords: a real mail server delivers them, and they reveal no secret."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from ansible_collections.postroom.email.tests.mail.client import (
    ALICE,
    BOB,
    HOST,
    SECRET,
    MailServer,
    mail_server,
)
from ansible_collections.postroom.email.tests.support.loopback import free_port
from ansible_collections.postroom.email.tests.support.mail import CERTIFICATE
from postroom_bot.backends import password_notices
from postroom_bot.backends.password_notices import PasswordNotices, create_password_notices
from postroom_bot.config import Settings
from postroom_bot.domain import Action, Change, Request, State
from postroom_bot.errors import Unavailable

NOW = datetime(2026, 1, 31, 12, 5, tzinfo=UTC)
REQUEST = Request(
    "R-7K2M",
    Change(Action.PASSWORD, ALICE),
    "U0ALICE",
    "T0HOME",
    State.APPROVED,
    NOW,
    requester_mailbox=ALICE,
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MailServer]:
    """Provide a mail server with the mailboxes of Alice and Bob."""
    with mail_server(tmp_path_factory.mktemp("mail")) as server:
        yield server


def _notices(tmp_path: Path, **given: Any) -> PasswordNotices:
    """Return a sender with these settings, by default one that logs in as Bob."""
    policy = tmp_path / "policy.yml"
    login = {"smtp_sender": BOB, "smtp_user": BOB, "smtp_password": SECRET}
    settings = Settings(
        slack_bot_token=SecretStr("xoxb-1"),
        slack_app_token=SecretStr("xapp-1"),
        policy_file=policy,
        api_url="https://mail.example.com",
        api_token=SecretStr("token"),
        mail_host="mail.example.com",
        **{**login, **given},
    )
    notices = create_password_notices(settings)
    assert notices is not None
    return notices


def _reachable(server: MailServer) -> dict[str, Any]:
    """Return the settings with which the server can be used."""
    port, trusted = server.service.ready["submission"], server.folder / CERTIFICATE
    return {"smtp_host": HOST, "smtp_port": port, "ca_path": trusted}


def test_a_notice_reaches_the_mailbox(server: MailServer, tmp_path: Path) -> None:
    """A notice is delivered over STARTTLS, names the account, and can be answered."""
    notices = _notices(tmp_path, **_reachable(server))
    assert notices.check() == ""
    notices.send(REQUEST, "U0ALICE", NOW)
    notice = server.inbox(ALICE)[-1]
    assert (notice["From"], notice["Subject"]) == (BOB, f"New password for {ALICE}")
    assert notice["Auto-Submitted"] == "auto-generated"
    text = notice.get_content()
    for part in ("U0ALICE", "R-7K2M", "2026-01-31 12:05 UTC", "reply to this"):
        assert part in text
    assert SECRET not in notice.as_string()
    assert notices.last_result == "ok"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"smtp_password": "wrong-canary"}, "rejected smtp_user or smtp_password (535)"),
        ({"ca_path": None}, "TLS failed"),
        ({"smtp_tls": "tls"}, "TLS failed"),
        ({"smtp_port": 0}, "refused"),
    ],
)
def test_a_server_that_can_t_be_used_is_reported(
    server: MailServer,
    tmp_path: Path,
    given: dict[str, Any],
    problem: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """An error has a cause for the operator, and neither the cause nor the log has a secret."""
    caplog.set_level(logging.DEBUG)
    given = {
        name: value or (free_port() if name == "smtp_port" else None)
        for name, value in given.items()
    }
    notices = _notices(tmp_path, **{**_reachable(server), **given})
    assert problem in notices.check()
    with pytest.raises(Unavailable, match=r"password\.no_notice"):
        notices.send(REQUEST, "U0ALICE", NOW)
    assert problem in caplog.text
    assert not {"canary", SECRET} & set(caplog.text.replace("-", " ").split())
    assert notices.last_result == "failing"


def test_a_rejected_mailbox_is_reported(server: MailServer, tmp_path: Path) -> None:
    """If the server doesn't accept the mailbox, the error says so."""
    notices = _notices(tmp_path, **_reachable(server))
    missing = Request(
        "R-7K2M",
        Change(Action.PASSWORD, "nobody@example.com"),
        "U0ALICE",
        "T0HOME",
        State.APPROVED,
        NOW,
    )
    with pytest.raises(Unavailable) as caught:
        notices.send(missing, "U0ALICE", NOW)
    assert "rejected the recipient (550)" in str(caught.value.__cause__)


def test_a_silent_server_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that accepts a connection and says nothing ends in an error."""
    monkeypatch.setattr(password_notices, "TIMEOUT_SECONDS", 0.2)
    with socket.create_server((HOST, 0)) as silent:
        port = silent.getsockname()[1]
        notices = _notices(tmp_path, smtp_host=HOST, smtp_port=port)
        assert "did not respond in time" in notices.check()
