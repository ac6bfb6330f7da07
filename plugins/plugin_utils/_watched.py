# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Long tasks inside Ansible's worker end with Ansible."""

from __future__ import annotations

import multiprocessing
import os
import time

_NAP = 0.5


def end_unwatched() -> None:
    """End this process if Ansible was killed or lost its terminal.

    Then nobody watches any more, and nobody could be told what else was done.
    """
    parent = multiprocessing.parent_process()
    if parent is not None and not parent.is_alive():
        os._exit(1)


def sleep_watched(seconds: float) -> None:
    """Wait, as long as somebody watches."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        end_unwatched()
        time.sleep(min(left, _NAP))
