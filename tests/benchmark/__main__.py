# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Measure what the project promises, as ratios within one run, and print them."""

from __future__ import annotations

import argparse
import json
import runpy
import sys
import tempfile
from pathlib import Path

# It makes the collection importable.
runpy.run_path(str(Path(__file__).resolve().parents[1] / "conftest.py"))

from ansible_collections.postroom.email.tests.benchmark import (  # noqa: E402
    acks,
    creating,
    growth,
    importing,
    measure,
    serving,
    tasks,
    unchanged,
)
from ansible_collections.postroom.email.tests.support.service import running_service  # noqa: E402

PARTS = {
    "imports": importing.measure,
    "service": serving.measure,
    "tasks": tasks.measure,
    "create": creating.measure,
    "unchanged": unchanged.measure,
    "growth": growth.measure,
    "acks": acks.measure,
}


def main() -> int:
    """Run the parts that are asked for and print a table."""
    options = _options()
    items, rounds = (3, 1) if options.quick else (options.items, options.rounds)
    ratios = []
    with tempfile.TemporaryDirectory(prefix="postroom-benchmark-") as name:
        folder = Path(name)
        with running_service(folder / "service") as service:
            for part in options.only or PARTS:
                sys.stderr.write(f"measuring {part}: {items} items, {rounds} rounds\n")
                ratios += PARTS[part](service, folder, items, rounds)
    data = [ratio.as_dict() for ratio in ratios]
    text = json.dumps(data, indent=2) if options.json else "\n".join(measure.table(ratios))
    sys.stdout.write(text + "\n")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("benchmark", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="see that it works; measures nothing")
    parser.add_argument(
        "--items",
        type=int,
        default=200,
        help="items of a loop; tenants have a multiple (%(default)s)",
    )
    parser.add_argument("--rounds", type=int, default=3, help="how often (%(default)s)")
    parser.add_argument("--only", action="append", choices=PARTS, help="one part, or several")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
