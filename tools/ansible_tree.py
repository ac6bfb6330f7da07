# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Lay out what ansible-test needs: a real copy of the collection and a home of its own.

ansible-test works only where the collection really lies in `ansible_collections/postroom/email`:
it refuses a symbolic link to the folder, and links inside it pass without having been tested.
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

# ansible-test fetches get-pip.py from a host of its own, which not every network reaches. What pip
# is bootstrapped from makes no difference to the tests: this takes the one that Python brings.
GET_PIP = """\
import subprocess
import sys

subprocess.check_call([sys.executable, "-m", "ensurepip", "--default-pip"])
arguments = [arg for arg in sys.argv[1:] if arg not in ("--no-setuptools", "--no-wheel")]
sys.exit(subprocess.call([sys.executable, "-m", "pip", "install", *arguments]))
"""


#: Tests that ansible-test does not run, because they are of the programs or need more packages.
OTHER_TESTS = [
    *(f"tests/{name}" for name in ("benchmark", "bot", "dns", "docs", "docsite", "e2e")),
    *(f"tests/{name}" for name in ("hosts", "mail", "mail_host")),
    *("tests/fakes/dns_providers", "tests/fakes/slack", "tests/ops", "tests/output"),
    "tests/service",
]


def copy_collection(checkout: Path, root: Path) -> Path:
    """Copy the collection and the tests for ansible-test below `root`, and return the collection.

    The programs and their tests are left out: other rules hold for them. What ansible-test has made
    itself in an earlier run (`tests/output`, with its environments) is kept: making it again takes
    most of the time.
    """
    collection = root / "ansible_collections" / "postroom" / "email"
    collection.mkdir(parents=True, exist_ok=True)
    _remove_all_but(collection, Path("tests", "output", ".tmp"))
    # ansible-test asks the git repository around the tree for its files; were that the checkout,
    # which ignores the place where the copy lies, there would be none.
    subprocess.run(["git", "init", "--quiet", root / "ansible_collections"], check=True)
    excluded = root / "ansible_collections" / ".git" / "info" / "exclude"
    excluded.write_text("/postroom/email/tests/output/\n", "utf-8")
    ignored = yaml.safe_load(checkout.joinpath("galaxy.yml").read_text("utf-8"))["build_ignore"]
    copy_files(checkout, collection, [*(set(ignored) - {"tests"}), *OTHER_TESTS])
    return collection


def copy_files(checkout: Path, target: Path, ignored: Iterable[str] = ()) -> None:
    """Copy what git tracks or would, but for what matches one of the patterns."""
    for name in _tracked_or_new(checkout):
        source, copy = checkout / name, target / name
        # A file that is deleted but not yet committed is still listed.
        if source.is_file() and not is_ignored(name, ignored):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy, follow_symlinks=False)


def is_ignored(name: str, patterns: Iterable[str]) -> bool:
    """Tell whether a file, or a folder around it, matches, as `ansible-galaxy` reads patterns."""
    around = [name, *(str(folder) for folder in Path(name).parents)]
    return any(fnmatch.fnmatch(path, pattern) for pattern in patterns for path in around)


def make_home(home: Path, environment: Path) -> None:
    """Fill a home folder for the ansible-test of an environment; the user's own stays as it is.

    pip finds its configuration and its cache through the home folder, so those two stay shared.
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
        # A session that ran before may have made the folder itself.
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
