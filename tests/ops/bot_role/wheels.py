# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Wheels of the bot: the one of the checkout, and a later one with a later schema."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tools import ansible_tree

LATER_VERSION = "99.0.0"
LATER_REVISION = "9999"
_MIGRATION = '''\
"""Changes nothing but the number."""

revision = "{later}"
down_revision = "{earlier}"


def upgrade() -> None:
    """Change nothing."""
'''


class Wheels(NamedTuple):
    """The two wheels, and the version of the first."""

    now: Path
    later: Path
    version: str


def build(place: Path) -> Wheels:
    """Build both."""
    copy = place / "copy"
    ansible_tree.copy_files(repository.ROOT, copy)
    now = wheel_of(copy, place / "now")
    _make_later(copy)
    return Wheels(now, wheel_of(copy, place / "later"), now.name.split("-")[1])


def wheel_of(sources: Path, place: Path) -> Path:
    """Build a wheel of a copy of the checkout: setuptools leaves its work beside the sources."""
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(place), str(sources)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    [wheel] = place.glob("*.whl")
    return wheel


def _make_later(copy: Path) -> None:
    """Make a version of the copy that comes after every real one."""
    galaxy = copy / "galaxy.yml"
    text = galaxy.read_text("utf-8")
    galaxy.write_text(re.sub(r"(?m)^version: .*", f"version: {LATER_VERSION}", text), "utf-8")
    versions = copy / "bot" / "postroom_bot" / "store" / "migrations" / "versions"
    last = max(versions.glob("v*.py")).name[1:5]
    migration = _MIGRATION.format(later=LATER_REVISION, earlier=last)
    (versions / f"v{LATER_REVISION}_later.py").write_text(migration, "utf-8")
