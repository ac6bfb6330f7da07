# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The port to Slack's Web API: what it returns, and how it tells of trouble."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import Mock

import pytest

from ansible_collections.postroom.email.tests.fakes.slack.workspace import Workspace
from postroom_bot.chat import Chat, ChatDown, ChatRefused, web_client
from postroom_bot.serving.admin import Standing
from postroom_bot.serving.app import _slack_standing
from postroom_bot.words import views
from postroom_bot.words.message import Message

HELLO = Message("Hello.")


@pytest.fixture(scope="module")
def slack() -> Iterator[Workspace]:
    """Give a workspace."""
    with Workspace() as found:
        yield found


@pytest.fixture
def chat(slack: Workspace) -> Iterator[Chat]:
    """Give the port to it."""
    yield Chat(web_client(slack.bot_token, base_url=slack.base_url.rstrip("/")))
    slack.faults.clear()


def test_messages_are_posted_changed_and_told(slack: Workspace, chat: Chat) -> None:
    """A message is where it was said to be; new text takes the old blocks away."""
    alice = slack.person("alice")
    channel = slack.channel("news", alice)
    block = {"type": "section", "text": {"type": "mrkdwn", "text": "Hello."}}
    posted = chat.post(channel, Message("Hello.", [block]))
    assert posted.channel == channel
    chat.update(posted, Message("Goodbye."))
    (message,) = slack.messages(channel)
    assert (message.ts, message.text, message.blocks) == (posted.ts, "Goodbye.", [])
    first, second = chat.tell(alice.id, HELLO), chat.tell(alice.id, HELLO)
    assert first.channel == second.channel == alice.direct_channel
    assert len(slack.calls("conversations.open")) == 1


def test_a_refused_token_is_kept_until_it_works_again(slack: Workspace, chat: Chat) -> None:
    """Readiness shows it, and asks again; other refusals say nothing of the token."""
    front = Mock(standing=Mock(return_value=Standing(works=True)))
    chat.client.token = "xoxb-revoked"
    with pytest.raises(ChatRefused):
        chat.whoami()
    assert "invalid_auth" in _slack_standing(chat, front).text
    chat.client.token = slack.bot_token
    assert _slack_standing(chat, front).works
    with pytest.raises(ChatRefused):
        chat.post("C0000NONE", HELLO)
    assert chat.locked_out == ""


def test_a_window_is_updated_in_the_state_that_is_known(slack: Workspace, chat: Chat) -> None:
    """An update of what has changed meanwhile is refused; without a hash, it is not compared."""
    carol = slack.person("carol")
    opened = chat.open_view(slack.world.trigger(carol.id), views.menu())
    changed = chat.update_view(opened, views.working("One"))
    assert changed.hash != opened.hash
    with pytest.raises(ChatRefused) as caught:
        chat.update_view(opened, views.working("Two"))
    assert caught.value.code == "hash_conflict"
    chat.update_view(opened._replace(hash=""), views.working("Three"))
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
    slack: Workspace, chat: Chat, fault: str, options: dict[str, Any], delay: float | None
) -> None:
    """It is an error of its own, after one try, with Slack's delay and nothing of the message."""
    channel = slack.channel("trouble")
    getattr(slack.faults, fault)("chat.postMessage", **options)
    with pytest.raises(ChatDown) as caught:
        chat.post(channel, HELLO)
    assert caught.value.retry_after == delay
    assert caught.value.__cause__ is None
    assert "Hello" not in repr(caught.value)
    chat.post(channel, HELLO)
    with pytest.raises(ChatRefused) as refused:
        chat.post("C0000NONE", HELLO)
    assert refused.value.code == "channel_not_found"
