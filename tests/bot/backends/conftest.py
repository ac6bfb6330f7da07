# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Fixtures that provide a tenant on the reference service, and a client for the tenant."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ansible_collections.postroom.email.tests.bot.backends.sample_changes import mail_at
from ansible_collections.postroom.email.tests.service.api import Api
from ansible_collections.postroom.email.tests.support.service import RunningService
from postroom_bot.backends.mail_api import MailApi


@pytest.fixture
def api(service: RunningService) -> Iterator[Api]:
    """Provide API access to a tenant with example.com and with mailboxes for Alice and Bob."""
    with Api(service.url, service.token) as api:
        for principal in api.listing(type="domain"):
            api.delete(principal["name"])
        api.domain("example.com")
        api.mailbox("alice@example.com")
        api.mailbox("bob@example.com", "sales@example.com")
        yield api


@pytest.fixture
def mail(service: RunningService, api: Api) -> Iterator[MailApi]:
    """Provide a client for the tenant of the `api` fixture."""
    mail = mail_at(service)
    yield mail
    mail.close()
