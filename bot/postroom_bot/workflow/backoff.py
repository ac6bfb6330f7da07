# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Exponential back-off."""

from __future__ import annotations

import random

FIRST = 2.0
LONGEST = 900.0


def seconds(tries: int, asked: float | None = None) -> float:
    """Return a pause in seconds, which doubles with each failure.

    :param tries: the number of failures, from 1
    :param asked: the minimum that the service asked for, if any
    """
    pause = min(FIRST * 2.0 ** min(tries - 1, 20), LONGEST)
    # Jitter: requests that failed together are not retried together.
    spread = random.uniform(0.8, 1.0)  # noqa: S311 - not for security
    return max(pause * spread, asked or 0.0)
