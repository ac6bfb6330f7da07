# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Socket Mode: connections that end, fall silent, or can't be made."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from ansible_collections.postroom.email.tests.support.bot import RunningBot, running_bot
from ansible_collections.postroom.email.tests.support.company import Company, company

pytestmark = pytest.mark.full


class Relay:
    """Relays TCP connections, and can drop everything without a word, as a network does."""

    def __init__(self, upstream: tuple[str, int]) -> None:
        self._upstream = upstream
        self._ends: list[socket.socket] = []
        self._silent: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]

    def fall_silent(self) -> None:
        """Relay nothing more over the connections that there are."""
        self._silent.update(self._ends)

    def serve(self) -> None:
        """Take connections until the relay is closed."""
        with suppress(OSError):
            while True:
                near, _peer = self._listener.accept()
                far = socket.create_connection(self._upstream)
                self._ends += [near, far]
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=self._copy, args=ends, daemon=True).start()

    def close(self) -> None:
        """End everything."""
        for one in (self._listener, *self._ends):
            _hang_up(one)
            one.close()

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while content := source.recv(65536):
                if source not in self._silent:
                    target.sendall(content)
        _hang_up(target)


def _hang_up(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


@contextmanager
def relaying(upstream: tuple[str, int]) -> Iterator[Relay]:
    """Relay for the length of a block."""
    relay = Relay(upstream)
    thread = threading.Thread(target=relay.serve)
    thread.start()
    try:
        yield relay
    finally:
        relay.close()
        thread.join()


class Line(NamedTuple):
    """A bot with Socket Mode, behind a relay."""

    here: Company
    bot: RunningBot
    relay: Relay

    def check_one_card(self, about: str) -> None:
        """Check that a request was made once."""
        self.here.card_of(self.here.alice, about)
        cards = self.here.slack.messages(self.here.approvals)
        assert len([one for one in cards if about in one.text]) == 1


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Line]:
    """Run the bot."""
    place = tmp_path_factory.mktemp("line")
    with company(place / "company") as here:
        world = here.slack.world
        address = urlsplit(world.socket_address)
        with relaying((str(address.hostname), address.port or 0)) as relay:
            world.socket_address = f"ws://127.0.0.1:{relay.port}"
            with running_bot(place / "bot", here.slack, here.mail, here.policy) as bot:
                yield Line(here, bot, relay)
                assert bot.command("audit", "verify").returncode == 0


def test_a_connection_that_falls_silent_is_replaced(line: Line) -> None:
    """What Slack could not deliver comes over the next one, once."""
    line.relay.fall_silent()
    assert line.here.alice.command("/email alias add silent@example.com").ok
    line.check_one_card("silent@")
    assert line.bot.readiness()[0] == 200


def test_a_connection_that_can_not_be_made_is_tried_again_with_pauses(line: Line) -> None:
    """Slack may refuse it or ask for a new one; the bot is not ready meanwhile."""
    line.here.slack.sockets.refresh()
    line.here.slack.wait_for_connection()
    slack = line.here.slack
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
    assert line.here.alice.command("/email help").ok
