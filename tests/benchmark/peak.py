# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Run a command and write down how much memory the largest of its processes came to take.

    python peak.py FILE COMMAND...

A process of its own, and a small one, since the kernel begins to count at what the parent has.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

if __name__ == "__main__":
    status = subprocess.run(sys.argv[2:], check=False).returncode
    kibibytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    Path(sys.argv[1]).write_text(str(kibibytes * 1024), "ascii")
    sys.exit(status)
