# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Whose certificate is trusted, by the mail service and by AWX: no other one sees a secret."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import (
    Reply,
    ScriptedServer,
    scripted,
)
from ansible_collections.postroom.email.tests.support.certificates import OPENSSL, Authority
from postroom_bot.executors.base import TryLater
from postroom_bot.executors.controller import Controller, Token
from postroom_bot.executors.mail import Mail

pytestmark = pytest.mark.skipif(OPENSSL is None, reason="the openssl program is not installed")

TOKEN = SecretStr("t0ken/of+mine")
ROW = b'{"id": 1, "status": "running"}'


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """Return one that nobody knows."""
    return Authority(tmp_path)


@pytest.fixture
def server(authority: Authority) -> Iterator[ScriptedServer]:
    """Run one that this authority vouches for."""
    with scripted(lambda request: Reply(200, ROW), tls=authority.serves("IP:127.0.0.1")) as server:
        yield server


def ask_both(server: ScriptedServer, **trust: Any) -> None:
    """Ask it as the mail service, which it isn't, and as AWX."""
    with closing(Mail(server.url, TOKEN, timeout=2, **trust)) as mail, suppress(TryLater):
        mail.domains()
    Controller(server.url, Token(TOKEN), **trust).job(1)


def test_an_unknown_authority(server: ScriptedServer, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is sent to whom it vouches for, and the operator is told."""
    with pytest.raises(TryLater, match="does not answer properly"):
        ask_both(server)
    assert server.requests == []
    assert logging.ERROR in [record.levelno for record in caplog.records]
    assert len([r for r in caplog.records if "CERTIFICATE_VERIFY_FAILED" in r.getMessage()]) == 2
    assert "t0ken" not in caplog.text


def test_an_authority_that_is_named(server: ScriptedServer, authority: Authority) -> None:
    """It is trusted."""
    ask_both(server, ca_path=str(authority.path))
    assert len(server.requests) == 2


def test_no_check(server: ScriptedServer) -> None:
    """Where none is wanted, anybody is trusted."""
    ask_both(server, verify=False)
    assert len(server.requests) == 2
