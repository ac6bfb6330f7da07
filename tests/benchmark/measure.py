# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Ratios, measured in turn.

No machine is equally fast twice, so no time is compared with one of another run. Each round
measures everything once; the median over the rounds counts.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
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

    def cells(self) -> tuple[str, ...]:
        """Return a row of the table."""
        goal = "" if self.goal is None else f"{self.goal:.3g}"
        sides = ((self.name, self.measured), (self.reference_name, self.reference))
        amounts = [
            (
                name,
                f"{cost:.3f} {self.quantity}",
                f"{1000 / cost:.1f}" if self.quantity == "ms" else "",
            )
            for name, cost in sides
        ]
        return (*amounts[0], *amounts[1], f"{self.ratio:.3g}", goal, self.unit, self.verdict)


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


def table(ratios: list[Ratio]) -> Iterator[str]:
    """Yield the lines of a table: names to the left of their columns, numbers to the right."""
    titles = ("what", "cost", "per s", "against", "cost", "per s", "ratio", "goal", "of each", "")
    rows = [titles, *(ratio.cells() for ratio in ratios)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    ways = [">" if title in ("cost", "per s", "ratio", "goal") else "<" for title in titles]
    for row in rows:
        cells = zip(row, ways, widths, strict=True)
        yield "  ".join(f"{cell:{way}{width}}" for cell, way, width in cells).rstrip()
