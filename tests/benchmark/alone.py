# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Read a definition and plan, in a process with nothing else in it, and print what it took.

    python alone.py seconds|bytes FOLDER SMALL

FOLDER has a definition, a list of what there is, and passwords. SMALL has the same in small: it is
planned first, for what is imported at first use. The memory is what Python objects take at most,
those of the list not among them.
"""

from __future__ import annotations

import json
import runpy
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

# It makes the collection importable.
runpy.run_path(str(Path(__file__).resolve().parents[1] / "conftest.py"))

from ansible_collections.postroom.email.plugins.module_utils._api.definition.file import (  # noqa: E402
    load,
)
from ansible_collections.postroom.email.plugins.module_utils._api.memory import (  # noqa: E402
    without_collection,
)
from ansible_collections.postroom.email.plugins.module_utils._api.models import (  # noqa: E402
    Principal,
)
from ansible_collections.postroom.email.plugins.module_utils._api.planning.purging import (  # noqa: E402
    Purge,
)
from ansible_collections.postroom.email.plugins.module_utils._api.planning.steps import digest  # noqa: E402
from ansible_collections.postroom.email.plugins.module_utils._api.planning.tenant import (  # noqa: E402
    Tenant,
)
from ansible_collections.postroom.email.plugins.module_utils._api.planning.whole import (  # noqa: E402
    plan_tenant,
)
from ansible_collections.postroom.email.plugins.module_utils._api.wire.calls import (  # noqa: E402
    read_principal,
)
from ansible_collections.postroom.email.tests.benchmark.applying import wanted  # noqa: E402


def planning(folder: Path) -> Callable[[], None]:
    """Return what reads a definition and plans that what is held becomes what it says."""
    (definition,) = folder.glob("definition.*")
    passwords = _json(folder / "passwords.json")
    held: list[Principal] = [read_principal(row) for row in _json(folder / "held.json")]

    # As the module does all of it.
    @without_collection()
    def plan() -> None:
        want = wanted(load(str(definition)), passwords)
        planned = plan_tenant(Tenant(held), want.definition, Purge(want.rules), want.passwords)
        if planned.findings or not planned.steps:
            raise RuntimeError(f"the plan is none: {planned.findings}")
        digest(planned.changes)

    return plan


def _json(file: Path) -> Any:
    return json.loads(file.read_text("utf-8"))


def seconds(action: Callable[[], None]) -> float:
    """Return the seconds that an action takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def peak(action: Callable[[], None]) -> int:
    """Return the bytes that an action needs at most."""
    tracemalloc.start()
    action()
    return tracemalloc.get_traced_memory()[1]


def main(what: str, folder: Path, small: Path) -> None:
    """Print the number."""
    planning(small)()
    plan = planning(folder)
    print({"seconds": seconds, "bytes": peak}[what](plan))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
