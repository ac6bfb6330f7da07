# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Socket Mode: connections that end, are renewed, fall silent, or can't be made."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from ansible_collections.postroom.email.tests.bot.faults.relay import Relay, relaying
from ansible_collections.postroom.email.tests.fakes.slack.world import PATIENCE
from ansible_collections.postroom.email.tests.support.bot import BotError, RunningBot, running_bot
from ansible_collections.postroom.email.tests.support.company import Company, company


class Line(NamedTuple):
    """A bot that is reached by sockets, through a relay."""

    here: Company
    bot: RunningBot
    relay: Relay


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
                assert "in order" in bot.command("audit", "verify").stdout


def test_a_connection_that_falls_silent_is_replaced(line: Line) -> None:
    """What Slack could not deliver comes over the next one, once."""
    line.relay.fall_silent()
    assert line.here.alice.command("/email alias add silent@example.com").ok
    _has_one_card(line, "silent@")
    assert line.bot.readiness()[0] == 200


def test_a_connection_that_slack_wants_renewed_is(line: Line) -> None:
    """As Slack asks every few hours."""
    line.here.slack.sockets.refresh()
    line.here.slack.wait_for_connection()
    assert line.here.alice.command("/email alias add renewed@example.com").ok
    _has_one_card(line, "renewed@")


def test_what_was_not_acknowledged_comes_again_and_counts_once(line: Line) -> None:
    """The connection ends while the bot writes a request down."""
    slack = line.here.slack
    with closing(sqlite3.connect(line.bot.database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with ThreadPoolExecutor(1) as hand:
            typed = hand.submit(line.here.alice.command, "/email alias add again@example.com")
            slack.wait_for(lambda: b"again@example.com" in line.relay.seen)
            slack.sockets.drop()
            slack.wait_for_connection()
            other.execute("ROLLBACK")
            assert typed.result(PATIENCE).ok
    assert "redeliver slash_commands" in slack.log()
    _has_one_card(line, "again@")


def test_a_connection_that_can_not_be_made_is_tried_again_and_not_in_a_hurry(line: Line) -> None:
    """Whatever Slack's answer; the bot is not ready meanwhile."""
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


@pytest.mark.parametrize("method", ["auth.test", "bots.info", "apps.connections.open"])
def test_a_start_that_slack_prevents_is_told_in_a_sentence(
    line: Line, tmp_path: Path, method: str
) -> None:
    """Whoever started it can start it again."""
    here = line.here
    here.slack.faults.fail(method, times=3)
    bot = running_bot(tmp_path, here.slack, here.mail, here.policy)
    with pytest.raises(BotError, match="postroom-bot: Slack ") as caught, bot:
        pytest.fail("it has started")
    here.slack.faults.clear()
    assert "Traceback" not in str(caught.value)


def _has_one_card(line: Line, about: str) -> None:
    """See that a request was made once."""
    slack, channel = line.here.slack, line.here.approvals
    slack.wait_for_message(line.here.alice.direct_channel, about)
    assert len([one for one in slack.messages(channel) if about in one.text]) == 1
