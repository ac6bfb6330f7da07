# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Fixtures that provide the reference service, each kind of empty database, and a fake clock."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.support.clock import Clock
from ansible_collections.postroom.email.tests.support.fixtures import (
    direct,
    postgresql_url,
    service,
)
from ansible_collections.postroom.email.tests.support.postgresql import fresh_database
from postroom_bot.store.tables import migrate
from postroom_common.database import Database

__all__ = ["direct", "postgresql_url", "service"]


@pytest.fixture(scope="session")
def postgresql_template(postgresql_url: str) -> Iterator[str]:
    """Provide the name of a migrated PostgreSQL database, which all tests copy."""
    with fresh_database(postgresql_url) as url:
        migrate(url)
        yield url.partition("///")[2].partition("?")[0]


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a migrated SQLite file, which all tests copy."""
    path = tmp_path_factory.mktemp("template") / "bot.sqlite"
    migrate(str(path))
    return path


@pytest.fixture(
    scope="session", params=("sqlite", pytest.param("postgresql", marks=pytest.mark.full))
)
def backend(request: pytest.FixtureRequest) -> str:
    """Provide each kind of database in turn: `sqlite` or `postgresql`."""
    return str(request.param)


@pytest.fixture
def empty_url(backend: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Provide the URL of a database without tables."""
    if backend == "sqlite":
        yield str(tmp_path / "bot.sqlite")
        return
    with fresh_database(request.getfixturevalue("postgresql_url")) as url:
        yield url


@pytest.fixture
def database_url(backend: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Provide the URL of an empty database with the bot's tables."""
    if backend == "sqlite":
        template = request.getfixturevalue("sqlite_template")
        yield str(shutil.copy(template, tmp_path / "bot.sqlite"))
        return
    template = request.getfixturevalue("postgresql_template")
    with fresh_database(request.getfixturevalue("postgresql_url"), template) as url:
        yield url


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """Provide an empty database with the bot's tables."""
    database = Database(database_url)
    yield database
    database.close()


@pytest.fixture
def clock() -> Clock:
    """Provide a clock that only the test advances."""
    return Clock()
