# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Runs a workspace in a separate process, until SIGTERM, SIGINT or a timeout.

    python -m ansible_collections.postroom.email.tests.fakes.slack READY_FILE SECONDS

While the workspace runs, READY_FILE contains the process ID and the bot's credentials as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from ansible_collections.postroom.email.tests.fakes.slack.workspace import Workspace

ADMINS = ("bob", "carol", "dora")


def main(ready_file: Path, seconds: int) -> None:
    """Run a workspace until a signal arrives, or for this many seconds."""
    signals = (signal.SIGTERM, signal.SIGINT)
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    with Workspace() as slack:
        access = {
            "pid": os.getpid(),
            "url": slack.base_url,
            "bot_token": slack.bot_token,
            "app_token": slack.app_token,
            "admins": [slack.person(name, email=f"{name}@example.com").id for name in ADMINS],
            "channel": slack.channel("approvals"),
        }
        ready_file.touch(mode=0o600)
        ready_file.write_text(json.dumps(access), "utf-8")
        try:
            signal.sigtimedwait(signals, seconds)
        finally:
            ready_file.unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
