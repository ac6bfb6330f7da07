# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Compare the collection, service, bot and mail host with other programs. See README.md."""

from __future__ import annotations

import argparse
import json
import runpy
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

# conftest.py makes the collection importable.
runpy.run_path(str(Path(__file__).resolve().parents[1] / "conftest.py"))

from ansible_collections.postroom.email.tests.benchmark import (  # noqa: E402
    acks,
    creating,
    growth,
    mail,
    measure,
    plays,
)
from ansible_collections.postroom.email.tests.support.service import running_service  # noqa: E402

PARTS = {
    "tasks": plays.tasks,
    "create": creating.measure,
    "unchanged": creating.measure_unchanged,
    "growth": growth.measure,
    "acks": acks.measure,
    "mail": mail.measure,
}
#: Parts that run only on request, because they build two hosts.
NOT_BY_DEFAULT = {"mail"}
#: Functions that the benchmark runs in separate processes.
WORKERS: dict[str, Callable[..., None]] = {"plan": growth.plan, "send": acks.send}


def main() -> int:
    """Run the requested parts, and print their ratios."""
    if sys.argv[1:] and sys.argv[1] in WORKERS:
        WORKERS[sys.argv[1]](*sys.argv[2:])
        return 0
    parser = argparse.ArgumentParser("benchmark", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only check that every part runs")
    parser.add_argument("--items", type=int, default=200, help="items per loop (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="number of rounds (%(default)s)")
    parser.add_argument("--only", action="append", choices=PARTS, help="run only this part")
    parser.add_argument("--json", action="store_true", help="print JSON instead of lines")
    options = parser.parse_args()
    items, rounds = (1, 1) if options.quick else (options.items, options.rounds)
    ratios: list[measure.Ratio] = []
    with tempfile.TemporaryDirectory(prefix="postroom-benchmark-") as name:
        folder = Path(name)
        with running_service(folder / "reference") as service:
            for part in options.only or [part for part in PARTS if part not in NOT_BY_DEFAULT]:
                sys.stderr.write(f"measuring {part}: {items} items, {rounds} rounds\n")
                (folder / part).mkdir()
                ratios += PARTS[part](service, folder / part, items, rounds)
    data = [ratio.as_dict() for ratio in ratios]
    text = json.dumps(data, indent=2) if options.json else "\n".join(map(str, ratios))
    sys.stdout.write(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
