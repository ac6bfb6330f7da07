# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The stand-in's Web API answers Slack's own client as Slack does."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from slack_sdk import WebClient, WebhookClient
from slack_sdk.errors import SlackApiError

from ansible_collections.postroom.email.tests.fakes.slack.workspace import Workspace

SECTION = {"type": "section", "text": {"type": "mrkdwn", "text": "Hello"}}
NO_ACTIONS: dict[str, Any] = {"type": "actions", "elements": []}


def refusal(call: Any, **args: Any) -> dict[str, Any]:
    """Return Slack's answer to a call that it refuses."""
    with pytest.raises(SlackApiError) as caught:
        call(**args)
    answer: dict[str, Any] = caught.value.response.data
    assert answer["ok"] is False
    return answer


def test_a_token_says_who_the_bot_is(slack: Workspace, client: WebClient) -> None:
    """auth.test tells workspace and bot."""
    answer = client.auth_test()
    assert (answer["team_id"], answer["user_id"]) == (slack.world.team, slack.world.bot.id)
    assert client.bots_info(bot=answer["bot_id"])["bot"]["app_id"] == slack.world.app
    assert refusal(client.bots_info, bot="B0")["error"] == "bot_not_found"


def test_tokens_that_are_not_good_are_refused(slack: Workspace, client: WebClient) -> None:
    """None, a wrong one, one of another kind, one that was revoked: a code for each."""
    base = slack.base_url
    assert refusal(WebClient(base_url=base).auth_test)["error"] == "not_authed"
    assert refusal(WebClient("xoxb-no", base_url=base).auth_test)["error"] == "invalid_auth"
    wrong_kind = refusal(client.apps_connections_open, app_token=slack.bot_token)
    assert wrong_kind["error"] == "not_allowed_token_type"
    slack.revoke(slack.bot_token)
    assert refusal(client.auth_test)["error"] == "token_revoked"


def test_what_a_token_may_not_do_is_named(slack: Workspace, client: WebClient) -> None:
    """A missing scope is told together with those that are there."""
    slack.grant("commands", "users:read")
    channel = slack.channel("approvals")
    answer = refusal(client.chat_postMessage, channel=channel, text="x")
    assert answer["error"] == "missing_scope"
    assert (answer["needed"], answer["provided"]) == ("chat:write", "commands,users:read")


def test_an_address_is_told_to_those_who_may_see_it(slack: Workspace, client: WebClient) -> None:
    """users.info leaves the address out without its scope, and tells all flags."""
    carol = slack.person("carol", email="carol@example.com", is_restricted=True)
    user = client.users_info(user=carol.id)["user"]
    assert user["profile"]["email"] == "carol@example.com"
    assert (user["is_restricted"], user["is_stranger"], user["deleted"]) == (True, False, False)
    slack.grant("users:read")
    assert "email" not in client.users_info(user=carol.id)["user"]["profile"]
    assert refusal(client.users_info, user="U0")["error"] == "user_not_found"


def test_active_people_are_found_by_their_address(slack: Workspace, client: WebClient) -> None:
    """users.lookupByEmail ignores case, and people who have left."""
    carol = slack.person("carol", email="Carol@example.com")
    assert client.users_lookupByEmail(email="carol@example.com")["user"]["id"] == carol.id
    slack.change_user(carol, announce=False, deleted=True)
    wanted = {"email": "carol@example.com"}
    assert refusal(client.users_lookupByEmail, **wanted)["error"] == "users_not_found"


def test_user_groups_have_members(slack: Workspace, client: WebClient) -> None:
    """usergroups.users.list gives the members as they are now."""
    alice, bob = slack.person("alice"), slack.person("bob")
    group = slack.usergroup(alice)
    slack.set_usergroup(group, alice, bob)
    assert client.usergroups_users_list(usergroup=group)["users"] == [alice.id, bob.id]
    assert refusal(client.usergroups_users_list, usergroup="S0")["error"] == "no_such_subteam"


def test_only_own_messages_that_are_there_are_edited(slack: Workspace, client: WebClient) -> None:
    """chat.update needs the right channel and ts, and a message that everybody sees."""
    alice = slack.person("alice")
    channel, other = slack.channel("one", alice), slack.channel("two")
    ts = client.chat_postMessage(channel=channel, text="x")["ts"]
    for place, moment in ((other, ts), (channel, "1.000001")):
        answer = refusal(client.chat_update, channel=place, ts=moment, text="y")
        assert answer["error"] == "message_not_found"
    secret = client.chat_postEphemeral(channel=channel, user=alice.id, text="x")["message_ts"]
    answer = refusal(client.chat_update, channel=channel, ts=secret, text="y")
    assert answer["error"] == "message_not_found"


def test_an_edit_keeps_the_blocks_of_which_it_does_not_speak(
    slack: Workspace, client: WebClient
) -> None:
    """Blocks stay until others are given, or none."""
    channel = slack.channel("one")
    ts = client.chat_postMessage(channel=channel, text="x", blocks=[SECTION])["ts"]
    (message,) = slack.messages(channel)
    client.chat_update(channel=channel, ts=ts, text="y")
    assert message.blocks[0]["text"]["text"] == "Hello"
    client.chat_update(channel=channel, ts=ts, text="z", blocks=[])
    assert message.blocks == []
    assert [edition.text for edition in message.editions] == ["x", "y", "z"]


def test_ephemeral_messages_are_for_members(slack: Workspace, client: WebClient) -> None:
    """Only a channel's member can be shown something there."""
    alice, bob = slack.person("alice"), slack.person("bob")
    channel = slack.channel("one", alice)
    client.chat_postEphemeral(channel=channel, user=alice.id, text="for you")
    assert [message.text for message in alice.sees().ephemerals] == ["for you"]
    answer = refusal(client.chat_postEphemeral, channel=channel, user=bob.id, text="x")
    assert answer["error"] == "user_not_in_channel"


def test_direct_messages_have_one_conversation(slack: Workspace, client: WebClient) -> None:
    """conversations.open gives the same conversation each time, and none with a bot."""
    alice = slack.person("alice")
    opened = [client.conversations_open(users=alice.id)["channel"]["id"] for _ in range(2)]
    assert opened[0] == opened[1]
    assert opened[0] == alice.direct_channel
    client.chat_postMessage(channel=opened[0], text="hello")
    assert [message.text for message in alice.sees().direct] == ["hello"]
    answer = refusal(client.conversations_open, users=slack.world.bot.id)
    assert answer["error"] == "cannot_dm_bot"


def test_wrong_blocks_are_refused_and_remembered(slack: Workspace, client: WebClient) -> None:
    """A message that Slack would not take is refused with what is wrong."""
    channel = slack.channel("one")
    answer = refusal(client.chat_postMessage, channel=channel, text="x", blocks=[NO_ACTIONS])
    assert answer["error"] == "invalid_blocks"
    assert answer["response_metadata"]["messages"] == slack.problems
    assert slack.problems
    assert not slack.messages(channel)


def test_calls_and_their_answers_are_recorded(slack: Workspace, client: WebClient) -> None:
    """Each call is kept with its arguments, the kind of its token and its answer; never a token."""
    channel = slack.channel("one")
    client.chat_postMessage(channel=channel, text="canary", blocks=[SECTION])
    (call,) = slack.calls("chat.postMessage")
    assert (call.token_kind, call.args["text"]) == ("bot", "canary")
    assert call.answer["ts"] == slack.messages(channel)[0].ts
    assert "canary" in slack.log()
    assert "canary" not in slack.log(without="chat.")
    assert slack.bot_token not in slack.log()


def test_a_response_url_is_good_for_five_answers() -> None:
    """Five answers within half an hour, and not one more."""
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    with Workspace(clock=lambda: moment) as slack:
        alice = slack.person("alice")
        urls = [WebhookClient(_response_url(slack, alice.id)) for _ in range(2)]
        answers = [urls[0].send(text=f"answer {number}") for number in range(6)]
        assert [answer.status_code for answer in answers] == [200] * 5 + [404]
        assert len(alice.sees().ephemerals) == 5
        moment += timedelta(minutes=31)
        assert urls[1].send(text="late").body == '{"error": "expired_url", "ok": false}'


def test_a_response_url_shows_replaces_and_deletes(slack: Workspace) -> None:
    """An answer is for one or for all; later ones can take the place of the first."""
    alice = slack.person("alice")
    hook = WebhookClient(_response_url(slack, alice.id))
    hook.send(text="first", response_type="in_channel")
    (message,) = slack.messages(alice.channel)
    hook.send(text="second", replace_original=True)
    assert [edition.text for edition in message.editions] == ["first", "second"]
    assert hook.send(text="x", blocks=[NO_ACTIONS]).body == "invalid_blocks"
    assert hook.send().body == "no_text"
    hook.send(delete_original=True)
    assert slack.messages(alice.channel) == []


def test_arguments_can_be_a_form_with_json_in_it(slack: Workspace, client: WebClient) -> None:
    """Blocks and views are read from a form, too."""
    channel = slack.channel("one")
    wanted = {"channel": channel, "text": "x", "blocks": json.dumps([SECTION])}
    client.api_call("chat.postMessage", data=wanted)
    assert slack.messages(channel)[0].blocks[0]["type"] == "section"
    wrong = refusal(client.api_call, api_method="chat.postMessage", data={**wanted, "blocks": "["})
    assert wrong["error"] == "invalid_blocks_format"
    assert refusal(client.api_call, api_method="chat.nothing")["error"] == "unknown_method"


def test_what_a_channel_does_not_allow(slack: Workspace, client: WebClient) -> None:
    """Somewhere else, in an archived channel, without words or with too many."""
    channel = slack.channel("one")
    post = client.chat_postMessage
    assert refusal(post, channel="C0", text="x")["error"] == "channel_not_found"
    assert refusal(client.chat_update, channel="C0", ts="1", text="x")["error"] == (
        "channel_not_found"
    )
    assert refusal(post, channel=channel, text="x" * 40_001)["error"] == "msg_too_long"
    slack.world.channels[channel].is_archived = True
    assert refusal(post, channel=channel, text="x")["error"] == "is_archived"


def test_waiting_ends_when_something_happens_or_the_time_is_up(
    slack: Workspace, client: WebClient
) -> None:
    """A wait is over with the call that it waits for; in vain, it tells what happened last."""
    channel = slack.channel("one")
    timer = threading.Timer(0.1, client.chat_postMessage, kwargs={"channel": channel, "text": "x"})
    timer.start()
    assert slack.wait_for_message(channel, "x").text == "x"
    timer.join()
    with pytest.raises(AssertionError, match=r"call chat\.postMessage"):
        slack.wait_for(lambda: slack.person("alice").modal, timeout=0.05)


def _response_url(slack: Workspace, user: str) -> str:
    """Return a response URL as an interaction in #general brings one."""
    general = next(iter(slack.world.channels))
    return slack.world.new_response_url(user, general)
