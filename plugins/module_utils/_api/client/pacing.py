# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Decide when a task may send its next request, given its deadline, retries and rate limit.

``errors.py`` defines which errors are transient, and the loops that retry are in ``client.py``.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from copy import copy

from .. import errors

_MIN_BACKOFF = 0.25
_MAX_BACKOFF = 8.0
#: One day. It can't be infinite, because sockets don't accept an infinite timeout.
_MAX_TIMEOUT = 86400

_MIN_INTERVAL = 0.001
_FIRST_INTERVAL = 0.02
_MAX_INTERVAL = 2.0
#: For this many seconds after a successful request, a 429 only means that the service is busy.
_BUSY_PERIOD = 8.0


class Pacing:
    """The deadline, the retries and the rate limit of one task. Threads may share an instance.

    :param timeout: the total timeout for all requests, in seconds from now
    :param retries: the maximum number of times to retry a request after a transient failure
    :param sleep: a function that waits for a number of seconds; the default function returns early
        if the task is cancelled
    :raises InvalidInput: if timeout or retries is out of range
    """

    def __init__(
        self,
        *,
        timeout: float = 30.0,
        retries: int = 4,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] | None = None,
        rng: Callable[[], float] = random.random,
    ) -> None:
        if not 0 < timeout <= _MAX_TIMEOUT:
            raise errors.InvalidInput(
                f"timeout: {timeout:g} is out of range. "
                f"Set a number of seconds above 0 and up to {_MAX_TIMEOUT}."
            )
        if retries < 0:
            raise errors.InvalidInput(f"retries: {retries} is negative. Set 0 or more.")
        self.timeout = timeout
        self.clock = clock
        self.rng = rng
        self.rate_limit = RateLimit(clock)
        self._retries = retries
        self._deadline = clock() + timeout
        self._extend_when_throttled = False
        self._cancelled = threading.Event()
        self._sleep = sleep or self._cancelled.wait

    def with_timeout(self, seconds: float, *, extend_when_throttled: bool) -> Pacing:
        """Return a copy with its own deadline and the same rate limit."""
        other = copy(self)
        other.timeout = seconds
        other._deadline = self.clock() + seconds  # noqa: SLF001 - a copy of this object
        other._extend_when_throttled = extend_when_throttled  # noqa: SLF001
        return other

    def cancel(self) -> None:
        """End all waits and prevent further requests, for this object and all copies of it."""
        self._cancelled.set()

    def time_left(self) -> float:
        """Return the seconds left until the deadline, or a negative number after the deadline."""
        return self._deadline - self.clock()

    def sleep(self, seconds: float) -> None:
        """Wait for ``seconds``, but not beyond the deadline."""
        self._sleep(min(seconds, max(self.time_left(), 0)))

    def wait_for_turn(self) -> None:
        """Wait until the rate limit allows the next request.

        :raises Interrupted: if the task was cancelled
        """
        wait = self.rate_limit.reserve()
        while wait > 0 and self.time_left() > 0:
            self._deadline += wait if self._extend_when_throttled else 0
            self.sleep(wait)
            # Another thread may have been throttled during this wait.
            wait = self.rate_limit.reserve() if self.rate_limit.is_paused else 0.0
        if self._cancelled.is_set():
            raise errors.Interrupted("The task was cancelled before this request. Run again.")

    def back_off(self, error: errors.ServiceError, attempt: int) -> int:
        """Wait before the next attempt and return its number.

        While other requests succeed, a throttled request does not count as an attempt.

        :raises ServiceError: ``error`` itself, if no further attempt is allowed
        """
        backoff = min(_MAX_BACKOFF, _MIN_BACKOFF * 2**attempt) * self.rng()
        pause = max(backoff, error.retry_after or 0.0)
        if not error.transient or attempt >= self._retries or pause >= self.timeout:
            raise error
        is_busy = isinstance(error, errors.Throttled) and self.rate_limit.recently_succeeded
        self._deadline += pause if is_busy and self._extend_when_throttled else 0
        if pause >= self.time_left():
            raise error
        self._sleep(pause)
        return attempt if is_busy else attempt + 1


class RateLimit:
    """A rate limit that a task's threads share and that adapts to the service's 429 responses.

    A 429 in one thread pauses all threads. After the pause, requests are sent at an interval that
    grows with each further 429 and shrinks with each success. The interval settles at a length at
    which about one request in three gets a 429.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._interval = 0.0
        self._next_slot = self._paused_until = self._widened = clock()
        self._last_success = float("-inf")

    def reserve(self) -> float:
        """Reserve the next slot and return the seconds until it begins."""
        with self._lock:
            now = self._clock()
            slot = max(now, self._next_slot)
            if self._interval:
                self._next_slot = slot + self._interval
            return slot - now

    def throttle(self, pause: float, sent: float) -> None:
        """Pause all threads and increase the interval.

        :param sent: the time when the throttled request was sent. If the interval has been
            increased since then, it is not increased again.
        """
        with self._lock:
            now = self._clock()
            self._paused_until = max(self._paused_until, now + pause)
            self._next_slot = max(self._next_slot, self._paused_until)
            if sent >= self._widened:
                self._interval = min(max(1.5 * self._interval, _FIRST_INTERVAL), _MAX_INTERVAL)
                self._widened = now

    def succeed(self) -> None:
        """Record a successful request and decrease the interval."""
        with self._lock:
            self._last_success = self._clock()
            self._interval = 0.0 if self._interval < _MIN_INTERVAL else 0.8 * self._interval

    @property
    def is_paused(self) -> bool:
        """Whether all threads must wait, even those with a reserved slot."""
        return self._clock() < self._paused_until

    @property
    def recently_succeeded(self) -> bool:
        """Whether a request succeeded in the last few seconds."""
        return self._clock() - self._last_success < _BUSY_PERIOD
