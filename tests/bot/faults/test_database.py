# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""PostgreSQL goes down under the running bot, and comes back."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from ansible_collections.postroom.email.tests.support.bot import running_bot
from ansible_collections.postroom.email.tests.support.company import company, fresh_address
from ansible_collections.postroom.email.tests.support.fixtures import postgresql
from ansible_collections.postroom.email.tests.support.postgresql import binaries

pytestmark = pytest.mark.full

#: In the few seconds of the outage, five threads look for work once a second.
MOST_LINES = 100


@pytest.fixture
def postgres() -> Iterator[str]:
    """Give the URL of a server of this test's own."""
    with postgresql() as url:
        yield url


@contextmanager
def stopped(url: str) -> Iterator[None]:
    """Kill the server for the length of a block, and run it again until the test ends it."""
    place, folder = binaries(), Path(parse_qs(urlsplit(url).query)["host"][0])
    assert place is not None
    number = int((folder / "data" / "postmaster.pid").read_text().split()[0])
    os.kill(number, signal.SIGQUIT)
    yield
    owner = (folder / "data").stat()
    become: dict[str, Any] = {}
    if os.geteuid() == 0:
        become = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []}
    with (folder / "log").open("ab") as log:
        command = [str(place / "pg_ctl"), "-D", str(folder / "data"), "-w", "start"]
        subprocess.run(
            [*command, "-o", f"-k {folder} -c listen_addresses="],
            check=True,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            **become,
        )


def stop(url: str) -> None:
    """End the server that was started again."""
    folder = Path(parse_qs(urlsplit(url).query)["host"][0])
    number = int((folder / "data" / "postmaster.pid").read_text().split()[0])
    os.kill(number, signal.SIGINT)


def test_the_bot_outlives_its_database(postgres: str, tmp_path: Path) -> None:
    """Meanwhile it is not ready, says so to people and logs little; afterwards all goes on."""
    # What was being worked on when the server went down is taken up after its lease.
    options = {"auto_migrate": True, "lease": 4, "timeout": 3}
    with company(tmp_path / "company") as here:
        slack, alice = here.slack, here.alice
        with running_bot(
            tmp_path / "bot", slack, here.mail, here.policy, database=postgres, settings=options
        ) as bot:
            before, during, after = (fresh_address() for _ in range(3))
            assert alice.command(f"/email alias add {before}").ok
            card = here.card_of(alice, before)
            with stopped(postgres):
                slack.wait_for(lambda: bot.readiness()[0] == 503)
                assert "database" in bot.readiness()[1]
                said = alice.command(f"/email alias add {during}")
                assert said.ok
                assert "Try again" in str(said.body)
                lines = len(bot.log().splitlines())
            try:
                slack.wait_for(lambda: bot.readiness()[0] == 200)
                here.bob.press(card, "request_approve")
                slack.wait_for(lambda: before in here.aliases())
                assert alice.command(f"/email alias add {after}").ok
                here.card_of(alice, after)
                assert not [one for one in slack.messages(here.approvals) if during in one.text]
                assert lines < MOST_LINES
                assert bot.command("audit", "verify").returncode == 0
                assert bot.stop() == 0
            finally:
                stop(postgres)
