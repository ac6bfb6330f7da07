# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What processes of their own do to a database, and how tests run them.

They are real processes: what they leave behind when they are killed is what a crash leaves.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from postroom_bot.model import Action, Request, State, Wish
from postroom_bot.store import audit, requests
from postroom_bot.store.database import Database, migrate

PATIENCE = 60.0
#: No process is ever so slow; what a killed one held, the test takes from it.
LEASE = timedelta(hours=1)
WISH = Wish(Action.ALIAS_ADD, "sales@example.com", "alice@example.com")
STEPS = (State.NEW, State.APPROVED, State.EXECUTING, State.DONE)


def started(target: Callable[..., None], *arguments: Any) -> BaseProcess:
    """Run a function of this module in a process of its own."""
    process = get_context("spawn").Process(target=target, args=arguments, daemon=True)
    process.start()
    return process


def ended(process: BaseProcess) -> int | None:
    """Wait for a process and give its exit code; one that doesn't end is killed."""
    process.join(PATIENCE)
    if process.is_alive():
        process.kill()
        process.join()
    return process.exitcode


def migrating(url: str) -> None:
    """Migrate the database."""
    migrate(url)


def carrying_out(url: str, log: str) -> None:
    """Carry out requests until all are done, and write down where each one begins and ends."""
    database = Database(url)
    while sum(database.read(requests.count_open).values()):
        now = datetime.now(UTC)
        claim = partial(requests.claim, owner=str(os.getpid()), now=now, lease=LEASE)
        held = database.write(claim)
        if held is None:
            time.sleep(0.01)
        else:
            _carry_out(database, held, Path(log))
    database.close()


def _carry_out(database: Database, held: Request, log: Path) -> None:
    if held.is_open:
        _note(log, f"{held.id} begin {held.leases} {os.getpid()}")
        for step in STEPS[STEPS.index(held.state) + 1 :]:
            time.sleep(random.uniform(0, 0.02))  # noqa: S311 only varies what meets
            held = _moved(database, held, step)
        _note(log, f"{held.id} end {held.leases} {os.getpid()}")
    done = held
    database.write(lambda c: requests.release(c, done, due_at=None))


def _moved(database: Database, held: Request, step: State) -> Request:
    at = datetime.now(UTC)
    return database.write(lambda c: requests.move(c, held, step, at=at))


def _note(log: Path, line: str) -> None:
    """Add a line by one call of the system, so that those of all processes stay whole."""
    with log.open("ab", buffering=0) as file:
        file.write(f"{line}\n".encode())


def auditing(url: str, name: str, count: int) -> None:
    """Add rows to the audit, each in a transaction of its own."""
    database = Database(url)
    for number in range(count):
        audited(database, name, number)
    database.close()


def audited(database: Database, actor: str, number: int) -> None:
    """Add one row to the audit."""
    at, data = datetime.now(UTC), {"number": number}
    database.write(lambda c: audit.append(c, "tested", at=at, actor=actor, data=data))


def streaming(url: str, log: str, lines: int) -> None:
    """Stream the audit to a file, and be killed after so many lines."""
    database = Database(url)
    left = iter(range(lines))

    def write(line: str) -> None:
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        _note(Path(log), line)

    audit.stream(database, write)
    database.close()


def dying(url: str, count: int) -> None:
    """Add requests and audit rows, and be killed without closing anything."""
    database = Database(url)
    at = datetime.now(UTC)
    for number in range(count):
        database.write(lambda c: requests.add(c, wish=WISH, requester="U1", team="T1", at=at))
        audited(database, "dying", number)
    os.kill(os.getpid(), signal.SIGKILL)
