# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Display the progress of a long task: finished changes, rate and remaining time.

On a terminal, one line is updated in place. In a log, a line is added every 15 seconds. Short tasks
display nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

#: Evaluated when Ansible imports this file, because its workers lack a terminal.
IS_TERMINAL = sys.stdout.isatty()

_INITIAL_DELAY = 2.0
_TERMINAL_INTERVAL = 0.5
_LOG_INTERVAL = 15.0


class Progress:
    """The progress display of a task.

    :param display: a function such as ``Display().display``
    """

    def __init__(
        self,
        display: Callable[..., object],
        *,
        is_terminal: bool = IS_TERMINAL,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._display = display
        self._is_terminal = is_terminal
        self._clock = clock
        #: The time when the first change was finished, from which the rate is computed.
        self._start: float | None = None
        self._done_at_start = 0
        self._interval = _TERMINAL_INTERVAL if is_terminal else _LOG_INTERVAL
        self._next = 0.0
        self._width = 0

    def __call__(self, done: int, total: int) -> None:
        """Display that ``done`` of ``total`` changes are finished."""
        now = self._clock()
        if self._start is None:
            self._start, self._next = now, now + _INITIAL_DELAY
            self._done_at_start = done
        if now < self._next or (done == total and not self._width):
            return
        self._next = now + self._interval
        text = _text(done, total, (done - self._done_at_start) / (now - self._start))
        if self._is_terminal:
            # The spaces overwrite the rest of a longer previous line.
            self._display("\r" + text.ljust(self._width), newline=False, screen_only=True)
        else:
            self._display(text)
        self._width = len(text)

    def end(self) -> None:
        """Clear the line for the next output."""
        if self._is_terminal and self._width:
            self._display("\r" + " " * self._width + "\r", newline=False, screen_only=True)


def _text(done: int, total: int, rate: float) -> str:
    text = f"{done} of {total} changes"
    if rate <= 0:
        return text
    return f"{text}, {rate:.1f} a second, {_duration((total - done) / rate)} left"


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes} min {seconds:02} s" if minutes else f"{seconds} s"
