# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The life of the process: started, told to read the policy anew, and told to end."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from postroom_bot.settings import Settings

from .app import Addresses, build
from .web import StartError

_HEEDED = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)


def run(settings: Settings, ready_file: Path | None = None) -> None:
    """Run a bot until SIGTERM or SIGINT; SIGHUP has it read its policy anew.

    :param ready_file: is there, and tells the addresses as JSON, as long as the bot runs
    """
    with _blocked():
        bot = build(settings)
        addresses = bot.start()
        try:
            with _announced(ready_file, addresses):
                while signal.sigwait(_HEEDED) == signal.SIGHUP:
                    bot.policies.reload()
        finally:
            bot.stop()


@contextmanager
def _blocked() -> Iterator[None]:
    """Keep signals until somebody waits for them, in this thread and those that it starts.

    With handlers, one that comes right after another can be left waiting among many threads.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HEEDED)
    try:
        yield
    finally:
        # Told to end twice, it has ended once, and well.
        while signal.sigtimedwait(_HEEDED, 0) is not None:
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _announced(path: Path | None, addresses: Addresses) -> Iterator[None]:
    if path is None:
        yield
        return
    text = json.dumps({"pid": os.getpid(), **addresses._asdict()})
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.write_text(text + "\n", encoding="utf-8")
        fresh.replace(path)
    except OSError as error:
        raise StartError(f"{path} can't be written ({error.strerror})") from None
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
