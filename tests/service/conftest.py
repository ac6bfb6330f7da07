# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Running services over each database, and access to them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.service.api import Api
from ansible_collections.postroom.email.tests.support.fixtures import postgresql_url
from ansible_collections.postroom.email.tests.support.service import RunningService, running_service
from postroom_service import tokens
from postroom_service.database import Database

__all__ = ["postgresql_url"]

BACKENDS = ("file", "memory", "postgresql")

_tenants = itertools.count(1)


@pytest.fixture(scope="session", params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """Name a kind of database."""
    return str(request.param)


@pytest.fixture(scope="session")
def service(
    backend: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningService]:
    """Run one service over each kind of database for all tests."""
    databases = {"file": None, "memory": "memory"}
    if backend == "postgresql":
        databases["postgresql"] = request.getfixturevalue("postgresql_url")
    with running_service(tmp_path_factory.mktemp(backend), database=databases[backend]) as service:
        yield service


@pytest.fixture
def api(service: RunningService) -> Iterator[Api]:
    """Give access as an empty tenant of its own."""
    with Api(service.url, _fresh_token(service)) as api:
        for principal in api.listing(type="domain"):
            api.delete(principal["name"])
        yield api


@pytest.fixture
def other_api(service: RunningService) -> Iterator[Api]:
    """Give access as another tenant; a memory database has only the one of its start."""
    with Api(service.url, _fresh_token(service)) as api:
        yield api


@pytest.fixture
def file_service(tmp_path: Path) -> Iterator[RunningService]:
    """Run a service over an SQLite file for this test alone."""
    with running_service(tmp_path / "service") as service:
        yield service


def _fresh_token(service: RunningService) -> str:
    """Make a tenant of its own; in memory there is only the one of the start."""
    if service.database == "memory":
        return service.token
    database = Database(service.database)
    try:
        tenant = f"tenant-{next(_tenants)}"
        return database.write(lambda connection: tokens.create(connection, tenant))
    finally:
        database.close()
