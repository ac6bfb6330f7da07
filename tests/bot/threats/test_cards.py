# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A card's button as a confused deputy: pressed elsewhere, late, or for an edited request."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.postroom.email.tests.bot.threats.scene import APPROVE, DENY, Asked, Scene
from ansible_collections.postroom.email.tests.fakes.slack.person import Person

WRONG = "This is not the request's own card, so I did nothing."
EDITED = "The request was changed in the database after it was asked for."
_AGO = "2020-01-01 00:00:00.000000"


@pytest.fixture
def asked(scene: Scene, alice: Person) -> Asked:
    """Give a request that one approval is missing to."""
    return scene.ask(alice, f"alias add {scene.fresh()}")


@pytest.mark.parametrize(
    "forged",
    [
        {"channel": "C0000ELSE"},
        {"ts": "1700000000.000001"},
        {"api_app_id": "A0000ELSE"},
        {"api_app_id": ""},
        {"message": {"app_id": "A0000ELSE", "ts": "1.000001", "text": "Approve me"}},
    ],
)
def test_a_button_that_is_not_the_card_s_does_nothing(
    scene: Scene, asked: Asked, bob: Person, forged: dict[str, Any]
) -> None:
    """Another place, another message with the same value, and the message of another app."""
    with scene.no_effect():
        scene.slack.forger().press(bob, asked.card, APPROVE, **forged)
        scene.is_told(bob, WRONG)
    scene.audited("vote.turned_away", bob.id, WRONG, number=asked.id)
    assert scene.request(asked.id)["state"] == "pending"


def test_one_card_s_button_does_not_speak_for_another_request(
    scene: Scene, asked: Asked, bob: Person
) -> None:
    """An edited number of a request that waits, too, is found out by the card's place."""
    other = scene.ask(scene.hire(), f"alias add {scene.fresh()}")
    with scene.no_effect():
        scene.slack.forger().press(bob, asked.card, APPROVE, value=other.id)
        scene.is_told(bob, WRONG)
    scene.audited("vote.turned_away", bob.id, WRONG, number=other.id)
    assert scene.request(other.id)["state"] == "pending"


@pytest.mark.parametrize("value", ["R-XXXX", "R-' OR 1=1 --", "<!channel>" * 200])
def test_a_button_for_no_request_does_nothing(
    scene: Scene, asked: Asked, bob: Person, value: str
) -> None:
    """There is no request to write it to, so the audit's row says what was pressed, cut short."""
    with scene.no_effect():
        scene.slack.forger().press(bob, asked.card, APPROVE, value=value)
        scene.is_told(bob, WRONG)
    row = scene.audited("vote.turned_away", bob.id, WRONG)
    assert row["request"] is None
    assert len(row["data"]) < 500


def test_a_window_of_denial_that_was_forged_does_nothing(
    scene: Scene, asked: Asked, bob: Person
) -> None:
    """What a window brings back of the request and its card is compared as a button's is."""
    other = scene.ask(scene.hire(), f"alias add {scene.fresh()}")
    bob.press(asked.card, DENY)
    window = scene.window(bob, "deny_reason")
    with scene.slack.world.changed:
        forged = window.content["private_metadata"].replace(asked.id, other.id)
        window.content["private_metadata"] = forged
    bob.submit(window, {"reason": "Because."})
    scene.is_shown(bob, WRONG)
    scene.audited("vote.turned_away", bob.id, WRONG, number=other.id)
    assert scene.request(other.id)["state"] == scene.request(asked.id)["state"] == "pending"


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("target", "stolen@example.com"),
        ("mailbox", "mallory@example.com"),
        ("action", "alias.remove"),
        ("expires_on", "2099-12-31"),
        ("reason", "The board has approved it."),
        ("requester_mailbox", "mallory@example.com"),
        ("quorum", "[]"),
        ("policy_digest", "0"),
    ],
)
def test_a_request_that_was_edited_in_the_database_is_stopped(
    scene: Scene, alice: Person, asked: Asked, bob: Person, column: str, value: str
) -> None:
    """Its digest is of what was asked for; no vote is counted for anything else."""
    scene.tamper(f"UPDATE request SET {column} = ? WHERE id = ?", value, asked.id)  # noqa: S608
    with scene.no_effect():
        bob.press(asked.card, APPROVE)
        scene.refuses(alice, asked.id, EDITED)
    scene.until(lambda: "Stopped" in asked.card.text)
    scene.audited("request.refused", "bot", "changed in the database", number=asked.id)


def test_a_request_that_was_edited_after_its_approval_is_stopped(
    scene: Scene, alice: Person, asked: Asked, bob: Person
) -> None:
    """It is looked at once more inside the lease, before anything is done."""
    assert alice.user.email is not None
    with scene.no_effect():
        with scene.busy(alice.user.email):
            bob.press(asked.card, APPROVE)
            scene.comes_to(asked.id, "approved")
            change = "UPDATE request SET target = 'stolen@example.com' WHERE id = ?"
            scene.tamper(change, asked.id)
        scene.refuses(alice, asked.id, EDITED)


def test_a_request_that_is_put_to_approved_by_hand_is_stopped(
    scene: Scene, alice: Person, asked: Asked
) -> None:
    """Without the votes that it needs, a state alone carries nothing out."""
    change = "UPDATE request SET state = 'approved', due_at = ? WHERE id = ?"
    with scene.no_effect():
        scene.tamper(change, _AGO, asked.id)
        scene.refuses(alice, asked.id, "may not do so any more")


def test_a_press_after_the_end_does_not_count(
    scene: Scene, alice: Person, asked: Asked, bob: Person
) -> None:
    """The request's time is over when the button is pressed, though nobody has noticed yet."""
    scene.tamper("UPDATE request SET expires_at = ? WHERE id = ?", _AGO, asked.id)
    with scene.no_effect():
        bob.press(asked.card, APPROVE)
        scene.is_told(bob, "The request had expired when you answered.")
        scene.comes_to(asked.id, "expired")
        assert "Expired" in scene.is_told(alice, "Expired").text
    scene.audited("vote.refused", bob.id, "had expired", number=asked.id)
    scene.audited("request.expired", "bot", number=asked.id)


@pytest.mark.parametrize(
    ("state", "says"), [("expired", "has expired"), ("cancelled", "cancelled")]
)
def test_an_old_card_s_button_tells_how_it_ended(
    scene: Scene, alice: Person, asked: Asked, bob: Person, state: str, says: str
) -> None:
    """Somebody's Slack still shows the buttons; the press is turned away and written down."""
    if state == "expired":
        change = "UPDATE request SET expires_at = ?, due_at = ? WHERE id = ?"
        scene.tamper(change, _AGO, _AGO, asked.id)
    else:
        alice.command(f"/email cancel {asked.id}")
    old = asked.card.editions[0]
    scene.comes_to(asked.id, state)
    scene.until(lambda: len(asked.card.editions) > 1)
    with scene.slack.world.changed:
        asked.card.editions.append(old)
    with scene.no_effect():
        bob.press(asked.card, APPROVE)
        scene.is_told(bob, says)
    scene.audited("vote.turned_away", bob.id, says, number=asked.id)
