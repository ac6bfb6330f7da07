# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Many principals: what is checked is that none is missing, never the time."""

from __future__ import annotations

from sqlalchemy import Connection

from ansible_collections.postroom.email.tests.service.api import Api, mailbox_body
from ansible_collections.postroom.email.tests.support.service import RunningService
from postroom_service import schemas, tokens
from postroom_service.database import Database
from postroom_service.principals import Directory

COUNT = 10_000


def fill(service: RunningService, domain: str) -> None:
    """Put mailboxes with an alias each into the database, in one transaction."""

    def work(connection: Connection) -> None:
        directory = Directory(connection, tokens.ensure_tenant(connection, "tests"))
        for n in range(COUNT):
            body = mailbox_body(f"u{n}@{domain}", f"a{n}@{domain}")
            new = schemas.new_principal(body)
            assert isinstance(new, schemas.NewMailbox)
            directory.create_mailbox(new, ["$argon2id$"])

    database = Database(service.database)
    try:
        database.write(work)
    finally:
        database.close()


def test_ten_thousand_principals_are_one_answer(file_service: RunningService) -> None:
    """The list isn't cut: every mailbox is in it with both addresses, in order of creation."""
    with Api(file_service.url, file_service.token) as api:
        domain = api.domain()
        fill(file_service, domain)
        first, *boxes = api.listing()
        assert first["name"] == domain
        assert [box["emails"] for box in boxes] == [
            [f"u{n}@{domain}", f"a{n}@{domain}"] for n in range(COUNT)
        ]
        api.delete(domain)
        assert api.listing() == []
