# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""With ``update_password: probe``, passwords are replaced only if a login fails."""

from __future__ import annotations

import imaplib
from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.mail.client import (
    ALICE,
    HOST,
    SECRET,
    MailServer,
    mail_server,
    resolve_to,
)
from ansible_collections.postroom.email.tests.support.recording_proxy import recording
from ansible_collections.postroom.email.tests.support.tenant import RecordedTenant

NEW = "new@example.com"
FIRST, OTHER = "correct-horse/battery", "пароль-ñ-漢字 with, a comma"


@pytest.fixture(scope="module")
def mail(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MailServer]:
    """Run the service with its mail server."""
    with mail_server(tmp_path_factory.mktemp("probe")) as mail:
        yield mail


@pytest.fixture(scope="module")
def tenant(mail: MailServer) -> Iterator[RecordedTenant]:
    """Provide a way to run modules through a recorder that can forbid writes."""
    with recording(mail.service.url) as recorder:
        tenant = RecordedTenant(mail.service.url, mail.service.token, recorder)
        yield tenant
        tenant.close()


def run(tenant: RecordedTenant, mail: MailServer, module: str, **options: Any) -> dict[str, Any]:
    """Run a module with ``probe``, and check that its result contains no password."""
    where = {"imap_host": "localhost", "imap_port": mail.service.ready["imap"]}
    trust = {"ca_path": str(mail.folder / "mail-cert.pem"), "update_password": "probe"}
    result = tenant.run(module, **{**where, **trust, **options})
    assert [one for one in (FIRST, OTHER, SECRET) if one in str(result)] == []
    return result


def works(mail: MailServer, secret: str) -> bool:
    """Return whether a mail client can log in."""
    try:
        mail.imap(NEW, secret).logout()
    except imaplib.IMAP4.error:
        return False
    return True


def options_of(module: str, passwords: list[str]) -> dict[str, Any]:
    """Return the options that declare a mailbox, or its absence if no passwords are given."""
    one: dict[str, Any] = {"name": NEW, "state": "present" if passwords else "absent"}
    if module == "email_mailbox":
        return {**one, "passwords": passwords}
    return {"mailboxes": [ALICE, one], "passwords": {NEW: passwords} if passwords else {}}


@pytest.mark.parametrize("module", ["email_mailbox", "email_tenant"])
def test_twelve_steps(module: str, tenant: RecordedTenant, mail: MailServer) -> None:
    """Check mode predicts each operation, a run performs it, and a second run changes nothing."""
    for passwords in ([FIRST], [OTHER, FIRST], []):
        options = options_of(module, passwords)
        tenant.recorder.take()
        with tenant.recorder.forbidding_writes():
            predicted = run(tenant, mail, module, check=True, **options)
        assert run(tenant, mail, module, **options) == predicted
        assert (predicted["changed"], len(tenant.recorder.take_writes())) == (True, 1)
        assert {one for one in (FIRST, OTHER) if works(mail, one)} == {*passwords}
        for check in (True, False):
            again = run(tenant, mail, module, check=check, **options)
            assert (again["changed"], again["changes"], again["diff"]) == (False, [], [])
        assert tenant.recorder.take_writes() == []


def test_the_mx_host_is_the_default(
    tenant: RecordedTenant, mail: MailServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default, the probe logs in to the host in the API's MX record."""
    resolve_to(HOST, "mail.postroom.test", monkeypatch)
    options = {"name": ALICE, "imap_host": None}
    assert not run(tenant, mail, "email_mailbox", passwords=SECRET, **options)["changed"]
    assert run(tenant, mail, "email_mailbox", passwords=OTHER, **options)["changed"]
