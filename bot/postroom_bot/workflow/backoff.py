# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""How long to wait until something that did not work is tried again."""

from __future__ import annotations

import random

FIRST = 2.0
LONGEST = 900.0


def seconds(tries: int, asked: float | None = None) -> float:
    """Return a pause in seconds, twice as long after each try, and never shorter than asked for.

    :param tries: how often it did not work, from 1
    :param asked: what the other side asked for, if it did
    """
    pause = min(FIRST * 2.0 ** min(tries - 1, 20), LONGEST)
    # Those that failed together do not come back together.
    spread = random.uniform(0.8, 1.0)  # noqa: S311 - nothing is kept secret by it
    return max(pause * spread, asked or 0.0)
