# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""How often publishing is tried again. What it does is tested at real name servers."""

from __future__ import annotations

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.applying.publishing import (
    Attempts,
)
from ansible_collections.postroom.email.tests.support.clients import Clock


def attempts(seconds: float, clock: Clock, *, rng: float = 0.5) -> int:
    """Return how many attempts there are, the first one among them."""
    each = Attempts(seconds, clock=clock, sleep=clock.sleep, rng=lambda: rng)
    made = 1
    while each.go_on():
        made += 1
    return made


def test_pauses_grow_to_a_limit() -> None:
    """So that many publishers at a time come through, and nobody is asked without end."""
    clock = Clock()
    assert attempts(1_000_000.0, clock) == 40
    assert clock.sleeps[:3] == [0.05, 0.1, 0.2]
    assert max(clock.sleeps) == clock.sleeps[-1] == 2.0


def test_chance_keeps_publishers_out_of_step() -> None:
    """The first pause is between a half and one and a half of what it is on average."""
    shortest, longest = Clock(), Clock()
    attempts(10.0, shortest, rng=0.0)
    attempts(10.0, longest, rng=1.0)
    assert (shortest.sleeps[0], longest.sleeps[0]) == pytest.approx((0.025, 0.075))


def test_the_time_is_kept_to() -> None:
    """A pause that would end too late is not begun."""
    clock = Clock()
    attempts(1.0, clock)
    assert sum(clock.sleeps) < 1.0
    assert attempts(0.0, Clock()) == 1
