# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The pauses between retries of a failed step, such as the execution of a request."""

from __future__ import annotations

import random

#: The first and the longest pause, in seconds.
FIRST_PAUSE = 2.0
MAX_PAUSE = 900.0


def pause_after(failures: int, asked: float | None = None) -> float:
    """Return how many seconds to wait before a retry. The wait doubles with each failure.

    :param failures: the number of failures, at least 1
    :param asked: the minimum pause that the service asked for, if any
    """
    pause = min(FIRST_PAUSE * 2.0 ** min(failures - 1, 20), MAX_PAUSE)
    # Jitter, so that requests that failed together are not retried together.
    spread = random.uniform(0.8, 1.0)  # noqa: S311 - not for security
    return max(pause * spread, asked or 0.0)
