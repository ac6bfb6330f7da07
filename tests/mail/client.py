# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A service with its embedded mail server, and standard mail clients for it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.service.api import Api
from ansible_collections.postroom.email.tests.support.mail import (
    ALICE,
    HOST,
    PARTNER,
    SECRET,
    MailClient,
    mail_options,
    message,
    signing_key,
)
from ansible_collections.postroom.email.tests.support.service import RunningService, running_service

__all__ = [
    "ALICE",
    "BOB",
    "DOMAIN",
    "HOST",
    "PARTNER",
    "SECRET",
    "MailServer",
    "is_signed",
    "mail_server",
    "message",
    "resolve_to",
]

BOB, DOMAIN = "bob@example.com", "example.com"


class MailServer(MailClient):
    """The service, API access for its tenant, and mail clients' connections."""

    def __init__(self, service: RunningService, api: Api, folder: Path) -> None:
        super().__init__(service.ready, folder)
        self.service = service
        self.api = api


def is_signed(sent: bytes, records: dict[str, list[dict[str, str]]], domain: str) -> bool:
    """Return whether the records from the DNS endpoint verify a message's DKIM signature."""
    return bool(signing_key(sent, records["txt"], domain))


def resolve_to(address: str, host: str, patch: pytest.MonkeyPatch) -> None:
    """Resolve a host name to an address without DNS."""
    real = socket.getaddrinfo

    def resolve(name: str, *more: Any, **options: Any) -> Any:
        return real(address if name == host else name, *more, **options)

    patch.setattr(socket, "getaddrinfo", resolve)


@contextmanager
def mail_server(
    folder: Path, *options: str, populate: bool = True, database: str | None = None
) -> Iterator[MailServer]:
    """Run the service with the mail server, and with Alice's and Bob's mailboxes at example.com."""
    extra_args = [*mail_options(folder), *options]
    with (
        running_service(folder, database=database, extra_args=extra_args) as service,
        Api(service.url, service.token) as api,
    ):
        if populate:
            api.domain(DOMAIN)
            for name in (ALICE, BOB):
                api.mailbox(name, secrets=[SECRET])
        yield MailServer(service, api, folder)
