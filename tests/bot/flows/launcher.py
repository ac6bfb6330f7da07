# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The bot with what nobody can set: another time, and no locks on mailboxes.

    python launcher.py --clock FILE --no-locks serve --ready-file ...

The rest of the command line is the product's own.
"""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from postroom_bot.__main__ import main
from postroom_bot.serving import app
from postroom_bot.store import locks


def run() -> int:
    """Change what is to be changed, and run the bot."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--clock", type=Path, help="holds the seconds that the bot is ahead")
    parser.add_argument("--no-locks", action="store_true", help="every mailbox is always free")
    options, rest = parser.parse_known_args()
    if options.clock is not None:
        _put_ahead(options.clock)
    if options.no_locks:
        _unlock()
    return main(rest)


def _put_ahead(clock: Path) -> None:
    def now() -> datetime:
        return datetime.now(UTC) + timedelta(seconds=float(clock.read_text(encoding="ascii")))

    app._now = now


def _unlock() -> None:
    def yes(*_where: object, **_how: object) -> bool:
        return True

    locks.take = locks.renew = yes
    locks.free = lambda *_where, **_how: None


if __name__ == "__main__":
    sys.exit(run())
