# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The pace at which all threads of a task send, once the service has asked for fewer requests.

What one thread is told counts for all: none sends before the pause is over. After it requests are
spaced, farther with each complaint and closer with each that is carried out, which is in balance
where about one in three meets a complaint.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

_FIRST_SPACE = 0.02
_WIDEST_SPACE = 2.0
_WIDER = 1.5
_CLOSER = 0.8
_NO_SPACE = 0.001
#: Seconds after a success in which complaints only mean that it is busy.
_LATELY = 8.0


class Pace:
    """When the next request may be sent.

    :param clock: tells the seconds
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._space = 0.0
        self._next = clock()
        self._paused_until = self._next
        self._widened = self._next
        self._last_success = float("-inf")

    def take(self) -> float:
        """Take the next place in the row. Return the seconds until it is there."""
        with self._lock:
            now = self._clock()
            start = max(now, self._next)
            if self._space:
                self._next = start + self._space
            return start - now

    def slow_down(self, pause: float, sent: float) -> None:
        """Hold everyone back, and send further apart.

        :param sent: when the request was sent that met a complaint; what was sent before the last
            widening says nothing about it
        """
        with self._lock:
            now = self._clock()
            self._paused_until = max(self._paused_until, now + pause)
            self._next = max(self._next, self._paused_until)
            if sent >= self._widened:
                self._space = min(max(_WIDER * self._space, _FIRST_SPACE), _WIDEST_SPACE)
                self._widened = now

    def succeed(self) -> None:
        """Note that a request was carried out."""
        with self._lock:
            self._last_success = self._clock()
            self._space = 0.0 if self._space < _NO_SPACE else self._space * _CLOSER

    @property
    def is_paused(self) -> bool:
        """Whether nobody may send now, whatever place in the row they have."""
        return self._clock() < self._paused_until

    @property
    def is_getting_on(self) -> bool:
        """Whether anything was carried out lately."""
        return self._clock() - self._last_success < _LATELY
