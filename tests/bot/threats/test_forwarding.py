# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Mail that would leave the house, go round in a circle, or reach somebody by a detour."""

from __future__ import annotations

import pytest

from ansible_collections.postroom.email.tests.bot.threats.scene import APPROVE, Scene
from ansible_collections.postroom.email.tests.fakes.slack.person import Person

_CHAIN = "one forwarder may not lead to another"


def _refused(scene: Scene, person: Person, text: str, says: str) -> None:
    """See that a wish is refused with these words and gets no card."""
    before = {row["id"] for row in scene.requests_of(person)}
    with scene.no_effect():
        person.command(f"/email {text}")
        (row,) = [one for one in scene.requests_of(person) if one["id"] not in before]
        scene.refuses(person, row["id"], says)
    assert scene.request(row["id"])["card_ts"] is None


@pytest.mark.parametrize(
    "destinations", ["spy@evil.example", "{own},spy@evil.example", "spy@example.com.evil.example"]
)
def test_mail_leaves_the_house_only_with_two(
    scene: Scene, alice: Person, bob: Person, carol: Person, destinations: str
) -> None:
    """The rule says one approval; the card warns in words that are read out, and wants two."""
    address = scene.fresh("press")
    outside = destinations.rpartition(",")[2]
    wanted = destinations.format(own=alice.user.email)
    asked = scene.ask(alice, f"forward add {address} to {wanted}")
    assert f"Warning: Mail to {address} would leave our domains, to {outside}." in asked.card.text
    assert "Waiting for 2 approvals from admins." in asked.card.text
    with scene.no_effect():
        bob.press(asked.card, APPROVE)
        scene.audited("vote.counted", bob.id, number=asked.id)
        assert scene.request(asked.id)["state"] == "pending"
    carol.press(asked.card, APPROVE)
    scene.comes_to(asked.id, "done")
    assert scene.delivers(address) == address
    told = scene.slack.wait_for_message(scene.channels["audit"], address)
    assert outside in told.text


def test_all_of_many_destinations_are_shown(scene: Scene, alice: Person) -> None:
    """Nobody hides the one outside among the others."""
    inside = [f"member{number}@example.com" for number in range(8)]
    wanted = ",".join([*inside, "spy@evil.example"])
    asked = scene.ask(alice, f"forward add {scene.fresh('team')} to {wanted}")
    assert all(address in asked.card.text for address in (*inside, "spy@evil.example"))
    assert "would leave our domains, to spy@evil.example." in asked.card.text


def test_a_forwarder_leads_to_no_other(scene: Scene, alice: Person) -> None:
    """Neither to one, nor is one made where another leads to."""
    first, second = scene.fresh("first"), scene.fresh("second")
    scene.api.forwarder(first, [str(alice.user.email), second])
    _refused(scene, alice, f"forward add {scene.fresh('chain')} to {first}", _CHAIN)
    _refused(scene, alice, f"forward add {second} to {alice.user.email}", _CHAIN)


def test_no_forwarder_leads_to_itself(scene: Scene, alice: Person) -> None:
    """Not directly, not by another spelling, and not by way of a second one."""
    address, second = scene.fresh("loop"), scene.fresh("loop")
    for spelling in (address, address.upper(), f"{alice.user.email},{address}"):
        _refused(scene, alice, f"forward add {address} to {spelling}", "would come back to itself")
    scene.api.forwarder(second, [address])
    _refused(scene, alice, f"forward add {address} to {second}", _CHAIN)


def test_a_chain_that_was_closed_meanwhile_is_not_carried_out(
    scene: Scene, alice: Person, bob: Person
) -> None:
    """What was an end when it was asked for may be a forwarder when it is approved."""
    end, address = scene.fresh("end"), scene.fresh("start")
    asked = scene.ask(alice, f"forward add {address} to {end}")
    scene.api.forwarder(end, [str(alice.user.email)])
    with scene.no_effect():
        bob.press(asked.card, APPROVE)
        scene.refuses(alice, asked.id, _CHAIN, state="failed")
    assert scene.delivers(address) is None


@pytest.mark.parametrize("words", ["alias add {taken}", "forward add {taken} to {own}"])
def test_an_address_that_somebody_has_is_not_taken(scene: Scene, alice: Person, words: str) -> None:
    """The refusal doesn't say whose it is."""
    owner = scene.hire()
    taken = scene.fresh("taken")
    scene.api.patch(str(owner.user.email), emails=[str(owner.user.email), taken])
    text = words.format(taken=taken, own=alice.user.email)
    _refused(scene, alice, text, f"{taken} already delivers somewhere else.")
    assert str(owner.user.email) not in str(alice.sees())


def test_somebody_else_s_mailbox_is_forwarded_by_nobody(scene: Scene, alice: Person) -> None:
    """A mailbox's own address stays the mailbox's, whoever approves."""
    owner = scene.hire()
    text = f"forward add {owner.user.email} to {alice.user.email}"
    _refused(scene, alice, text, "already delivers somewhere else.")
