# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""People who may not use the bot: of other organisations, guests, bots, and those who left.

Slack Connect does not share commands with outsiders, but it shares buttons.
"""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.postroom.email.tests.bot.threats.scene import APPROVE, DENY, Asked, Scene

ELSEWHERE = "This bot only serves people of its own workspace."

#: From what Slack says of an account, the sentence that its owner is told.
NOT_ALLOWED = [
    ({"is_restricted": True}, "Guests may not use this."),
    ({"is_ultra_restricted": True}, "Guests may not use this."),
    ({"is_stranger": True}, "People of other organisations may not use this."),
]
OF_ELSEWHERE = [
    {"team": "T0000ELSE"},
    {"team": "T0000ELSE", "is_stranger": True},
    {"team": "T0000ELSE", "enterprise": "E0000ELSE"},
]


@pytest.fixture(scope="module")
def waiting(scene: Scene) -> Asked:
    """Give a request whose card everybody can press who sees it."""
    return scene.ask(scene.hire(), f"alias add {scene.fresh()}")


@pytest.mark.parametrize(("about", "says"), NOT_ALLOWED)
def test_who_may_not_use_it_asks_in_vain(scene: Scene, about: dict[str, Any], says: str) -> None:
    """The request is refused with the reason, and the audit has it."""
    person = scene.hire(**about)
    with scene.no_effect():
        person.command(f"/email alias add {scene.fresh()}")
        (row,) = scene.requests_of(person)
        scene.refuses(person, row["id"], says)
    assert row["card_ts"] is None


@pytest.mark.parametrize(("about", "says"), NOT_ALLOWED)
def test_who_may_not_use_it_gets_no_password(
    scene: Scene, about: dict[str, Any], says: str
) -> None:
    """Not of what would be their mailbox either; it is no request, and the audit tells of it."""
    person = scene.hire(**about)
    with scene.no_effect():
        person.command("/email password")
        scene.is_shown(person, says)
    assert scene.requests_of(person) == []
    scene.audited("person.turned_away", person.id, says)


@pytest.mark.parametrize(("about", "says"), NOT_ALLOWED)
def test_who_may_not_use_it_sees_nothing(scene: Scene, about: dict[str, Any], says: str) -> None:
    """Lists are for people of the house; that somebody tried is in the audit."""
    person = scene.hire(**about)
    person.command("/email forward list")
    scene.is_told(person, says)
    scene.audited("person.turned_away", person.id, says)


@pytest.mark.parametrize(("about", "says"), NOT_ALLOWED)
def test_their_vote_does_not_count(
    scene: Scene, waiting: Asked, about: dict[str, Any], says: str
) -> None:
    """Even where the group of approvers has them."""
    person = scene.hire(approves=True, **about)
    with scene.no_effect():
        person.press(waiting.card, APPROVE)
        scene.is_told(person, says)
    scene.audited("vote.refused", person.id, says, number=waiting.id)
    assert scene.request(waiting.id)["state"] == "pending"


def test_a_guest_does_not_deny_either(scene: Scene, waiting: Asked) -> None:
    """A denial is judged as an approval is."""
    person = scene.hire(approves=True, is_restricted=True)
    scene.deny(person, waiting.card)
    scene.audited("vote.refused", person.id, "Guests may not", number=waiting.id)
    scene.is_told(person, "Guests may not use this.")
    assert scene.request(waiting.id)["state"] == "pending"


@pytest.mark.parametrize("about", OF_ELSEWHERE)
def test_an_outsider_presses_a_shared_button_in_vain(
    scene: Scene, waiting: Asked, about: dict[str, Any]
) -> None:
    """Whoever sees the card in a shared channel is told at once, and the audit has the team."""
    person = scene.hire(approves=True, **about)
    with scene.no_effect():
        person.press(waiting.card, APPROVE)
        scene.is_told(person, ELSEWHERE)
    row = scene.audited("vote.turned_away", person.id, ELSEWHERE, number=waiting.id)
    assert "T0000ELSE" in row["data"]
    assert scene.rows("SELECT * FROM vote WHERE voter = ?", person.id) == []


def test_an_outsider_who_says_to_be_of_the_house_is_looked_up(scene: Scene, waiting: Asked) -> None:
    """A press that names our team for somebody of another is judged by what Slack says of them."""
    person = scene.hire(approves=True, team="T0000ELSE")
    ours = {"id": person.id, "team_id": scene.slack.world.team}
    with scene.no_effect():
        scene.slack.forger().press(person, waiting.card, APPROVE, user=ours)
        scene.is_told(person, "People of other workspaces may not use it.")
    scene.audited("vote.refused", person.id, "other workspaces", number=waiting.id)


@pytest.mark.parametrize("text", ["alias add stranger@example.com", "password"])
def test_a_command_from_elsewhere_is_no_request(scene: Scene, text: str) -> None:
    """Should Slack ever share one, it is refused and in the audit."""
    person = scene.hire(team="T0000ELSE", enterprise="E0000ELSE")
    with scene.no_effect():
        person.command(f"/email {text}")
        scene.audited("person.turned_away", person.id, ELSEWHERE)
    assert scene.requests_of(person) == []
    if text == "password":
        scene.is_shown(person, ELSEWHERE)
    else:
        scene.is_told(person, ELSEWHERE)


@pytest.mark.parametrize("about", [{"is_bot": True}, {"id": "USLACKBOT"}])
def test_a_bot_has_no_wishes_and_no_vote(
    scene: Scene, waiting: Asked, about: dict[str, Any]
) -> None:
    """Another app's bot user that types or presses is refused; nobody could be told."""
    person = scene.hire(approves=True, **about)
    with scene.no_effect():
        person.command(f"/email alias add {scene.fresh()}")
        (row,) = scene.requests_of(person)
        assert scene.comes_to(row["id"], "refused")["result"] == "Bots may not use this."
        person.press(waiting.card, APPROVE)
        scene.audited("vote.refused", person.id, "Bots may not use this.", number=waiting.id)


def test_a_deactivated_account_has_no_wishes(scene: Scene, waiting: Asked) -> None:
    """What somebody sent just before the account was closed is refused, and so is their vote."""
    person = scene.hire(approves=True)
    scene.slack.change_user(person, announce=False, deleted=True)
    with scene.no_effect():
        person.command(f"/email alias add {scene.fresh()}")
        (row,) = scene.requests_of(person)
        refused = scene.comes_to(row["id"], "refused")
        person.press(waiting.card, APPROVE)
        scene.audited("vote.refused", person.id, "is deactivated", number=waiting.id)
    assert refused["result"] == "Your Slack account is deactivated."
    scene.audited("request.refused", "bot", "is deactivated", number=row["id"])


def test_over_socket_mode_an_outsider_is_turned_away_too(by_socket: Scene) -> None:
    """There is no signature to forge, and the button is shared all the same."""
    asked = by_socket.ask(by_socket.hire(), f"alias add {by_socket.fresh()}")
    person = by_socket.hire(approves=True, team="T0000ELSE", is_stranger=True)
    with by_socket.no_effect():
        person.press(asked.card, APPROVE)
        by_socket.is_told(person, ELSEWHERE)
        person.press(asked.card, DENY)
        by_socket.window(person, "deny_reason")
        person.submit(person.modal, {"reason": "I am not of yours."})
        by_socket.is_shown(person, ELSEWHERE)
    by_socket.audited("vote.turned_away", person.id, ELSEWHERE, number=asked.id)
    assert by_socket.request(asked.id)["state"] == "pending"
