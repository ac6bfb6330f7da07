# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The hourly limit on the recipients of each login."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

HOUR = 3600.0


class HourlyLimit:
    """A limit whose counters are kept in memory, for this process only.

    :param limit: the maximum number of recipients per login in any hour; 0 for no limit
    :param clock: a function that returns the time in seconds
    """

    def __init__(self, limit: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._clock = limit, clock
        self._times: dict[str, deque[float]] = {}
        self._purged = clock()

    def allows(self, login: str) -> bool:
        """Return whether one more recipient is within the limit, and if so, count it."""
        if not self._limit:
            return True
        now = self._clock()
        if now - self._purged > HOUR:
            self._times = {key: got for key, got in self._times.items() if now - got[-1] < HOUR}
            self._purged = now
        times = self._times.setdefault(login, deque())
        while times and now - times[0] >= HOUR:
            times.popleft()
        if len(times) >= self._limit:
            return False
        times.append(now)
        return True
