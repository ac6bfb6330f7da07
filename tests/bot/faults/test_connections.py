# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Connections to Slack and PostgreSQL that are closed, go silent or can't be established."""

from __future__ import annotations

import select
import socket
import socketserver
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

from ansible_collections.postroom.email.tests.fakes.nameserver.server import serving
from ansible_collections.postroom.email.tests.support.bot import RunningBot, running_bot
from ansible_collections.postroom.email.tests.support.company import (
    Company,
    fresh_address,
    open_company,
)
from ansible_collections.postroom.email.tests.support.postgresql import (
    binaries,
    fresh_database,
    stoppable_cluster,
)

pytestmark = pytest.mark.full


class Relay(socketserver.ThreadingTCPServer):
    """A TCP relay that can silently drop everything, as a broken network does."""

    daemon_threads = True
    #: The number of outages. Connections opened before the latest outage relay no more data.
    silences = 0

    def __init__(self, upstream: tuple[str, int]) -> None:
        self.upstream = upstream
        super().__init__(("127.0.0.1", 0), _Relayed)


class _Relayed(socketserver.BaseRequestHandler):
    """A relayed connection."""

    server: Relay

    def handle(self) -> None:
        """Relay data until either side closes the connection."""
        near, silences = self.request, self.server.silences
        with socket.create_connection(self.server.upstream) as far, suppress(OSError):
            other = {near: far, far: near}
            while True:
                for end in select.select([near, far], [], [])[0]:
                    if not (content := end.recv(65536)):
                        return
                    if silences == self.server.silences:
                        other[end].sendall(content)


class Line(NamedTuple):
    """A bot in Socket Mode whose connections pass through a relay."""

    company: Company
    bot: RunningBot
    relay: Relay


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Line]:
    """Run a bot whose connections pass through a relay."""
    place = tmp_path_factory.mktemp("line")
    with open_company(place / "company") as company:
        workspace = company.slack.state
        address = urlsplit(workspace.socket_address)
        relay = Relay((str(address.hostname), address.port or 0))
        with serving(relay):
            workspace.socket_address = f"ws://127.0.0.1:{relay.server_address[1]}"
            with running_bot(place / "bot", company.slack, company.mail, company.policy) as bot:
                yield Line(company, bot, relay)
                assert bot.command("audit", "verify").returncode == 0


def test_a_connection_that_falls_silent_is_replaced(line: Line) -> None:
    """A connection that goes silent is replaced, and each pending event still arrives once."""
    line.relay.silences += 1
    assert line.company.alice.command("/email alias add silent@example.com").ok
    line.company.card_of(line.company.alice, "silent@")
    cards = line.company.slack.messages(line.company.approvals)
    assert ["silent@" in one.text for one in cards].count(True) == 1
    assert line.bot.readiness()[0] == 200


def test_a_connection_that_can_not_be_made_is_tried_again_with_pauses(line: Line) -> None:
    """The bot retries a failed connection with pauses, and is not ready while disconnected."""
    line.company.slack.sockets.refresh()
    line.company.slack.wait_for_connection()
    slack = line.company.slack
    before = slack.log().count("apps.connections.open")
    slack.faults.rate_limit("apps.connections.open", retry_after=1)
    slack.faults.fail("apps.connections.open")
    slack.faults.reset("apps.connections.open")
    slack.sockets.drop()
    slack.wait_for(lambda: line.bot.readiness()[0] == 503)
    slack.wait_for(lambda: slack.faults.are_used_up)
    slack.wait_for_connection()
    slack.wait_for(lambda: line.bot.readiness()[0] == 200)
    assert slack.log().count("apps.connections.open") - before <= 10
    assert line.company.alice.command("/email help").ok


#: The maximum number of log lines during an outage of a few seconds, in which five threads look for
#: work once per second.
MAX_LINES = 100


@contextmanager
def down(server: str, database: str) -> Iterator[None]:
    """End all connections to a database, and refuse new connections until the block ends."""
    name = database.partition("///")[2].partition("?")[0]
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
        end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
        connection.execute(end, (name,))
        yield
        connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')


def test_the_bot_outlives_its_database(postgresql_url: str, tmp_path: Path) -> None:
    """During a database outage, users get an error and the bot is not ready. Then it recovers."""
    # A request that was being processed when the database went down resumes when its lease expires.
    options = {"auto_migrate": True, "lease": 4, "timeout": 3}
    with open_company(tmp_path / "company") as company, fresh_database(postgresql_url) as database:
        slack, alice = company.slack, company.alice
        with running_bot(
            tmp_path / "bot",
            slack,
            company.mail,
            company.policy,
            database=database,
            settings=options,
        ) as bot:
            before, during, after = (fresh_address() for _ in range(3))
            assert alice.command(f"/email alias add {before}").ok
            card = company.card_of(alice, before)
            with down(postgresql_url, database):
                slack.wait_for(lambda: bot.readiness()[0] == 503)
                assert "database" in bot.readiness()[1]
                said = alice.command(f"/email alias add {during}")
                assert said.ok
                assert "Try again" in str(said.body)
                lines = len(bot.log().splitlines())
            slack.wait_for(lambda: bot.readiness()[0] == 200)
            company.bob.press(card, "request_approve")
            slack.wait_for(lambda: before in company.aliases())
            assert alice.command(f"/email alias add {after}").ok
            company.card_of(alice, after)
            assert not [one for one in slack.messages(company.approvals) if during in one.text]
            assert lines < MAX_LINES
            assert bot.command("audit", "verify").returncode == 0
            assert bot.stop() == 0


def test_the_bot_does_not_wait_for_a_suspended_database(tmp_path: Path) -> None:
    """While PostgreSQL is silent, the bot is alive but not ready. It recovers, and can be stopped.

    Many commands and probes at the same time must not occupy all threads.
    """
    place = binaries()
    with open_company(tmp_path / "company") as company, stoppable_cluster(place) as server:
        slack, alice = company.slack, company.alice
        with running_bot(
            tmp_path / "bot",
            slack,
            company.mail,
            company.policy,
            database=server.url,
            settings={"auto_migrate": True},
        ) as bot:
            with server.suspended(), ThreadPoolExecutor(40) as pool:
                texts = [f"/email alias add {fresh_address()}" for _ in range(34)]
                said = [pool.submit(alice.command, one) for one in texts]
                probes = [pool.submit(bot.readiness) for _ in range(4)]
                assert httpx.get(f"{bot.admin_url}/healthz", trust_env=False).status_code == 200
                assert {one.result()[0] for one in probes} == {503}
                assert not any(one.result()[1]["database"] == "ok" for one in probes)
                assert len([one.result() for one in said]) == len(texts)
            slack.wait_for(lambda: bot.readiness()[0] == 200)
            address = fresh_address()
            assert alice.command(f"/email alias add {address}").ok
            company.card_of(alice, address)
            with server.suspended():
                assert bot.stop() == 0


@pytest.mark.parametrize("count", [6, 50])
def test_slow_clients_do_not_block_the_others(tmp_path: Path, count: int) -> None:
    """Clients that never finish a request block neither probes nor Slack, and are disconnected."""
    with (
        open_company(tmp_path / "company") as company,
        running_bot(
            tmp_path / "bot", company.slack, company.mail, company.policy, mode="http"
        ) as bot,
        ExitStack() as end,
    ):
        company.slack.deliver_over_http(bot.slack_url)
        starts = (
            b"GET /healthz HTTP/1.1\r\n",
            b"POST /slack/events HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n",
        )
        slow = []
        for url, start in zip((bot.admin_url, bot.slack_url), starts, strict=True):
            at = urlsplit(url)
            for _ in range(count):
                client = socket.create_connection((str(at.hostname), at.port or 0))
                slow.append(end.enter_context(client))
                client.sendall(start)
        ended: set[socket.socket] = set()
        for _ in range(100):
            for client in set(slow) - ended:
                try:
                    client.sendall(b"X-A: b\r\n")
                except OSError:
                    ended.add(client)
            if ended == set(slow):
                break
            # The timeout is shorter than the time for which slow clients are accepted.
            probe = httpx.get(f"{bot.admin_url}/healthz", timeout=5, trust_env=False)
            assert probe.status_code == 200
            assert company.alice.command("/email help").ok
            time.sleep(0.5)
        assert ended == set(slow)
