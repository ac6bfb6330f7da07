# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A workspace as a process of its own, until it is told to end or nobody needs it any more.

    python -m ansible_collections.postroom.email.tests.fakes.slack READY_FILE SECONDS

The file is there, with the process's number and how the bot gets in as JSON, as long as it runs.
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
    """Run until SIGTERM or SIGINT, but not for longer than these seconds."""
    ends = (signal.SIGTERM, signal.SIGINT)
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    with Workspace() as slack:
        told = {
            "pid": os.getpid(),
            "url": slack.base_url,
            "bot_token": slack.bot_token,
            "app_token": slack.app_token,
            "admins": [slack.person(name, email=f"{name}@example.com").id for name in ADMINS],
            "channel": slack.channel("approvals"),
        }
        ready_file.touch(mode=0o600)
        ready_file.write_text(json.dumps(told), "utf-8")
        try:
            signal.sigtimedwait(ends, seconds)
        finally:
            ready_file.unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
