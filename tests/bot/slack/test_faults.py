# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What goes wrong with the stand-in on request looks to Slack's own client like Slack's faults."""

from __future__ import annotations

from collections.abc import Callable
from urllib.error import HTTPError, URLError

import pytest
from slack_sdk import WebClient, WebhookClient
from slack_sdk.errors import SlackApiError
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from ansible_collections.postroom.email.tests.bot.slack.apps import SECONDS, received
from ansible_collections.postroom.email.tests.fakes.slack.workspace import Workspace


@pytest.fixture
def client(slack: Workspace) -> WebClient:
    """Give a client that tries nothing twice."""
    return WebClient(slack.bot_token, base_url=slack.base_url, timeout=1, retry_handlers=[])


def test_too_many_calls_are_told_when_to_come_again(slack: Workspace, client: WebClient) -> None:
    """429 with Retry-After for so many calls of one method; others work."""
    channel = slack.channel("one")
    slack.faults.rate_limit("chat.postMessage", times=2, retry_after=7)
    for _ in range(2):
        with pytest.raises(SlackApiError) as caught:
            client.chat_postMessage(channel=channel, text="x")
        assert caught.value.response.status_code == 429
        assert caught.value.response.headers["Retry-After"] == "7"
        client.auth_test()
    client.chat_postMessage(channel=channel, text="x")
    assert len(slack.messages(channel)) == 1


def test_a_server_error_changes_nothing(slack: Workspace, client: WebClient) -> None:
    """A call that is answered with 500 was not carried out."""
    channel = slack.channel("one")
    slack.faults.fail("*", status=503)
    with pytest.raises((SlackApiError, HTTPError)):
        client.chat_postMessage(channel=channel, text="x")
    assert not slack.messages(channel)


@pytest.mark.parametrize(
    "happen",
    [
        lambda slack: slack.faults.reset("chat.postMessage"),
        lambda slack: slack.faults.hang("chat.postMessage"),
    ],
)
def test_no_answer_because_nothing_was_done(
    slack: Workspace, client: WebClient, happen: Callable[[Workspace], None]
) -> None:
    """A connection that is cut or hangs does nothing."""
    channel = slack.channel("one")
    happen(slack)
    with pytest.raises((URLError, OSError)):
        client.chat_postMessage(channel=channel, text="x")
    assert not slack.messages(channel)


def test_no_answer_although_it_was_done(slack: Workspace, client: WebClient) -> None:
    """A lost answer leaves the message behind."""
    channel = slack.channel("one")
    slack.faults.lose_answer("chat.postMessage")
    with pytest.raises((URLError, OSError)):
        client.chat_postMessage(channel=channel, text="x")
    assert [message.text for message in slack.messages(channel)] == ["x"]


def test_a_response_url_has_faults_too(slack: Workspace) -> None:
    """What is posted to a response URL counts as a call of that name."""
    alice = slack.person("alice")
    url = slack.world.new_response_url(alice.id, alice.channel)
    slack.faults.fail("response_url")
    assert WebhookClient(url, retry_handlers=[]).send(text="x").status_code == 500
    assert not alice.sees().ephemerals


def test_when_slack_is_down_nothing_works_until_it_is_up(
    slack: Workspace, client: WebClient
) -> None:
    """Calls are cut, connections too, and both work again afterwards."""
    url = client.apps_connections_open(app_token=slack.app_token)["url"]
    with connect(url) as connection:
        assert received(connection)["type"] == "hello"
        with slack.down():
            with pytest.raises((URLError, OSError)):
                client.auth_test()
            with pytest.raises(ConnectionClosed):
                connection.recv(SECONDS)
    client.auth_test()


def test_faults_can_be_forgotten(slack: Workspace, client: WebClient) -> None:
    """What has not been used up does not happen any more."""
    slack.faults.fail("*", times=100)
    slack.faults.clear()
    client.auth_test()
