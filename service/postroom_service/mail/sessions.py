# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Track open sessions, and end those whose mailbox is deleted or whose secret is replaced."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from .accounts import Accounts, Login
from .storage import MailStore

#: Seconds between checks.
INTERVAL = 1.0

log = logging.getLogger("postroom_service.mail")


class Sessions:
    """The open sessions. A session ends if its mailbox is deleted or its secret is replaced.

    The mail of deleted mailboxes is also removed.
    """

    def __init__(self, accounts: Accounts, store: MailStore) -> None:
        self._accounts, self._store = accounts, store
        self._open: dict[object, tuple[Login, Callable[[], object]]] = {}
        self._mailboxes: set[str] = set()

    def add(self, connection: object, login: Login, end: Callable[[], object]) -> None:
        """Register a session, and the function that ends it."""
        self._open[connection] = (login, end)

    def remove(self, connection: object) -> None:
        """Forget the session of a connection, if there is one."""
        self._open.pop(connection, None)

    async def watch(self) -> None:
        """End sessions and remove mail, checking every INTERVAL seconds."""
        while True:
            await asyncio.sleep(INTERVAL)
            try:
                logins = {login for login, _end in self._open.values()}
                ended = await asyncio.to_thread(self._accounts.ended, logins)
                for login, end in list(self._open.values()):
                    if login in ended:
                        end()
                await asyncio.to_thread(self._remove_mail)
            except Exception:  # the next check may succeed
                log.exception("sessions could not be checked")

    def _remove_mail(self) -> None:
        """Remove the mail of mailboxes that were deleted since the last check.

        Other folders are kept, because they may belong to another program or database.
        """
        # A mailbox that is created and gets mail while the list is read must not count as deleted.
        stored = self._store.uids() & (self._mailboxes | self._store.opened)
        mailboxes = self._accounts.mailboxes()
        for uid in stored - mailboxes:
            self._store.remove(uid)
        self._mailboxes = mailboxes
