# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Many hands at one mailbox: what one of them writes is not lost to another."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from ansible_collections.postroom.email.tests.bot.threats.scene import APPROVE, Scene
from ansible_collections.postroom.email.tests.fakes.slack.person import Person


def test_no_alias_is_lost_where_many_are_added_at_once(
    scene: Scene, alice: Person, bob: Person
) -> None:
    """All of the bot's threads want the same mailbox; each waits for the one before it."""
    addresses = {scene.fresh() for _ in range(4)}
    asked = [scene.ask(alice, f"alias add {address}") for address in addresses]
    with ThreadPoolExecutor(len(asked)) as pool:
        list(pool.map(lambda one: bob.press(one.card, APPROVE), asked))
    for one in asked:
        scene.comes_to(one.id, "done")
    found = scene.api.get(str(alice.user.email)).json()["emails"]
    assert set(found) == {alice.user.email, *addresses}
