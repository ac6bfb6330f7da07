# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A clock that stands still until it is told to go on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


class Clock:
    """Call it for the time, aware and in UTC."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """Return the time that it shows."""
        return self.now

    def advance(self, by: timedelta | None = None, /, **parts: float) -> datetime:
        """Put it forward by so much, and by parts as `timedelta` takes them; return the time."""
        self.now += (by or timedelta()) + timedelta(**parts)
        return self.now
