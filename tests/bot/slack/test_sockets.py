# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Over Socket Mode a real slack_bolt app with Slack's own client understands the stand-in."""

from __future__ import annotations

import gc
import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from slack_bolt import Ack, App
from slack_sdk import WebClient
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from ansible_collections.postroom.email.tests.bot.slack.apps import app_of, over_sockets, received
from ansible_collections.postroom.email.tests.fakes.slack.workspace import Workspace


@pytest.fixture
def echo(slack: Workspace) -> Iterator[App]:
    """Connect an app that repeats commands."""
    app = app_of(slack)

    @app.command("/email")
    def listener(ack: Ack, command: dict[str, Any]) -> None:
        ack(command["text"])

    with over_sockets(slack, app):
        yield app


def connection_url(slack: Workspace) -> str:
    """Return the address of one new connection."""
    client = WebClient(base_url=slack.base_url)
    return str(client.apps_connections_open(app_token=slack.app_token)["url"])


def test_a_command_is_acked_in_its_envelope(slack: Workspace, echo: App) -> None:
    """The ack of an envelope carries the answer, which the person sees."""
    alice = slack.person("alice")
    assert alice.command("/email help").ok
    assert alice.sees().ephemerals[0].text == "help"


def test_events_arrive(slack: Workspace) -> None:
    """The envelope of an event is acked, and the listener hears of it."""
    app = app_of(slack)
    changed: list[str] = []

    @app.event("user_change")
    def listener(event: dict[str, Any]) -> None:
        changed.append(event["user"]["profile"]["email"])

    alice = slack.person("alice", email="alice@example.com")
    with over_sockets(slack, app):
        slack.change_user(alice, email="other@example.com")
        slack.wait_for(lambda: changed == ["other@example.com"])


def test_a_refreshed_connection_is_made_anew(slack: Workspace, echo: App) -> None:
    """The client follows Slack's request to connect again."""
    slack.sockets.refresh()
    slack.wait_for_connection()
    assert slack.person("alice").command("/email help").ok


# Slack's client forgets to close a socket whose other end was cut.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_was_not_acked_comes_again_after_a_cut(slack: Workspace) -> None:
    """The same envelope is delivered over the next connection."""
    app = app_of(slack)
    came: list[str] = []
    stuck = threading.Event()

    @app.command("/email")
    def listener(ack: Ack, command: dict[str, Any]) -> None:
        came.append(command["trigger_id"])
        if len(came) == 1:
            stuck.wait(10)
        ack()

    alice = slack.person("alice")
    slack.delivery.seconds = 0.2
    with over_sockets(slack, app):
        assert alice.command("/email help").error == "operation_timeout"
        slack.sockets.drop()
        slack.wait_for(lambda: len(came) == 2)
        stuck.set()
    gc.collect()
    assert came[0] == came[1]
    assert "redeliver slash_commands" in slack.log()


def test_what_one_connection_drops_the_other_gets(slack: Workspace) -> None:
    """An envelope that a connection takes with it comes over one that is still there."""
    slack.delivery.seconds = 0.01
    with connect(connection_url(slack)) as staying:
        received(staying)
        with connect(connection_url(slack)) as leaving:
            slack.wait_for_connection(2)
            for _ in range(2):
                slack.person("alice").command("/email help")
            received(leaving)
            lost = received(leaving)["envelope_id"]
        own = received(staying)["envelope_id"]
        again = received(staying)
    assert own != lost
    assert again["envelope_id"] == lost
    assert again["retry_attempt"] == 1


def test_delivery_comes_back_to_sockets(slack: Workspace) -> None:
    """After HTTP, things can go over Socket Mode again."""
    alice = slack.person("alice")
    slack.deliver_over_http("http://127.0.0.1:9/")
    assert alice.command("/email help").error == "dispatch_failed"
    slack.deliver_over_sockets()
    slack.delivery.seconds = 0.01
    with connect(connection_url(slack)) as connection:
        slack.wait_for_connection()
        alice.command("/email status")
        received(connection)
        assert received(connection)["payload"]["text"] == "status"


def test_copies_are_envelopes_of_their_own(slack: Workspace) -> None:
    """Delivered twice means two envelopes with the same trigger."""
    slack.delivery.copies, slack.delivery.seconds = 2, 0.01
    with connect(connection_url(slack)) as connection:
        slack.wait_for_connection()
        slack.person("alice").command("/email help")
        _, one, other = (received(connection) for _ in range(3))
    assert one["envelope_id"] != other["envelope_id"]
    assert one["payload"] == other["payload"]


def test_without_a_connection_a_command_fails_and_waits(slack: Workspace) -> None:
    """The person is told, and the envelope is delivered to whoever connects."""
    assert slack.person("alice").command("/email help").error == "dispatch_failed"
    with connect(connection_url(slack)) as connection:
        assert received(connection)["type"] == "hello"
        envelope = received(connection)
        assert envelope["payload"]["text"] == "help"
        assert envelope["retry_attempt"] == 1
        connection.send(json.dumps({"envelope_id": envelope["envelope_id"]}))
    slack.wait_for(lambda: "socket ack" in slack.log())


def test_connections_take_turns_and_ten_are_the_most(slack: Workspace) -> None:
    """Each envelope goes to one connection; an eleventh is turned away."""
    with ExitStack() as open_ones:
        connections = [open_ones.enter_context(connect(connection_url(slack))) for _ in range(10)]
        slack.wait_for_connection(10)
        eleventh = open_ones.enter_context(connect(connection_url(slack)))
        assert received(eleventh)["reason"] == "too_many_websockets"
        slack.delivery.seconds = 0.01
        for _ in range(10):
            slack.person("alice").command("/email help")
        for connection in connections:
            kinds = [received(connection)["type"] for _ in range(2)]
            assert kinds == ["hello", "slash_commands"]


def test_a_connection_draws_nothing_by_chance(slack: Workspace) -> None:
    """Pings would, from a thread of their own, and fail whatever test hypothesis draws for then."""
    with connect(connection_url(slack)):
        slack.wait_for_connection()
        assert [one.ping_interval for one in slack.sockets._open] == [None]


def test_a_ticket_is_good_for_one_connection(slack: Workspace) -> None:
    """The address of a connection cannot be used again."""
    url = connection_url(slack)
    with connect(url), pytest.raises(InvalidStatus, match="403"):
        connect(url)
