# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The programs that some tests need, and the Debian packages that contain them.

Run as a script, this prints the packages to install for all tests. It needs only Python's standard
library, because `.ci/run` runs it before anything is installed.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import NoReturn

PACKAGES = {
    "chromium": "chromium",
    "curl": "curl",
    "initdb": "postgresql",
    "ip": "iproute2",
    "mmdebstrap": "mmdebstrap",
    "named": "bind9",
    "openssl": "openssl",
    "pdns_server": "pdns-server pdns-backend-sqlite3",
    "postmap": "postfix-lmdb",
    "ssh": "openssh-client",
    "systemd-nspawn": "systemd-container",
}


def find(program: str) -> str | None:
    """Return the path of an installed program, or None.

    Debian installs name servers in directories that are only on root's PATH, and PostgreSQL's
    server in a directory that is on no PATH.
    """
    postgresql = sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")), reverse=True)
    path = [os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin"]
    return shutil.which(program, path=os.pathsep.join([*path, *postgresql]))


def not_installed(*programs: str) -> str:
    """Return the reason to skip a test that needs programs, or an empty string.

    The summary of a run reads the names of the packages from these reasons.
    """
    missing = [program for program in programs if find(program) is None]
    if not missing:
        return ""
    packages = " ".join(PACKAGES[program] for program in missing)
    return f"{' and '.join(missing)} not installed (Debian: {packages})"


def require(program: str) -> str:
    """Return the path of a program. Skip the test if the program is not installed."""
    return find(program) or _skip(not_installed(program))


def _skip(reason: str) -> NoReturn:
    import pytest

    pytest.skip(reason)


if __name__ == "__main__":
    packages_to_install = (packages for name, packages in PACKAGES.items() if find(name) is None)
    sys.stdout.write(" ".join(packages_to_install) + "\n")
