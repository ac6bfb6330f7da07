# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Too much of it: many requests, the same again and again, approvers who are tired out."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from ansible_collections.postroom.email.tests.bot.threats.scene import APPROVE, Scene, number_in
from ansible_collections.postroom.email.tests.fakes.slack.person import Person

#: What the policy lets one person have open.
OPEN = 4
TOO_MANY = f"You have {OPEN} open requests. Wait until one is decided."


def _cards(scene: Scene, part: str) -> int:
    """Return how many messages of the approvals' channel ever said this."""
    said = scene.slack.messages(scene.channels["approvals"])
    return sum(any(part in edition.text for edition in one.editions) for one in said)


def test_one_person_has_a_few_open_requests(scene: Scene, alice: Person) -> None:
    """One more is refused; when one is taken back, there is room again."""
    asked = [scene.ask(alice, f"alias add {scene.fresh()}") for _ in range(OPEN)]
    with scene.no_effect():
        number = number_in(alice.command(f"/email alias add {scene.fresh()}"))
        scene.refuses(alice, number, TOO_MANY)
    assert _cards(scene, number) == 0
    alice.command(f"/email cancel {asked[0].id}")
    scene.comes_to(asked[0].id, "cancelled")
    scene.ask(alice, f"alias add {scene.fresh()}")


def test_a_flood_at_one_moment_has_no_more_cards(scene: Scene, alice: Person) -> None:
    """Whoever sends many at once gets as many cards as one after another."""
    texts = [f"/email alias add {scene.fresh()}" for _ in range(12)]
    with scene.no_effect():
        with ThreadPoolExecutor(len(texts)) as pool:
            numbers = [number_in(ack) for ack in pool.map(alice.command, texts)]
        scene.until(lambda: all(scene.request(number)["state"] != "new" for number in numbers))
    states = [scene.request(number)["state"] for number in numbers]
    assert (states.count("pending"), states.count("refused")) == (OPEN, len(texts) - OPEN)


def test_one_person_has_a_number_of_requests_a_day(scene: Scene, alice: Person) -> None:
    """Taking each one back at once does not help."""
    daily = scene.policy.replace("{open_requests: 4}", "{open_requests: 4, requests_per_day: 2}")
    assert daily != scene.policy
    with scene.in_force(daily), scene.no_effect():
        for _ in range(2):
            alice.command(f"/email cancel {scene.ask(alice, f'alias add {scene.fresh()}').id}")
        number = number_in(alice.command(f"/email alias add {scene.fresh()}"))
        scene.refuses(alice, number, "You have made 2 requests in 24 hours. Come back tomorrow.")


def test_the_same_wish_is_one_request(scene: Scene, alice: Person) -> None:
    """Typed again with another reason, or sent by the form, it names the request that there is."""
    address = scene.fresh()
    asked = scene.ask(alice, f"alias add {address}")
    said = f"You already asked for this: {asked.id}."
    again = number_in(alice.command(f"/email alias add {address.upper()} because it is urgent"))
    scene.refuses(alice, again, said)
    scene.form(alice, "alias_add", {"address": address, "reason": "urgent!"})
    scene.until(lambda: _states(scene, alice) == ["pending", "refused", "refused"])
    assert _cards(scene, address) == 1


def test_a_twin_that_names_all_of_it_is_refused_at_once(scene: Scene, alice: Person) -> None:
    """Where the desk can see that it is the same, there is no second request at all."""
    text = f"forward add {scene.fresh()} to {alice.user.email}"
    asked = scene.ask(alice, text)
    ack = alice.command(f"/email {text} because it is urgent")
    assert ack.body["text"] == f"You already asked for this: {asked.id}."
    assert len(scene.requests_of(alice)) == 1


def _states(scene: Scene, person: Person) -> list[str]:
    return sorted(str(row["state"]) for row in scene.requests_of(person))


def test_a_request_has_one_card(scene: Scene, alice: Person, bob: Person, carol: Person) -> None:
    """However often it is pressed and however it ends, the same message tells it."""
    address = scene.fresh("payroll")
    asked = scene.ask(alice, f"alias add {address}")
    for voter in (bob, bob, carol):
        voter.press(asked.card, APPROVE)
    scene.comes_to(asked.id, "done")
    scene.until(lambda: "Done" in asked.card.text)
    assert _cards(scene, asked.id) == 1


def test_an_alias_limit_holds_for_a_mailbox(scene: Scene, alice: Person) -> None:
    """Addresses that were given by others count as well."""
    few = scene.policy.replace("{open_requests: 4}", "{open_requests: 4, aliases_per_mailbox: 1}")
    scene.api.patch(str(alice.user.email), emails=[str(alice.user.email), scene.fresh()])
    with scene.in_force(few), scene.no_effect():
        number = number_in(alice.command(f"/email alias add {scene.fresh()}"))
        scene.refuses(alice, number, "The mailbox has 1 aliases, which is all it may have.")
