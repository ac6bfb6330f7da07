# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Store the mail of each mailbox, identified by its uid, in memory or in a Maildir folder."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pymap.backend.dict.mailbox import MailboxSet as MemorySet
from pymap.backend.maildir.layout import DefaultLayout
from pymap.backend.maildir.mailbox import MailboxSet as MaildirSet
from pymap.backend.maildir.mailbox import Maildir
from pymap.exceptions import MailboxConflict, MailboxNotFound
from pymap.parsing.message import AppendMessage

MAX_FOLDER_NAME = 200


class MailStore:
    """The stored mail of all mailboxes.

    :param folder: the directory of the Maildir folders; None to keep mail in memory
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._open: dict[str, Any] = {}

    @property
    def opened(self) -> set[str]:
        """The uids of the mailboxes that this process has opened."""
        return set(self._open)

    def open(self, uid: str) -> Any:
        """Return the folders of a mailbox as a pymap mailbox set."""
        if uid not in self._open:
            self._open[uid] = MemorySet() if self._folder is None else _maildir(self._folder / uid)
        return self._open[uid]

    async def append(self, uid: str, message: bytes) -> None:
        """Store a message in the inbox of a mailbox."""
        inbox = await self.open(uid).get_mailbox("INBOX")
        await inbox.append(AppendMessage(message, datetime.now(UTC), frozenset()), recent=True)

    def uids(self) -> set[str]:
        """Return the uids of stored mailboxes, and the names of other entries in the folder."""
        stored = self.opened
        if self._folder is not None and self._folder.is_dir():
            stored |= {path.name for path in self._folder.iterdir()}
        return stored

    def remove(self, uid: str) -> None:
        """Remove the mail of a mailbox."""
        self._open.pop(uid, None)
        if self._folder is not None:
            shutil.rmtree(self._folder / uid, ignore_errors=True)


class _Layout(DefaultLayout[Maildir]):
    """A Maildir++ layout that rejects folder names such as "/", which lead outside the mailbox."""

    @classmethod
    def _split(cls, name: str, delimiter: str) -> Sequence[str]:
        parts = super()._split(name, delimiter)
        if any(not part or "." in part for part in parts) or len(name.encode()) > MAX_FOLDER_NAME:
            raise MailboxNotFound(name)
        return parts

    def add_folder(self, name: str, delimiter: str) -> None:
        try:
            super().add_folder(name, delimiter)
        except FileExistsError:
            raise MailboxConflict(name) from None

    def rename_folder(self, source_name: str, dest_name: str, delimiter: str) -> None:
        folders = self.list_folders(delimiter)
        if source_name not in folders:
            raise MailboxNotFound(source_name)
        if dest_name in folders:
            raise MailboxConflict(dest_name)
        super().rename_folder(source_name, dest_name, delimiter)


def _maildir(path: Path) -> MaildirSet:
    maildir = Maildir(str(path), create=True)
    return MaildirSet(maildir, _Layout(str(path), Maildir))
