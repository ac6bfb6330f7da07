# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""One person who approves their own wish, or twice, or without the right to."""

from __future__ import annotations

import pytest

from ansible_collections.postroom.email.tests.bot.threats.scene import APPROVE, Asked, Scene
from ansible_collections.postroom.email.tests.fakes.slack.person import Person

OWN = "You asked for this, so someone else has to approve it."
ANSWERED = "You have answered this request already."
TWICE = "You have approved this already, with another Slack account."


def _twin(scene: Scene, person: Person) -> Person:
    """Give a second Slack account that is mapped to somebody's mailbox."""
    return scene.hire(approves=True, email=person.user.email, has_mailbox=False)


def _still_waits(scene: Scene, asked: Asked) -> None:
    assert scene.request(asked.id)["state"] == "pending"
    assert "Waiting for" in asked.card.text or "so far" in asked.card.text


@pytest.fixture
def for_two(scene: Scene, alice: Person) -> Asked:
    """Give a request that needs two approvals."""
    return scene.ask(alice, f"alias add {scene.fresh('payroll')}")


def test_nobody_approves_their_own_wish(scene: Scene, bob: Person) -> None:
    """An approver who asks is told at once, and the audit has it."""
    asked = scene.ask(bob, f"alias add {scene.fresh()}")
    with scene.no_effect():
        bob.press(asked.card, APPROVE)
        scene.is_told(bob, OWN)
    scene.audited("vote.turned_away", bob.id, OWN, number=asked.id)
    _still_waits(scene, asked)


def test_nobody_approves_their_own_wish_by_a_second_account(scene: Scene, bob: Person) -> None:
    """Two Slack accounts with one mailbox are one person."""
    asked = scene.ask(bob, f"alias add {scene.fresh()}")
    twin = _twin(scene, bob)
    with scene.no_effect():
        twin.press(asked.card, APPROVE)
        scene.is_told(twin, OWN)
    scene.audited("vote.refused", twin.id, OWN, number=asked.id)
    _still_waits(scene, asked)


def test_a_double_click_is_one_approval(scene: Scene, for_two: Asked, bob: Person) -> None:
    """The second click is told that the first one counts, and is in the audit."""
    with scene.no_effect():
        bob.press(for_two.card, APPROVE)
        scene.audited("vote.counted", bob.id, number=for_two.id)
        bob.press(for_two.card, APPROVE)
        scene.is_told(bob, ANSWERED)
    scene.audited("vote.turned_away", bob.id, ANSWERED, number=for_two.id)
    _still_waits(scene, for_two)


def test_two_clicks_at_the_same_moment_are_one_approval(
    scene: Scene, for_two: Asked, bob: Person
) -> None:
    """Both deliveries of one press arrive together, before either is judged."""
    delivery = scene.slack.delivery
    delivery.copies, delivery.together = 4, True
    try:
        with scene.no_effect():
            bob.press(for_two.card, APPROVE)
            scene.audited("vote.counted", bob.id, number=for_two.id)
    finally:
        delivery.copies, delivery.together = 1, False
    assert len(scene.rows("SELECT * FROM vote WHERE request = ?", for_two.id)) == 1
    _still_waits(scene, for_two)


def test_two_accounts_of_one_person_are_one_approver(
    scene: Scene, for_two: Asked, bob: Person
) -> None:
    """The second account's approval is refused; another person's is what makes two."""
    twin = _twin(scene, bob)
    with scene.no_effect():
        bob.press(for_two.card, APPROVE)
        scene.audited("vote.counted", bob.id, number=for_two.id)
        twin.press(for_two.card, APPROVE)
        scene.is_told(twin, TWICE)
    scene.audited("vote.refused", twin.id, TWICE, number=for_two.id)
    _still_waits(scene, for_two)


def test_who_is_in_no_group_does_not_approve(scene: Scene, for_two: Asked) -> None:
    """They see the card and are told who may answer it."""
    mallory = scene.hire()
    with scene.no_effect():
        mallory.press(for_two.card, APPROVE)
        scene.is_told(mallory, "Only members of `admins` can answer this request.")
    scene.audited("vote.refused", mallory.id, "Only members of", number=for_two.id)
    _still_waits(scene, for_two)


def test_who_left_the_group_after_the_card_does_not_approve(
    scene: Scene, for_two: Asked, bob: Person
) -> None:
    """Who is in the group is asked when the vote is judged."""
    scene.dismiss(bob)
    with scene.no_effect():
        bob.press(for_two.card, APPROVE)
        scene.is_told(bob, "Only members of `admins`")
    scene.audited("vote.refused", bob.id, "Only members of", number=for_two.id)
    _still_waits(scene, for_two)


def test_who_left_the_group_after_the_vote_does_not_count(
    scene: Scene, alice: Person, for_two: Asked, bob: Person, carol: Person
) -> None:
    """The approvals are counted anew when the last one comes."""
    bob.press(for_two.card, APPROVE)
    scene.audited("vote.counted", bob.id, number=for_two.id)
    scene.dismiss(bob)
    with scene.no_effect():
        carol.press(for_two.card, APPROVE)
        scene.refuses(alice, for_two.id, "Somebody who approved it may not do so any more.")
    scene.until(lambda: "Stopped" in for_two.card.text)


def test_a_vote_that_was_forged_in_the_database_does_not_count(
    scene: Scene, for_two: Asked, bob: Person
) -> None:
    """A counted vote in the name of somebody who is no approver is seen through."""
    mallory = scene.hire()
    bob.press(for_two.card, APPROVE)
    scene.audited("vote.counted", bob.id, number=for_two.id)
    scene.tamper(
        "INSERT INTO vote SELECT request, ?, team, approves, state, at, card_channel, card_ts,"
        " reason, ?, groups FROM vote WHERE request = ?",
        mallory.id,
        mallory.user.email,
        for_two.id,
    )
    dora = scene.hire(approves=True)
    scene.tamper("DELETE FROM vote WHERE request = ? AND voter = ?", for_two.id, bob.id)
    with scene.no_effect():
        dora.press(for_two.card, APPROVE)
        scene.comes_to(for_two.id, "refused")
    assert "may not do so any more" in scene.request(for_two.id)["result"]
