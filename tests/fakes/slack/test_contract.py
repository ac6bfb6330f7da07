# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The fake of Slack enforces the rules of Slack that our guarantees rest on.

Slack's own libraries, slack_sdk and slack_bolt, are the other side.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import pytest
from slack_bolt import Ack, App
from slack_bolt.adapter.wsgi import SlackRequestHandler
from slack_sdk import WebClient, WebhookClient
from slack_sdk.errors import SlackApiError
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

from ansible_collections.postroom.email.tests.fakes.slack.http_transport import HttpTransport
from ansible_collections.postroom.email.tests.fakes.slack.records import CannotDo
from ansible_collections.postroom.email.tests.fakes.slack.workspace import Workspace

SECTION = {"type": "section", "text": {"type": "mrkdwn", "text": "Hello"}}


def plain(text: str) -> dict[str, str]:
    """Return a text object."""
    return {"type": "plain_text", "text": text}


def modal(title: str) -> dict[str, Any]:
    """Return a form with one required input."""
    element = {"type": "plain_text_input", "action_id": "typed"}
    block = {"type": "input", "block_id": "address", "label": plain("Address"), "element": element}
    view = {"type": "modal", "callback_id": "form", "title": plain(title)}
    return {**view, "submit": plain("Send"), "blocks": [block]}


def client_of(slack: Workspace, token: str | None = None) -> WebClient:
    """Return Slack's client without retries."""
    token = slack.bot_token if token is None else token
    return WebClient(token, base_url=slack.base_url, timeout=5, retry_handlers=[])


def code(call: Callable[..., Any], **args: Any) -> str:
    """Return the error code of a call, or `ok`."""
    try:
        call(**args)
    except SlackApiError as refused:
        return str(refused.response["error"])
    return "ok"


@pytest.fixture
def slack() -> Iterator[Workspace]:
    """Run a workspace."""
    with Workspace() as slack:
        yield slack


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = False


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@contextmanager
def served(slack: Workspace, app: App) -> Iterator[HttpTransport]:
    """Serve a slack_bolt app over HTTP, and deliver to it."""
    handler = SlackRequestHandler(app, path="/slack/events")
    server = make_server("127.0.0.1", 0, handler, _Server, _Quiet)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield slack.deliver_over_http(f"http://127.0.0.1:{server.server_port}/slack/events")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        app.listener_runner.listener_executor.shutdown()


def test_tokens_and_scopes_are_enforced(slack: Workspace) -> None:
    """A method needs a token of its kind with its scope, and addresses need one of their own."""
    alice = slack.person("alice", email="alice@example.com")
    client = client_of(slack)
    assert code(client_of(slack, "").auth_test) == "not_authed"
    assert code(client_of(slack, "xoxb-no").auth_test) == "invalid_auth"
    app_token = {"app_token": slack.bot_token}
    assert code(client.apps_connections_open, **app_token) == "not_allowed_token_type"
    assert client.users_info(user=alice.id)["user"]["profile"]["email"] == "alice@example.com"
    slack.grant("users:read")
    assert "email" not in client.users_info(user=alice.id)["user"]["profile"]
    assert code(client.chat_postMessage, channel=alice.channel, text="x") == "missing_scope"
    assert slack.bot_token not in slack.log()


def test_messages_are_validated(slack: Workspace) -> None:
    """Only the app's own, public messages are edited; texts and blocks have Slack's limits."""
    client, channel, other = client_of(slack), slack.channel("one"), slack.channel("two")
    slack.world.channels[other].members.clear()
    ts = client.chat_postMessage(channel=channel, text="x", blocks=[SECTION])["ts"]
    long: dict[str, Any] = {"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3001}}
    for expected, call, args in (
        ("channel_not_found", client.chat_postMessage, {"channel": "C0", "text": "x"}),
        ("not_in_channel", client.chat_postMessage, {"channel": other, "text": "x"}),
        ("msg_too_long", client.chat_postMessage, {"channel": channel, "text": "x" * 40_001}),
        ("message_not_found", client.chat_update, {"channel": other, "ts": ts, "text": "y"}),
    ):
        assert code(call, **args) == expected
    for blocks in ([long], [SECTION] * 51, [{"type": "actions", "elements": []}]):
        args = {"channel": channel, "text": "x", "blocks": blocks}
        assert code(client.chat_postMessage, **args) == "invalid_blocks"
    assert slack.problems
    client.chat_update(channel=channel, ts=ts, text="y")
    (message,) = slack.messages(channel)
    assert [(one.text, len(one.blocks)) for one in message.editions] == [("x", 1), ("y", 1)]


def test_views_need_a_trigger_and_the_current_hash() -> None:
    """A trigger is valid once and for 3 s; a hash detects a lost update; closed views are gone."""
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    with Workspace(clock=lambda: moment) as slack:
        alice, client = slack.person("alice"), client_of(slack)
        used, late = slack.world.trigger(alice.id), slack.world.trigger(alice.id)
        invalid = modal("One")
        del invalid["submit"]
        assert code(client.views_open, trigger_id=used, view=invalid) == "invalid_arguments"
        opened = client.views_open(trigger_id=used, view=modal("One"))["view"]
        assert code(client.views_open, trigger_id=used, view=modal("A")) == "exchanged_trigger_id"
        moment += timedelta(seconds=3.5)
        assert code(client.views_open, trigger_id=late, view=modal("A")) == "expired_trigger_id"
        assert code(client.views_open, trigger_id="x", view=modal("A")) == "invalid_trigger_id"
        known = {"view_id": opened["id"], "hash": opened["hash"]}
        assert code(client.views_update, **known, view=modal("Two")) == "ok"
        assert code(client.views_update, **known, view=modal("Three")) == "hash_conflict"
        alice.close(alice.modal)
        gone = {"view_id": opened["id"], "view": modal("Three")}
        assert code(client.views_update, **gone) == "not_found"


def test_submissions_are_answered_in_time_and_in_form(slack: Workspace) -> None:
    """Required inputs, errors only at inputs, an updated view, and the state of all inputs."""
    app = App(client=client_of(slack), signing_secret=slack.signing_secret)
    answers: list[dict[str, Any]] = [
        {"response_action": "errors", "errors": {"other": "No."}},
        {"response_action": "errors", "errors": {"address": "No."}},
        {"response_action": "update", "view": modal("Second")},
        {},
    ]

    @app.view("form")
    def submit(ack: Ack, view: dict[str, Any]) -> None:
        assert view["state"]["values"]["address"]["typed"]["value"] == "x"
        ack(**answers.pop(0))

    alice = slack.person("alice")
    app.client.views_open(trigger_id=slack.world.trigger(alice.id), view=modal("First"))
    view = alice.modal
    with served(slack, app):
        with pytest.raises(CannotDo):
            alice.submit(view, {})
        alice.submit(view, {"address": "x"})
        assert (view.trouble, len(slack.problems)) == (True, 1)
        alice.submit(view)
        assert (view.trouble, view.errors) == (False, {"address": "No."})
        alice.submit(view)
        assert [one["title"]["text"] for one in view.shown] == ["First", "Second"]
        assert alice.submit(view).ok
    assert alice.sees().modals == []


def test_signatures_are_verifiable(slack: Workspace) -> None:
    """slack_bolt accepts what the workspace signs, also when it is replayed, and no forgery."""
    app = App(client=client_of(slack), signing_secret=slack.signing_secret)
    texts: list[str] = []

    @app.command("/email")
    def command(ack: Ack, command: dict[str, Any]) -> None:
        texts.append(command["text"])
        ack("Done")

    alice, forger = slack.person("alice"), slack.forger()
    slack.delivery.copies = 2
    with served(slack, app) as http:
        assert alice.command("/email dns example.com for a@b.example & @alice").ok
        first, second = http.sent
        assert first.headers["X-Slack-Signature"] != second.headers["X-Slack-Signature"]
        assert forger.replay(first).status == 200
        for forged in (
            forger.wrong_signature(alice, "/email x"),
            forger.unsigned(alice, "/email x"),
            forger.too_old(alice, "/email x"),
            forger.changed_body(first, b"dns", b"add"),
        ):
            assert forged.status == 401
    wrapped = "<http://example.com|example.com> for <mailto:a@b.example|a@b.example>"
    assert texts == [f"dns {wrapped} &amp; <@{alice.id}|alice>"] * 3
    assert [one.text for one in alice.sees().ephemerals] == ["Done"]


def test_an_app_has_limited_time_to_answer(slack: Workspace) -> None:
    """Slack shows a late answer and a refused connection as errors, and retries with headers."""
    app = App(client=client_of(slack), signing_secret=slack.signing_secret)
    going = threading.Event()

    @app.command("/email")
    def command(ack: Ack) -> None:
        going.wait(10)
        ack("late")

    alice = slack.person("alice")
    slack.delivery.seconds, slack.delivery.retries = 0.2, 1
    with served(slack, app) as http:
        alice.command("/email help")
        going.set()
    assert http.sent[1].headers["X-Slack-Retry-Num"] == "1"
    assert http.sent[1].headers["X-Slack-Retry-Reason"] == "http_timeout"
    alice.command("/email help")
    assert alice.sees().errors == ["operation_timeout", "dispatch_failed"]
    assert alice.sees().ephemerals == []


def test_socket_mode_delivers_until_it_is_acknowledged(slack: Workspace) -> None:
    """A ticket opens one connection, and an envelope of a lost one comes over the next."""

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
        assert again["retry_attempt"] == lost["retry_attempt"] + 1
        connection.send(json.dumps({"envelope_id": again["envelope_id"]}))
        slack.wait_for(lambda: "socket ack" in slack.log())


def test_response_urls_expire() -> None:
    """A response URL takes five answers within 30 minutes."""
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    with Workspace(clock=lambda: moment) as slack:
        alice = slack.person("alice")
        urls = [slack.world.new_response_url(alice.id, alice.channel) for _time in range(2)]
        used, late = (WebhookClient(url) for url in urls)
        assert [used.send(text="x").status_code for _time in range(6)] == [200] * 5 + [404]
        assert len(alice.sees().ephemerals) == 5
        moment += timedelta(minutes=31)
        assert late.send(text="late").status_code == 404
