# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What changes between asking, deciding and doing: accounts, addresses and the policy.

What is approved waits here for a mailbox at which somebody else is at work; then the change is
made, and the mailbox is let go of.
"""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.postroom.email.tests.bot.threats.scene import APPROVE, Asked, Scene
from ansible_collections.postroom.email.tests.fakes.slack.person import Person

_ACCOUNT = "The requester's account changed since it was asked for."
_NEW_EMAIL: dict[str, Any] = {"email": "new-name@example.com"}
ACCOUNTS: list[dict[str, Any]] = [
    {"deleted": True},
    {"is_restricted": True},
    {"is_email_confirmed": False},
    _NEW_EMAIL,
]


@pytest.fixture
def asked(scene: Scene, alice: Person) -> Asked:
    """Give a request that one approval is missing to."""
    return scene.ask(alice, f"alias add {scene.fresh()}")


def _mailbox(person: Person) -> str:
    assert person.user.email is not None
    return person.user.email


def _stopped(scene: Scene, alice: Person, asked: Asked, says: str) -> None:
    """See that the request ended so, on its card too; who is gone can't be told."""
    row = scene.comes_to(asked.id, "refused")
    assert says in row["result"]
    scene.audited("request.refused", "bot", says, number=asked.id)
    scene.until(lambda: "Stopped" in asked.card.text)
    if not scene.slack.world.users[alice.id].deleted:
        scene.is_told(alice, says)


@pytest.mark.parametrize("change", ACCOUNTS)
def test_an_account_that_changed_before_the_vote_stops_it(
    scene: Scene, alice: Person, asked: Asked, bob: Person, change: dict[str, Any]
) -> None:
    """Deactivated, made a guest, with another address: the approval changes nothing."""
    scene.slack.change_user(alice, announce=False, **change)
    with scene.no_effect():
        bob.press(asked.card, APPROVE)
        _stopped(scene, alice, asked, _ACCOUNT)


@pytest.mark.parametrize("change", ACCOUNTS)
def test_an_account_that_changed_after_the_vote_stops_it(
    scene: Scene, alice: Person, asked: Asked, bob: Person, change: dict[str, Any]
) -> None:
    """Between approval and execution everything is asked once more."""
    mailbox = _mailbox(alice)
    with scene.no_effect():
        with scene.busy(mailbox):
            bob.press(asked.card, APPROVE)
            scene.comes_to(asked.id, "approved")
            scene.slack.change_user(alice, announce=False, **change)
        _stopped(scene, alice, asked, _ACCOUNT)


def test_an_approver_who_left_after_the_vote_stops_it(
    scene: Scene, alice: Person, asked: Asked, bob: Person
) -> None:
    """An approval is worth what the approver may do when it is carried out."""
    with scene.no_effect():
        with scene.busy(_mailbox(alice)):
            bob.press(asked.card, APPROVE)
            scene.comes_to(asked.id, "approved")
            scene.dismiss(bob)
        _stopped(scene, alice, asked, "Somebody who approved it may not do so any more.")


def test_an_approver_whose_account_was_closed_stops_it(
    scene: Scene, alice: Person, asked: Asked, bob: Person
) -> None:
    """Whoever stole the account may have approved with it."""
    with scene.no_effect():
        with scene.busy(_mailbox(alice)):
            bob.press(asked.card, APPROVE)
            scene.comes_to(asked.id, "approved")
            scene.slack.change_user(bob, announce=False, deleted=True)
        _stopped(scene, alice, asked, "Somebody who approved it may not do so any more.")


def _denying(policy: str) -> str:
    rule = "  - {name: freeze, domains: [example.com], deny: There is nothing new this week.}\n"
    return policy + rule


def _for_two(policy: str) -> str:
    return policy.replace("own: true, approvals: {admins: 1}", "own: true, approvals: {admins: 2}")


POLICIES = [(_denying, "There is nothing new this week."), (_for_two, "The policy changed")]


@pytest.mark.parametrize(("changed", "says"), POLICIES)
def test_a_policy_that_changed_after_the_card_decides(
    scene: Scene, alice: Person, asked: Asked, bob: Person, changed: Any, says: str
) -> None:
    """A denial of today and a larger quorum both stop what was asked for under the old one."""
    with scene.in_force(changed(scene.policy)), scene.no_effect():
        bob.press(asked.card, APPROVE)
        _stopped(scene, alice, asked, says)


@pytest.mark.parametrize(("changed", "says"), POLICIES)
def test_a_policy_that_changed_after_the_vote_decides(
    scene: Scene, alice: Person, asked: Asked, bob: Person, changed: Any, says: str
) -> None:
    """What is approved and not done yet is measured with the policy of now."""
    with scene.no_effect():
        scene.lock(_mailbox(alice))
        bob.press(asked.card, APPROVE)
        scene.comes_to(asked.id, "approved")
        with scene.in_force(changed(scene.policy)):
            scene.let_go_of(_mailbox(alice))
            _stopped(scene, alice, asked, says)


def test_an_approved_password_is_not_made_by_an_owner_who_changed(
    scene: Scene, alice: Person, bob: Person, carol: Person
) -> None:
    """The button in the owner's messages asks Slack once more who presses it."""
    owner = scene.hire()
    alice.command(f"/email password {_mailbox(owner)}")
    scene.window(alice, "note")
    asked = scene.card_of(scene.requests_of(alice)[0]["id"])
    for voter in (bob, carol):
        voter.press(asked.card, APPROVE)
    offer = scene.is_told(owner, "Make it")
    with scene.no_effect():
        scene.slack.change_user(alice, announce=False, deleted=True)
        owner.press(offer, "password_show")
        owner.submit(scene.window(owner, "password_confirm"))
        scene.is_shown(owner, _ACCOUNT)
    scene.audited("request.refused", "bot", _ACCOUNT, number=asked.id)
