# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Times of several things, taken in turn, and the ratios between them.

A machine is never equally fast twice, so no time is compared with one of another run. In each round
everything is measured once, one after the other; of each the median over the rounds counts.
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
    """What something costs, against what something else costs.

    :param measured: milliseconds, or what `quantity` says, of whatever `unit` is one of
    :param goal: what the ratio is to be at most, where there is a goal
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
        """Whether the goal is reached; nothing where there is none."""
        if self.goal is None:
            return ""
        return "pass" if self.ratio <= self.goal else "miss"

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {**asdict(self), "ratio": self.ratio, "verdict": self.verdict}


def timed(action: Callable[[], object]) -> Timed:
    """Return what runs an action and tells the seconds it took."""

    def run() -> float:
        start = time.perf_counter()
        action()
        return time.perf_counter() - start

    return run


def interleaved(rounds: int, things: Mapping[str, Timed]) -> dict[str, float]:
    """Measure all things in each round, and return the median seconds of each."""
    seconds: dict[str, list[float]] = {name: [] for name in things}
    for _round in range(rounds):
        for name, thing in things.items():
            seconds[name].append(thing())
    return {name: statistics.median(taken) for name, taken in seconds.items()}


def table(ratios: list[Ratio]) -> Iterator[str]:
    """Yield the lines of a table of ratios, with how many a second the milliseconds make."""
    titles = ("what", "cost", "per s", "against", "cost", "per s", "ratio", "goal", "of each", "")
    rows = [titles, *map(_cells, ratios)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(
            # Names begin at the left of their column, numbers end at its right.
            cell.ljust(width) if title in ("what", "against", "of each", "") else cell.rjust(width)
            for cell, width, title in zip(row, widths, titles, strict=True)
        ).rstrip()


def _cells(row: Ratio) -> tuple[str, ...]:
    goal = "" if row.goal is None else f"{row.goal:.3g}"
    return (
        *(row.name, *_amount(row.measured, row.quantity)),
        *(row.reference_name, *_amount(row.reference, row.quantity)),
        *(f"{row.ratio:.3g}", goal, row.unit, row.verdict),
    )


def _amount(amount: float, quantity: str) -> tuple[str, str]:
    often = f"{1000 / amount:.1f}" if quantity == "ms" else ""
    return f"{amount:.3f} {quantity}", often
