# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Fixtures that run services on each kind of database, and provide access to them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.service.api import Api
from ansible_collections.postroom.email.tests.support.fixtures import postgresql_url
from ansible_collections.postroom.email.tests.support.service import RunningService, running_service
from postroom_common.database import Database
from postroom_service import auth

__all__ = ["postgresql_url"]

#: The quick tests use SQLite files. One test uses each of the other databases.
BACKENDS = (
    "file",
    pytest.param("memory", marks=pytest.mark.full),
    pytest.param("postgresql", marks=pytest.mark.full),
)

_tenants = itertools.count(1)


@pytest.fixture(scope="session", params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """Provide the kind of database."""
    return str(request.param)


@pytest.fixture(params=["file", pytest.param("postgresql", marks=pytest.mark.full)])
def database(request: pytest.FixtureRequest) -> str | None:
    """Provide the database for a test's own service, or None for a new SQLite file."""
    return request.getfixturevalue("postgresql_url") if request.param == "postgresql" else None


@pytest.fixture(scope="session")
def service(
    backend: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningService]:
    """Run one service per kind of database for all tests."""
    database = {"file": None, "memory": "memory"}.get(backend)
    if backend == "postgresql":
        database = request.getfixturevalue("postgresql_url")
    with running_service(tmp_path_factory.mktemp(backend), database=database) as service:
        yield service


@pytest.fixture
def api(service: RunningService) -> Iterator[Api]:
    """Provide API access for an empty tenant."""
    with Api(service.url, _fresh_token(service)) as api:
        for principal in api.listing(type="domain"):
            api.delete(principal["name"])
        yield api


@pytest.fixture
def other_api(service: RunningService) -> Iterator[Api]:
    """Provide API access for a second tenant. An in-memory database can have only one tenant."""
    with Api(service.url, _fresh_token(service)) as api:
        yield api


@pytest.fixture
def file_service(tmp_path: Path) -> Iterator[RunningService]:
    """Run a service on an SQLite file for one test."""
    with running_service(tmp_path / "service") as service:
        yield service


def _fresh_token(service: RunningService) -> str:
    """Return a token for a new tenant or, with an in-memory database, for its only tenant."""
    if service.database == "memory":
        return service.token
    database = Database(service.database)
    try:
        tenant = f"tenant-{next(_tenants)}"
        return database.write(lambda connection: auth.create(connection, tenant))
    finally:
        database.close()
