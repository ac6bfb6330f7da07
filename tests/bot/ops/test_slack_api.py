# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The client for Slack's Web API: what its methods return, and how it reports errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import Mock

import pytest

from ansible_collections.postroom.email.tests.fakes.slack.workspace import Workspace
from postroom_bot.app import _slack_health
from postroom_bot.backends.slack_api import SlackApi
from postroom_bot.errors import SlackRejected, SlackUnavailable
from postroom_bot.ops.web_server import Health
from postroom_bot.ui import views
from postroom_bot.ui.markup import Message

HELLO = Message("Hello.")


@pytest.fixture(scope="module")
def slack() -> Iterator[Workspace]:
    """Provide a workspace."""
    with Workspace() as found:
        yield found


@pytest.fixture
def slack_api(slack: Workspace) -> Iterator[SlackApi]:
    """Provide a client for the workspace."""
    yield SlackApi(slack.bot_token, slack.base_url.rstrip("/"))
    slack.faults.clear()


def test_messages_are_posted_changed_and_told(slack: Workspace, slack_api: SlackApi) -> None:
    """A message is updated in its original channel, and an update without blocks removes them."""
    alice = slack.person("alice")
    channel = slack.channel("news", alice)
    block = {"type": "section", "text": {"type": "mrkdwn", "text": "Hello."}}
    posted = slack_api.post(channel, Message("Hello.", [block]))
    assert posted.channel == channel
    slack_api.update(posted, Message("Goodbye."))
    (message,) = slack.messages(channel)
    assert (message.ts, message.text, message.blocks) == (posted.ts, "Goodbye.", [])
    first, second = (
        slack_api.send_direct_message(alice.id, HELLO),
        slack_api.send_direct_message(alice.id, HELLO),
    )
    assert first.channel == second.channel == alice.direct_channel
    assert len(slack.calls("conversations.open")) == 1


def test_a_refused_token_is_kept_until_it_works_again(
    slack: Workspace, slack_api: SlackApi
) -> None:
    """The readiness check reports a rejected token until Slack accepts the token again.

    The check ignores other errors.
    """
    transport = Mock(health=Mock(return_value=Health(works=True)))
    slack_api.client.token = "xoxb-revoked"
    with pytest.raises(SlackRejected):
        slack_api.whoami()
    assert "invalid_auth" in _slack_health(slack_api, transport).text
    slack_api.client.token = slack.bot_token
    assert _slack_health(slack_api, transport).works
    with pytest.raises(SlackRejected):
        slack_api.post("C0000NONE", HELLO)
    assert slack_api.locked_out == ""


def test_a_window_is_updated_in_the_state_that_is_known(
    slack: Workspace, slack_api: SlackApi
) -> None:
    """Slack refuses to update a modal that has changed, unless the call contains no hash."""
    carol = slack.person("carol")
    opened = slack_api.open_view(slack.state.trigger(carol.id), views.menu())
    changed = slack_api.update_view(opened, views.loading_modal("One"))
    assert changed.hash != opened.hash
    with pytest.raises(SlackRejected) as caught:
        slack_api.update_view(opened, views.loading_modal("Two"))
    assert caught.value.code == "hash_conflict"
    slack_api.update_view(opened._replace(hash=""), views.loading_modal("Three"))
    assert carol.modal.content["title"]["text"] == "Three"


@pytest.mark.parametrize(
    ("fault", "options", "delay"),
    [
        ("fail", {"status": 503}, None),
        ("reset", {}, None),
        ("lose_answer", {}, None),
        ("hang", {"seconds": 0.1}, None),
        ("rate_limit", {"retry_after": 7}, 7.0),
    ],
)
def test_trouble_on_the_way_may_pass(
    slack: Workspace, slack_api: SlackApi, fault: str, options: dict[str, Any], delay: float | None
) -> None:
    """A transient fault raises SlackUnavailable after one attempt.

    The exception does not contain the message's text.
    """
    channel = slack.channel("trouble")
    getattr(slack.faults, fault)("chat.postMessage", **options)
    with pytest.raises(SlackUnavailable) as caught:
        slack_api.post(channel, HELLO)
    assert caught.value.retry_after == delay
    assert caught.value.__cause__ is None
    assert "Hello" not in repr(caught.value)
    slack_api.post(channel, HELLO)
    with pytest.raises(SlackRejected) as refused:
        slack_api.post("C0000NONE", HELLO)
    assert refused.value.code == "channel_not_found"
