# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Mail is removed with its mailbox, and only then."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextlib import suppress
from threading import Event

import pytest

from postroom_service.mail import sessions
from postroom_service.mail.accounts import Accounts, Login
from postroom_service.mail.sessions import Sessions
from postroom_service.mail.storage import MailStore


class SlowAccounts(Accounts):
    """Accounts whose list of mailboxes takes so long that a new mailbox gets mail meanwhile."""

    def __init__(self, store: MailStore) -> None:
        self.store = store
        self.opened: list[object] = []
        self.checked = Event()

    def ended(self, _logins: Collection[Login]) -> set[Login]:
        """Return no logins."""
        return set()

    def mailboxes(self) -> set[str]:
        """Return the mailboxes that existed before the new one, after the new one has mail."""
        found = {"kept", "new"} if self.opened else {"kept"}
        self.opened.append(self.store.open("new"))
        if len(self.opened) == 3:
            self.checked.set()
        return found


def test_a_mailbox_created_during_a_check_keeps_its_mail(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check removes the mail of deleted mailboxes, but not of one that is created meanwhile."""
    monkeypatch.setattr(sessions, "INTERVAL", 0.01)
    store = MailStore(None)
    for uid in ("kept", "deleted"):
        store.open(uid)
    accounts = SlowAccounts(store)

    async def watch() -> None:
        task = asyncio.create_task(Sessions(accounts, store).watch())
        await asyncio.to_thread(accounts.checked.wait, 60)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    asyncio.run(watch())
    assert store.uids() == {"kept", "new"}
    assert {*accounts.opened} == {store.open("new")}
