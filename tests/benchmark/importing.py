# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What a module pays before it does anything: the imports, up to a client that is ready for http.

Ansible ships a module with what it imports as a zip file, out of which Python compiles everything
anew in each task. So the imports are measured out of such a file, and those of a module that does
nothing are taken off.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import ansible

from ansible_collections.postroom.email.tests.benchmark.measure import (
    Ratio,
    Timed,
    interleaved,
    timed,
)
from ansible_collections.postroom.email.tests.support.service import RunningService

CHECKOUT = Path(__file__).resolve().parents[2]
COLLECTION = Path("ansible_collections", "postroom", "email")

EMPTY = "from ansible.module_utils.basic import AnsibleModule"
BARE_HTTPX = f"{EMPTY}\nimport httpx"
MAILBOX = """\
from ansible_collections.postroom.email.plugins.modules import email_mailbox
from ansible_collections.postroom.email.plugins.module_utils import _module
_module.connect({"api_url": "http://127.0.0.1:1", "api_token": "t", "validate_certs": True,
                 "ca_path": None})
"""


def pack(target: Path) -> None:
    """Write a zip file with what modules may import, as Ansible does: not compiled."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, source in sorted(shipped()):
            archive.writestr(name.as_posix(), source)


def shipped() -> Iterator[tuple[Path, str]]:
    """Yield the files by their names in the zip file, with their texts."""
    core = Path(ansible.__file__).parent
    yield Path("ansible", "__init__.py"), ""
    for file in core.glob("module_utils/**/*.py"):
        yield Path("ansible", file.relative_to(core)), file.read_text("utf-8")
    packages = set()
    for file in CHECKOUT.glob("plugins/module*/**/*.py"):
        name = COLLECTION / file.relative_to(CHECKOUT)
        packages |= set(name.parents)
        yield name, file.read_text("utf-8")
    for package in packages - {Path()}:
        yield package / "__init__.py", ""


def process(archive: Path, code: str) -> Timed:
    """Return what runs code in a new process as a module runs, and tells the seconds."""
    program = f"import sys; sys.path.insert(0, {str(archive)!r})\n{code}"
    command = [sys.executable, "-c", program]
    return timed(lambda: subprocess.run(command, check=True, cwd=archive.parent))


def measure(_service: RunningService, folder: Path, _items: int, rounds: int) -> list[Ratio]:
    """Start the processes in turn."""
    archive = folder / "modules.zip"
    pack(archive)
    codes = {"empty": EMPTY, "httpx": BARE_HTTPX, "email_mailbox": MAILBOX}
    seconds = interleaved(
        5 * rounds, {name: process(archive, code) for name, code in codes.items()}
    )
    empty, httpx, mailbox = (seconds[name] * 1000 for name in codes)
    return [
        Ratio("email_mailbox's imports", "import httpx", mailbox - empty, httpx - empty, "process"),
        Ratio("email_mailbox's process", "empty module", mailbox, empty, "process"),
    ]
