# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""End the sessions of changed and deleted mailboxes, and remove the mail of deleted mailboxes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import shutil
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from postroom_common.database import DatabaseError

from .metrics import Metrics
from .views import Views

#: Seconds between sweeps, and before the next attempt if one fails. A sweep also removes folders
#: that a session recreated during their removal.
SWEEP_INTERVAL, SWEEP_DELAY = 3600.0, 30.0
KICK_TIMEOUT = 20.0
#: Limits on concurrent tasks. Removals use threads, which the milter also needs.
MAX_KICKS, MAX_REMOVALS = 4, 2
REMOVE_ATTEMPTS = 3
REMOVE_DELAY = 1.0
#: The exit status of doveadm kick if all sessions have already ended.
NO_SESSION = 68

#: The name of a folder that was set aside consists of the uid, this separator and the date. KEPT
#: is the time for which the folder is kept.
ASIDE, KEPT = ".deleted-", timedelta(days=7)
_UID = re.compile(r"[0-9a-f]{32}")

log = logging.getLogger("postroom_service.mail_host")


class Worker:
    """A worker that handles changed and deleted mailboxes.

    :param folder: the directory with a mail folder for each mailbox, named after its uid
    :param node: the name of this node; None for a host that stores all mailboxes
    :param end_logins: a function that ends the submission sessions of a mailbox, or of all
        mailboxes if it is called with None
    """

    def __init__(
        self,
        folder: Path,
        node: str | None,
        views: Views,
        metrics: Metrics,
        end_logins: Callable[[str | None], None],
    ) -> None:
        self._folder, self._node = folder, node
        self._views, self._metrics, self._end_logins = views, metrics, end_logins
        self._kicks = asyncio.Semaphore(MAX_KICKS)
        self._removals = asyncio.Semaphore(MAX_REMOVALS)
        self._tasks: set[asyncio.Task[None]] = set()
        self._sweep_wanted = asyncio.Event()

    def sweep_soon(self) -> None:
        """Request a sweep, because notifications may have been missed."""
        self._sweep_wanted.set()

    async def run(self) -> None:
        """Run sweeps, on request and at regular intervals."""
        delay = None
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._sweep_wanted.wait(), delay)
            self._sweep_wanted.clear()
            delay = SWEEP_DELAY
            try:
                await self._sweep()
                delay = SWEEP_INTERVAL
            except DatabaseError as error:
                log.warning("can't look for the mail of deleted mailboxes: %s", error)
            except Exception:  # the next attempt may succeed
                log.exception("can't look for the mail of deleted mailboxes")

    def handle(self, name: str, uid: object) -> None:
        """End a mailbox's sessions in the background, and remove its mail if it was deleted.

        :param uid: the uid of a deleted mailbox, as read from the notification; otherwise None
        """
        task = asyncio.create_task(self._handle(name, uid))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _handle(self, name: str, uid: object) -> None:
        """End a mailbox's sessions. If the mailbox was deleted, remove all of its mail."""
        try:
            self._end_logins(name)
            await self._kick(name)
            if uid is None:
                return
            if not isinstance(uid, str) or not _UID.fullmatch(uid):
                log.warning("a notification with an invalid uid is ignored")
            elif not await self._views.has_mailbox(uid):
                async with self._removals:
                    for path in self._folders(uid):
                        await self._remove(path)
        except Exception:  # the next notification may succeed
            log.exception("a notification can't be handled")

    async def _kick(self, name: str) -> None:
        async with self._kicks:
            try:
                status = await _run("doveadm", "kick", "--", name)
            except (OSError, TimeoutError):
                status = -1
                log.exception("doveadm can't be run")
            else:
                if status not in (0, NO_SESSION):
                    log.error("doveadm kick failed", extra={"fields": {"status": status}})
        succeeded = status in (0, NO_SESSION)
        self._metrics.kicks.labels("ok" if succeeded else "failed").inc()

    async def _sweep(self) -> None:
        """Set aside the mail of deleted and moved mailboxes, and delete it after KEPT.

        The mail is kept that long in case the database was restored from an old backup. If a
        mailbox is on this node again, its mail is moved back.
        """
        if self._node and not await self._views.has_node(self._node):
            log.error(
                "--node does not name a node, so no mail is set aside: run node add, or set --node"
            )
            return
        # List the folders first, because a mailbox is placed here before its folder exists.
        folders = await asyncio.to_thread(self._list_folders)
        uids = await self._views.uids(self._node)
        today = datetime.now(UTC).date()
        for path, uid, day in folders:
            mailbox, aside = self._folder / uid, self._folder / f"{uid}{ASIDE}{today}"
            try:
                if not day and uid not in uids and not aside.exists():
                    # The mailbox may have been moved here since the uids were read.
                    if await self._views.has_mailbox(uid, self._node):
                        continue
                    path.rename(aside)
                    log.info("the mail of a deleted or moved mailbox is set aside")
                elif day and uid in uids and not mailbox.exists():
                    path.rename(mailbox)
                elif day and date.fromisoformat(day) < today - KEPT:
                    await asyncio.to_thread(shutil.rmtree, path)
                    self._metrics.removed.inc()
            except (OSError, ValueError):
                log.exception("a mail folder can't be moved or removed")

    def _list_folders(self) -> list[tuple[Path, str, str]]:
        """Return the mail folders, each with its uid and, if it was set aside, the date.

        If a mailbox has several folders that were set aside, the latest comes first.
        """
        folders = []
        for path in sorted(self._folder.iterdir(), reverse=True):
            uid, _, day = path.name.partition(ASIDE)
            if _UID.fullmatch(uid) and path.is_dir() and not path.is_symlink():
                folders.append((path, uid, day))
        return folders

    def _folders(self, uid: str) -> list[Path]:
        """Return the paths where a mailbox's mail may be, including folders that were set aside."""
        # Sweeps remove older folders. Listing the directory for each mailbox would take too long.
        today = datetime.now(UTC).date()
        days = (today - timedelta(days=ago) for ago in range(KEPT.days + 2))
        return [self._folder / uid, *(self._folder / f"{uid}{ASIDE}{day}" for day in days)]

    async def _remove(self, path: Path) -> None:
        """Remove a mail folder, if it exists."""
        for attempt in range(1, REMOVE_ATTEMPTS + 1):
            try:
                await asyncio.to_thread(shutil.rmtree, path)
            except OSError:
                if not await asyncio.to_thread(path.exists):
                    return
                # A session that is ending may still write to it.
                if attempt == REMOVE_ATTEMPTS:
                    raise
                await asyncio.sleep(REMOVE_DELAY)
            else:
                self._metrics.removed.inc()
                log.info("the mail of a deleted mailbox is removed")
                return


async def _run(*command: str) -> int:
    """Run a program, discard its output, and return its exit status."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        return await asyncio.wait_for(process.wait(), KICK_TIMEOUT)
    except BaseException:
        with contextlib.suppress(ProcessLookupError):  # it has already ended
            process.kill()
        raise
