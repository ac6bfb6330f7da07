# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Fixtures for a mail host without Postfix and Dovecot, with a real PostgreSQL server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ansible_collections.postroom.email.tests.mail_host.host import MailHost, mail_host
from ansible_collections.postroom.email.tests.support.fixtures import postgresql_url
from ansible_collections.postroom.email.tests.support.postgresql import fresh_database

__all__ = ["postgresql_url"]


@pytest.fixture(scope="module")
def database(postgresql_url: str) -> Iterator[str]:
    """Provide the URL of an empty database."""
    with fresh_database(postgresql_url) as url:
        yield url


@pytest.fixture(scope="module")
def host(database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MailHost]:
    """Run one mail host for all tests of a module."""
    with mail_host(tmp_path_factory.mktemp("host"), database) as running:
        yield running
