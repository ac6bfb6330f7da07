# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Prepare a copy of the collection and a home directory for ansible-test.

ansible-test requires the collection to be a real directory at `ansible_collections/postroom/email`.
It refuses a symbolic link to that directory, and silently skips links inside it.
"""

from __future__ import annotations

import fnmatch
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterable

# ansible-test downloads get-pip.py from its own host, which is not reachable from every network.
# This replacement installs the pip that ships with Python, which makes no difference to the tests.
GET_PIP = """\
import subprocess
import sys

subprocess.check_call([sys.executable, "-m", "ensurepip", "--default-pip"])
arguments = [arg for arg in sys.argv[1:] if arg not in ("--no-setuptools", "--no-wheel")]
sys.exit(subprocess.call([sys.executable, "-m", "pip", "install", *arguments]))
"""


#: Tests that ansible-test can't run, because they test the programs or need more packages.
OTHER_TESTS = [
    *(f"tests/{name}" for name in ("benchmark", "bot", "dns", "docs", "docsite", "e2e")),
    *(f"tests/{name}" for name in ("hosts", "mail", "mail_host")),
    *("tests/fakes/dns_providers", "tests/fakes/slack", "tests/ops", "tests/output"),
    "tests/service",
]


def copy_collection(checkout: Path, root: Path) -> Path:
    """Copy the collection and its tests to a directory below `root`, and return that directory.

    The programs and their tests are left out, because ansible-test's rules don't apply to them. The
    output of earlier runs (`tests/output`) is kept, because it contains environments that are slow
    to create.
    """
    collection = root / "ansible_collections" / "postroom" / "email"
    collection.mkdir(parents=True, exist_ok=True)
    _remove_all_but(collection, Path("tests", "output", ".tmp"))
    # ansible-test gets the list of files from the enclosing git repository. The checkout's
    # repository would list no files, because it ignores the directory that contains the copy.
    subprocess.run(["git", "init", "--quiet", root / "ansible_collections"], check=True)
    excluded = root / "ansible_collections" / ".git" / "info" / "exclude"
    excluded.write_text("/postroom/email/tests/output/\n", "utf-8")
    ignored = yaml.safe_load(checkout.joinpath("galaxy.yml").read_text("utf-8"))["build_ignore"]
    copy_files(checkout, collection, [*(set(ignored) - {"tests"}), *OTHER_TESTS])
    return collection


def copy_files(checkout: Path, target: Path, ignored: Iterable[str] = ()) -> None:
    """Copy all files that git tracks or would track, except those that match a pattern."""
    for name in _tracked_or_new(checkout):
        source, copy = checkout / name, target / name
        # git still lists a file whose deletion is not yet committed.
        if source.is_file() and not is_ignored(name, ignored):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy, follow_symlinks=False)


def is_ignored(name: str, patterns: Iterable[str]) -> bool:
    """Return whether `ansible-galaxy` would ignore a file because of one of these patterns."""
    around = [name, *(str(folder) for folder in Path(name).parents)]
    return any(fnmatch.fnmatch(path, pattern) for pattern in patterns for path in around)


def make_home(home: Path, environment: Path) -> None:
    """Prepare a home directory for ansible-test, which then leaves the user's unchanged.

    pip expects its configuration and cache in the home directory, so they are links to the user's.
    """
    cache = home / ".ansible" / "test" / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    requirements = "lib/python*/site-packages/ansible_test/_internal/python_requirements.py"
    for source in environment.glob(requirements):
        for version in set(re.findall(r"\bpip='([\d.]+)'", source.read_text("utf-8"))):
            script = cache / f"get_pip_{version.replace('.', '_')}.py"
            script.write_text(GET_PIP, "utf-8")
    for shared in (".config/pip", ".pip", ".cache/pip"):
        link, target = home / shared, Path("~", shared).expanduser()
        # A directory from an earlier session may be at this path.
        if target.exists() and not link.is_symlink() and not link.exists():
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(target)


def _tracked_or_new(checkout: Path) -> list[str]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=checkout, check=True, capture_output=True, text=True).stdout
    return sorted(set(names.split("\0")) - {""})


def _remove_all_but(folder: Path, kept: Path) -> None:
    if not folder.is_dir():
        return
    for entry in folder.iterdir():
        if entry.name == kept.parts[0]:
            if len(kept.parts) > 1:
                _remove_all_but(entry, Path(*kept.parts[1:]))
        elif entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
