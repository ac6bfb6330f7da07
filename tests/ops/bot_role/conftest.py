# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The host of these tests: the bot is installed once, and removed at the end."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.ops.bot_role.host import (
    NAME,
    Host,
    build_wheels,
)
from ansible_collections.postroom.email.tests.support.company import company

PROGRAMS = ("start-stop-daemon", "setpriv", "useradd")
_SUITABLE = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))"


def missing() -> str:
    """Return why the bot can't be deployed on this machine; "" if it can."""
    if os.geteuid() != 0:
        return "only root can make the bot's user"
    for program in PROGRAMS:
        if shutil.which(program) is None:
            return f"needs {program}"
    python = subprocess.run(["/usr/bin/python3", "-c", _SUITABLE], check=False, capture_output=True)
    return "needs Python 3.11 with venv as /usr/bin/python3" if python.returncode else ""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """Return a host with the bot on it, which runs and is ready; the group was there before it."""
    if reason := missing():
        pytest.skip(reason)
    built = build_wheels(tmp_path_factory.mktemp("wheels"))
    # Not below pytest's own folder, which the bot's user may not enter.
    with (
        tempfile.TemporaryDirectory(prefix="postroom-host-") as folder,
        company(tmp_path_factory.mktemp("company")) as here,
    ):
        Path(folder).chmod(0o755)
        found = Host(Path(folder), here, built)
        try:
            subprocess.run(["groupadd", "--system", "--force", NAME], check=True)
            installed = found.deploy()
            assert installed.status == 0, installed.output
            yield found
        finally:
            removed = found.deploy(bot_state="absent", bot_purge_data=True)
            assert removed.status == 0, removed.output
