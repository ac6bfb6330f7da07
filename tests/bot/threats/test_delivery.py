# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Requests that Slack never sent, or that are sent once more.

Of a wrong signature nobody is known to have sent it, so it is in the log and in a metric and not in
the audit. An exact replay in good time can't be told from Slack's own retry: it is answered as the
first one was, and nothing more comes of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from http import HTTPStatus

import pytest

from ansible_collections.postroom.email.tests.bot.threats.scene import APPROVE, Scene, number_in
from ansible_collections.postroom.email.tests.fakes.slack.delivery import Answer
from ansible_collections.postroom.email.tests.fakes.slack.forgery import TOO_OLD, Forger
from ansible_collections.postroom.email.tests.fakes.slack.http_transport import (
    HttpTransport,
    Sent,
)
from ansible_collections.postroom.email.tests.fakes.slack.person import Person

Forgery = Callable[[Forger, Person, str], Answer]


def _bad_signatures(scene: Scene) -> int:
    """Return how many requests the metric counts."""
    marked = 'postroom_bot_errors_total{where="signature"} '
    lines = [line for line in scene.bot.metrics().splitlines() if line.startswith(marked)]
    return int(float(lines[0].removeprefix(marked))) if lines else 0


def _recorded(scene: Scene) -> HttpTransport:
    """Write down what Slack sends from now on."""
    return scene.slack.deliver_over_http(scene.bot.slack_url)


@pytest.mark.parametrize("forge", [Forger.wrong_signature, Forger.unsigned, Forger.too_old])
def test_what_slack_has_not_just_signed_is_not_let_in(
    scene: Scene, alice: Person, forge: Forgery
) -> None:
    """A wrong signature, none, and one of six minutes ago: no request, a line, a count."""
    before, lines = _bad_signatures(scene), scene.bot.log().count("has not signed")
    with scene.no_effect():
        answer = forge(scene.slack.forger(), alice, f"/email alias add {scene.fresh()}")
    assert answer.status == HTTPStatus.UNAUTHORIZED
    assert scene.requests_of(alice) == []
    assert _bad_signatures(scene) == before + 1
    assert scene.bot.log().count("has not signed") == lines + 1
    assert alice.id not in scene.bot.log()


def test_a_signature_of_the_future_is_not_let_in(scene: Scene, alice: Person) -> None:
    """Nor one whose body or whose time was changed after it was signed."""
    http, forger = _recorded(scene), scene.slack.forger()
    alice.command("/email help")
    sent = http.sent[-1]
    before = _bad_signatures(scene)
    later = dict(sent.headers) | {"X-Slack-Request-Timestamp": str(int(time.time()) + TOO_OLD)}
    changed = forger.changed_body(sent, b"text=help", b"text=status")
    assert forger.replay(Sent(sent.body, later)).status == HTTPStatus.UNAUTHORIZED
    assert changed.status == HTTPStatus.UNAUTHORIZED
    assert _bad_signatures(scene) == before + 2


def test_a_request_of_another_app_is_not_let_in(scene: Scene, alice: Person) -> None:
    """Another app's requests carry its own signature, whatever else they say."""
    text = f"alias add {scene.fresh()}"
    before = _bad_signatures(scene)
    answer = scene.deliver(alice, text, secret="f" * 32, api_app_id="A0000ELSE", token="another")
    assert answer.status == HTTPStatus.UNAUTHORIZED
    assert scene.requests_of(alice) == []
    assert _bad_signatures(scene) == before + 1


def test_what_is_no_request_at_all_does_no_harm(scene: Scene, alice: Person) -> None:
    """Bytes that are no text are turned away, and the next command is answered."""
    answer = scene.slack.forger().replay(
        Sent(b"\xff\xfe\x00" * 100, {"Content-Type": "text/plain"})
    )
    assert answer.status in (HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED)
    assert alice.command("/email help").ok


def test_a_replayed_command_is_one_request(scene: Scene, alice: Person) -> None:
    """The same bytes once more get the same answer, and no second request or row."""
    http = _recorded(scene)
    first = alice.command(f"/email alias add {scene.fresh()}")
    again = scene.slack.forger().replay(http.sent[-1])
    assert again.body == first.body
    (row,) = scene.requests_of(alice)
    scene.card_of(row["id"])
    new = scene.rows("SELECT * FROM audit WHERE actor = ? AND event = 'request.new'", alice.id)
    assert len(new) == 1


def test_a_replayed_approval_is_one_vote(
    scene: Scene, alice: Person, bob: Person, carol: Person
) -> None:
    """Two approvals are needed: one, sent again as it was, stays one."""
    asked = scene.ask(alice, f"alias add {scene.fresh('payroll')}")
    http = _recorded(scene)
    with scene.no_effect():
        bob.press(asked.card, APPROVE)
        scene.audited("vote.counted", bob.id, number=asked.id)
        scene.slack.forger().replay(http.sent[-1])
        assert scene.request(asked.id)["state"] == "pending"
    votes = scene.rows("SELECT * FROM vote WHERE request = ?", asked.id)
    assert [vote["voter"] for vote in votes] == [bob.id]
    carol.press(asked.card, APPROVE)
    scene.comes_to(asked.id, "done")


def test_over_socket_mode_nothing_is_done_twice(by_socket: Scene) -> None:
    """The same envelope on each of two deliveries is one request and one vote."""
    alice, bob = by_socket.hire(), by_socket.hire(approves=True)
    delivery = by_socket.slack.delivery
    delivery.copies, delivery.together = 2, True
    try:
        asked = by_socket.ask(alice, f"alias add {by_socket.fresh('payroll')}")
        bob.press(asked.card, APPROVE)
        by_socket.audited("vote.counted", bob.id, number=asked.id)
    finally:
        delivery.copies, delivery.together = 1, False
    assert len(by_socket.requests_of(alice)) == 1
    assert len(by_socket.rows("SELECT * FROM vote WHERE request = ?", asked.id)) == 1
    assert by_socket.request(asked.id)["state"] == "pending"


def test_socket_mode_has_no_door_for_signed_requests(by_socket: Scene) -> None:
    """A bot that calls Slack listens nowhere but on its operators' port."""
    assert by_socket.bot.slack_url == ""


def test_the_answer_to_a_replay_names_the_same_request(by_socket: Scene) -> None:
    """Slack's retry and a replay alike are told the number of the request that there is."""
    alice = by_socket.hire()
    delivery = by_socket.slack.delivery
    delivery.copies = 2
    try:
        number = number_in(alice.command(f"/email alias add {by_socket.fresh()}"))
    finally:
        delivery.copies = 1
    acks = [ack for ack in by_socket.slack.acks if number in str(ack.body)]
    assert len(acks) == 2
    assert acks[0].body == acks[1].body
