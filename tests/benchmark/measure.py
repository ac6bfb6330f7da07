# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Compare durations by alternating between the things to measure.

A machine's speed varies over time, so durations from different runs are never compared. Each round
measures everything once, and the result is the median over all rounds.
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
    """A cost compared with a reference.

    :param measured: the milliseconds, or another `quantity`, per `unit`
    :param goal: the largest ratio that passes, or None
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
        """The cost as a multiple of the reference."""
        return self.measured / self.reference

    @property
    def verdict(self) -> str:
        """The result of the comparison with the goal, or an empty string if no goal is set."""
        return "" if self.goal is None else "pass" if self.ratio <= self.goal else "miss"

    def as_dict(self) -> dict[str, Any]:
        """Return the ratio as a dictionary."""
        return {**asdict(self), "ratio": self.ratio, "verdict": self.verdict}

    def __str__(self) -> str:
        goal = "" if self.goal is None else f" (goal {self.goal:.3g}: {self.verdict})"
        return (
            f"{self.name}: {self.measured:.3f} {self.quantity} of each {self.unit}, "
            f"{self.ratio:.3g} times {self.reference_name}{goal}"
        )


def timed(action: Callable[[], object]) -> Timed:
    """Return a function that runs an action and returns how many seconds it took."""

    def run() -> float:
        start = time.perf_counter()
        action()
        return time.perf_counter() - start

    return run


def interleaved(rounds: int, things: Mapping[str, Timed]) -> dict[str, float]:
    """Run every action once per round, and return the median durations in seconds."""
    taken = [{name: thing() for name, thing in things.items()} for _round in range(rounds)]
    return {name: statistics.median(each[name] for each in taken) for name in things}
