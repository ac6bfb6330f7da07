# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The definition of the changes made through Slack, for `email_tenant`."""

from __future__ import annotations

from typing import Any

from postroom_bot.backends.mail_api import MailApi
from postroom_bot.store import holdings
from postroom_common.database import Database


def chat_definition(database: Database, mail: MailApi) -> dict[str, Any]:
    """Return the changes made through Slack as the content of a definition file.

    :raises DatabaseError: if the database can't be used
    :raises Unavailable: if the mail service can't be used now
    """
    recorded = database.read(holdings.everything)
    existing = mail.individuals()
    return holdings.definition(recorded, existing.mailboxes, dict(existing.forwarders))
