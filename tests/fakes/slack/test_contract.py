# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The fake Slack enforces the rules of Slack on which the bot's guarantees depend."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

from ansible_collections.postroom.email.tests.fakes.slack.workspace import Workspace
from ansible_collections.postroom.email.tests.support.clock import Clock

SECTION = {"type": "section", "text": {"type": "mrkdwn", "text": "Hello"}}


def modal(title: str) -> dict[str, Any]:
    """Return a modal."""
    return {"type": "modal", "title": {"type": "plain_text", "text": title}, "blocks": [SECTION]}


def client_of(slack: Workspace) -> WebClient:
    """Return a Slack client without retries."""
    return WebClient(slack.bot_token, base_url=slack.base_url, timeout=5, retry_handlers=[])


def code(call: Callable[..., Any], **args: Any) -> str:
    """Return the error code of a call, or `ok`."""
    try:
        call(**args)
    except SlackApiError as refused:
        return str(refused.response["error"])
    return "ok"


@pytest.fixture
def clock() -> Clock:
    """Return the workspace's clock."""
    return Clock()


@pytest.fixture
def slack(clock: Clock) -> Iterator[Workspace]:
    """Run a workspace."""
    with Workspace(clock=clock) as slack:
        yield slack


def test_messages_are_validated(slack: Workspace) -> None:
    """The app can edit only its own public messages. The size of texts and blocks is limited."""
    client, channel, other = client_of(slack), slack.channel("one"), slack.channel("two")
    slack.state.channels[other].members.clear()
    ts = client.chat_postMessage(channel=channel, text="x", blocks=[SECTION])["ts"]
    long: dict[str, Any] = {"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3001}}
    for expected, call, args in (
        ("channel_not_found", client.chat_postMessage, {"channel": "C0", "text": "x"}),
        ("not_in_channel", client.chat_postMessage, {"channel": other, "text": "x"}),
        ("msg_too_long", client.chat_postMessage, {"channel": channel, "text": "x" * 40_001}),
        ("message_not_found", client.chat_update, {"channel": other, "ts": ts, "text": "y"}),
    ):
        assert code(call, **args) == expected
    for blocks in ([long], [SECTION] * 51):
        args = {"channel": channel, "text": "x", "blocks": blocks}
        assert code(client.chat_postMessage, **args) == "invalid_blocks"
    assert slack.problems


def test_views_need_a_trigger_and_the_current_hash(slack: Workspace, clock: Clock) -> None:
    """A trigger is valid for one use within 3 s, and a view's hash detects a lost update."""
    alice, client = slack.person("alice"), client_of(slack)
    used, late = slack.state.trigger(alice.id), slack.state.trigger(alice.id)
    opened = client.views_open(trigger_id=used, view=modal("One"))["view"]
    assert code(client.views_open, trigger_id=used, view=modal("A")) == "exchanged_trigger_id"
    clock.advance(seconds=3.5)
    assert code(client.views_open, trigger_id=late, view=modal("A")) == "expired_trigger_id"
    known = {"view_id": opened["id"], "hash": opened["hash"]}
    assert code(client.views_update, **known, view=modal("Two")) == "ok"
    assert code(client.views_update, **known, view=modal("Three")) == "hash_conflict"
    alice.close(alice.modal)
    assert code(client.views_update, view_id=opened["id"], view=modal("Three")) == "not_found"


def test_socket_mode_delivers_until_it_is_acknowledged(slack: Workspace) -> None:
    """If a connection is lost, its unacknowledged envelopes are delivered over the next one."""

    def url() -> str:
        return str(client_of(slack).apps_connections_open(app_token=slack.app_token)["url"])

    def received(connection: ClientConnection) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(connection.recv(60))
        return content

    alice, address = slack.person("alice"), url()
    slack.delivery.seconds = 0.01
    assert alice.command("/email help").error == "dispatch_failed"
    with connect(address) as connection:
        with pytest.raises(InvalidStatus, match="403"):
            connect(address)
        assert received(connection)["type"] == "hello"
        lost = received(connection)
    with connect(url()) as connection:
        assert received(connection)["type"] == "hello"
        again = received(connection)
        assert (again["envelope_id"], again["payload"]) == (lost["envelope_id"], lost["payload"])
        connection.send(json.dumps({"envelope_id": again["envelope_id"]}))
        slack.wait_for(lambda: "socket ack" in slack.log())


def test_calls_have_rate_limits_and_lists_are_short(slack: Workspace, clock: Clock) -> None:
    """User groups can be listed 20 times a minute, with their members only on request."""
    group, client = slack.usergroup(slack.person("alice")), client_of(slack)
    slack.state.limits_rates = True
    assert "users" not in client.usergroups_list()["usergroups"][0]
    assert client.usergroups_list(include_users=True)["usergroups"][0]["users"]
    assert code(client.usergroups_list, include_users="some") == "invalid_arguments"
    assert [one["id"] for one in client.usergroups_list()["usergroups"]] == [group]
    clock.advance(seconds=20)
    codes = [code(client.usergroups_list) for _ in range(17)]
    assert codes == ["ok"] * 16 + ["ratelimited"]
    with pytest.raises(SlackApiError) as refused:
        client.usergroups_list()
    assert refused.value.response.headers["Retry-After"] == "40"
    clock.advance(seconds=40)
    assert code(client.usergroups_list) == "ok"
    assert code(client.auth_test) == "ok"
