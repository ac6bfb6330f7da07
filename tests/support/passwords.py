# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Checks passwords against the hashes that the service stores."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError

from ansible_collections.postroom.email.tests.support.service import RunningService


def opens(service: RunningService, mailbox: str, password: str) -> bool:
    """Return whether a password matches one of a mailbox's stored hashes."""
    with closing(sqlite3.connect(service.database)) as database:
        query = "SELECT hash FROM secret JOIN principal ON id = principal_id WHERE name = ?"
        hashes = [str(row[0]) for row in database.execute(query, (mailbox,))]
    assert hashes, f"{mailbox} has no password"
    return any(_matches(known, password) for known in hashes)


def _matches(known: str, password: str) -> bool:
    try:
        return PasswordHasher().verify(known, password)
    except VerifyMismatchError:
        return False
