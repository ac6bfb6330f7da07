# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Hashing of mailbox secrets with argon2id."""

from __future__ import annotations

from argon2 import PasswordHasher, Type

DEFAULT_COST = "m=19456,t=2,p=1"


def hasher(cost: str = DEFAULT_COST) -> PasswordHasher:
    """Return a hasher with a cost in argon2's notation, `m=<KiB>,t=<passes>,p=<lanes>`."""
    parts = [part.partition("=") for part in cost.split(",")]
    values = {name.strip(): int(n) if n.isdecimal() else 0 for name, _, n in parts}
    if set(values) != {"m", "t", "p"} or min(values.values()) < 1 or values["m"] < 8 * values["p"]:
        raise ValueError("the cost must have the form m=19456,t=2,p=1, with m at least 8 times p")
    return PasswordHasher(
        time_cost=values["t"], memory_cost=values["m"], parallelism=values["p"], type=Type.ID
    )
