# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A clock that advances only when a test advances it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


class Clock:
    """A callable that returns an aware time in UTC."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """Return the current time of the clock."""
        return self.now

    def advance(self, by: timedelta | None = None, /, **parts: float) -> datetime:
        """Advance the clock by `by` plus `timedelta(**parts)`, and return the new time."""
        self.now += (by or timedelta()) + timedelta(**parts)
        return self.now
