# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Mail signed with the service's private key is verified by the key that was published."""

from __future__ import annotations

import contextlib
import sqlite3

import dkim
import dns.rdatatype

from ansible_collections.postroom.email.tests.dns.publishing.conftest import Publisher
from ansible_collections.postroom.email.tests.dns.publishing.stage import HOME
from ansible_collections.postroom.email.tests.support.bind import BindServer
from ansible_collections.postroom.email.tests.support.service import RunningService

MESSAGE = (
    f"From: Alice <alice@{HOME}>\r\nTo: bob@example.net\r\nSubject: It works\r\n"
    "Date: Sat, 21 Nov 2026 12:00:00 +0000\r\nMessage-ID: <1@example.com>\r\n"
    "\r\nHello Bob,\r\nthe key is published.\r\n"
).encode()
PRIVATE_KEY = (
    "SELECT private_pem FROM dkim_key JOIN principal ON principal.id = dkim_key.principal_id "
    "WHERE principal.name = ?"
)


def signed(service: RunningService) -> bytes:
    """Return the message with a signature of the service's, whose key is in its database only."""
    with contextlib.closing(sqlite3.connect(service.database)) as database:
        ((key,),) = database.execute(PRIVATE_KEY, (HOME,)).fetchall()
    signature: bytes = dkim.sign(MESSAGE, b"service", HOME.encode(), key.encode())
    return signature + MESSAGE


def is_verified(message: bytes, server: BindServer) -> bool:
    """Tell what dkimpy says of a message, asking that name server for the key."""

    def ask(name: bytes, timeout: float = 5) -> bytes | None:
        answer = server.response(name.decode().rstrip("."), "TXT").answer
        texts = [rdata for rrset in answer if rrset.rdtype == dns.rdatatype.TXT for rdata in rrset]
        return b"".join(texts[0].strings) if texts else None

    return bool(dkim.verify(message, dnsfunc=ask))


def test_the_published_key_verifies_a_message(
    publisher: Publisher, service: RunningService
) -> None:
    """Not before it is published, then as it is, not when it was tampered with, nor afterwards."""
    message = signed(service)
    assert not is_verified(message, publisher.stage.bind)
    assert publisher.run("present")["changed"]
    assert is_verified(message, publisher.stage.bind)
    assert not is_verified(message.replace(b"Hello Bob", b"Hello Eve"), publisher.stage.bind)
    assert publisher.run("absent")["changed"]
    assert not is_verified(message, publisher.stage.bind)
