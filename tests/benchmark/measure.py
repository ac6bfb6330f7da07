# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Ratios, measured in turn.

No machine is equally fast twice, so no time is compared with one of another run. Each round
measures everything once; the median over the rounds counts.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

Timed = Callable[[], float]


@dataclass(frozen=True)
class Ratio:
    """The cost of something against the cost of something else.

    :param measured: milliseconds, or what `quantity` says, for each `unit`
    :param goal: the largest ratio that passes, where there is a goal
    """

    name: str
    reference_name: str
    measured: float
    reference: float
    unit: str
    goal: float | None = None
    quantity: str = "ms"

    @property
    def ratio(self) -> float:
        """How many times the reference."""
        return self.measured / self.reference

    @property
    def verdict(self) -> str:
        """Whether the goal is reached; empty without one."""
        return "" if self.goal is None else "pass" if self.ratio <= self.goal else "miss"

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {**asdict(self), "ratio": self.ratio, "verdict": self.verdict}

    def __str__(self) -> str:
        goal = "" if self.goal is None else f" (goal {self.goal:.3g}: {self.verdict})"
        return (
            f"{self.name}: {self.measured:.3f} {self.quantity} of each {self.unit}, "
            f"{self.ratio:.3g} times {self.reference_name}{goal}"
        )


def timed(action: Callable[[], object]) -> Timed:
    """Return a function that runs an action and returns the seconds it took."""

    def run() -> float:
        start = time.perf_counter()
        action()
        return time.perf_counter() - start

    return run


def interleaved(rounds: int, things: Mapping[str, Timed]) -> dict[str, float]:
    """Measure all things in each round, and return the median seconds of each."""
    taken = [{name: thing() for name, thing in things.items()} for _round in range(rounds)]
    return {name: statistics.median(each[name] for each in taken) for name in things}
