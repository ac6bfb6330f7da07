# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Make a checkout at any path importable as the collection.

Ansible's plugins are imported as `ansible_collections.postroom.email...`, so the checkout must be
in a directory with that path. If it is not, a git-ignored tree of symbolic links is used. Like the
wheel, the tree also provides the client core as `postroom_client`.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

CHECKOUT = Path(__file__).resolve().parent.parent
NAME = ("ansible_collections", "postroom", "email")
PROGRAMS = tuple(CHECKOUT / name for name in ("bot", "service", "common"))


def collections_root(checkout: Path) -> Path:
    """Return the directory that contains `ansible_collections`, and create the links if needed."""
    if checkout.parts[-len(NAME) :] == NAME:
        # No links are needed with ansible-test, or in a clone at the right path.
        return checkout.parents[len(NAME) - 1]
    root = checkout / ".collections"
    link = root.joinpath(*NAME)
    link.parent.mkdir(parents=True, exist_ok=True)
    # The link is relative, so that the checkout can be moved. Another worker may have just created
    # the link.
    with contextlib.suppress(FileExistsError):
        link.symlink_to(Path("..", "..", ".."), target_is_directory=True)
    with contextlib.suppress(FileExistsError):
        client = Path("..", "plugins", "module_utils", "_api")
        root.joinpath("postroom_client").symlink_to(client, target_is_directory=True)
    return root


for entry in (*PROGRAMS, collections_root(CHECKOUT)):
    if str(entry) not in sys.path:
        sys.path.insert(0, str(entry))


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers here, because ansible-test does not read pyproject.toml."""
    for marker in (
        "full: in `make test-all` only; a faster test of the same guarantee runs in `make test`",
        "matrix: uses Ansible; `make test-all` also runs it with other ansible-core versions",
    ):
        config.addinivalue_line("markers", marker)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need PostgreSQL, and add each test's docstring to the report.

    The report then shows what a failed test guarantees. pytest selects tests by mark after this.
    """
    for item in items:
        if "postgresql_url" in getattr(item, "fixturenames", ()):
            item.add_marker("full")
        if docstring := getattr(getattr(item, "function", None), "__doc__", None):
            sentence = " ".join(docstring.partition("\n\n")[0].split())
            item.user_properties.append(("guarantee", sentence))
