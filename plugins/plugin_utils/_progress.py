# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Showing how a long task gets on: how much is done, how fast, how long it will take.

On a terminal one line is written over and over; elsewhere, in a log, a line comes now and then.
Short tasks show nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

#: Looked at when Ansible imports this, for its workers have no terminal.
IS_TERMINAL = sys.stdout.isatty()

_FIRST_AFTER = 2.0
_EVERY_ON_TERMINAL = 0.5
_EVERY_IN_LOG = 15.0


class Progress:
    """What a task tells of its progress, put on the screen.

    :param show: shows a text; with False for its second argument no line break follows
    :param clock: tells the seconds
    """

    def __init__(
        self,
        show: Callable[[str, bool], None],
        *,
        is_terminal: bool = IS_TERMINAL,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._show = show
        self._is_terminal = is_terminal
        self._clock = clock
        #: When the first change was through: what came before it says nothing about the rate.
        self._start: float | None = None
        self._done_at_start = 0
        self._every = _EVERY_ON_TERMINAL if is_terminal else _EVERY_IN_LOG
        self._next = 0.0
        self._width = 0

    def __call__(self, done: int, total: int) -> None:
        """Take note that so many changes are through, of so many."""
        now = self._clock()
        if self._start is None:
            self._start, self._next = now, now + _FIRST_AFTER
            self._done_at_start = done
        if now < self._next or (done == total and not self._width):
            return
        self._next = now + self._every
        text = _text(done, total, (done - self._done_at_start) / (now - self._start))
        if self._is_terminal:
            # What is left of a longer line before is covered.
            self._show("\r" + text.ljust(self._width), False)  # noqa: FBT003
        else:
            self._show(text, True)  # noqa: FBT003
        self._width = len(text)

    def end(self) -> None:
        """Clear the line, so that what comes next begins on it."""
        if self._is_terminal and self._width:
            self._show("\r" + " " * self._width + "\r", False)  # noqa: FBT003


def _text(done: int, total: int, rate: float) -> str:
    text = f"{done} of {total} changes"
    if rate <= 0:
        return text
    return f"{text}, {rate:.1f} a second, {_duration((total - done) / rate)} left"


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes} min {seconds:02} s" if minutes else f"{seconds} s"
