# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Report to systemd that the daemon isn't stuck (``WatchdogSec``, see sd_notify(3))."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable


async def report_progress(is_stuck: Callable[[], bool]) -> None:
    """Send systemd three keep-alive messages per watchdog interval, unless the daemon is stuck."""
    address, microseconds = os.environ.get("NOTIFY_SOCKET"), os.environ.get("WATCHDOG_USEC")
    if not address or not microseconds:
        return
    if address.startswith("@"):
        address = f"\0{address[1:]}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.connect(address)
        supervisor.setblocking(False)  # noqa: FBT003
        while True:
            with contextlib.suppress(OSError):  # systemd is busy
                if not is_stuck():
                    supervisor.send(b"WATCHDOG=1")
            await asyncio.sleep(int(microseconds) / 3_000_000)
