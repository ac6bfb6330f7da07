# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""LMDB files that can be updated while Postfix uses them as ``lmdb:DIRECTORY/NAME``.

Postfix disables LMDB's own locking. Instead, each lookup holds a shared ``fcntl`` lock on the file,
and each change holds an exclusive lock. Files are changed in place, because Postfix processes that
have a file open would not notice a replacement until their next session.

When run as a script, this module empties the maps in a directory, and creates missing maps.
"""

from __future__ import annotations

import fcntl
import struct
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import lmdb

DOMAINS = "domains"
MAILBOXES = "mailboxes"
#: Mailboxes are cleared first, because Postfix accepts mail to every address in that map.
NAMES = (MAILBOXES, DOMAINS)
#: The exceptions that the functions raise if a map can't be changed.
ERRORS = (OSError, lmdb.Error)
#: The maximum size of a file in bytes. Files only use the space that they need.
MAX_SIZE = 1 << 30
#: The maximum number of rows written under one lock, which delays lookups by a few milliseconds.
MAX_ROWS = 5000
#: The number of seconds to wait for a lock. Readers hold it for less than a millisecond.
LOCK_TIMEOUT = 5.0


def create(folder: Path, name: str) -> None:
    """Create an empty map, replacing any existing file.

    If this fails, the file is removed, so that Postfix defers mail instead of using stale rows.
    """
    path = folder / f"{name}.lmdb"
    new = path.with_suffix(".new")
    try:
        new.unlink(missing_ok=True)
        new.touch()
        # Postfix's group must be able to read the file, regardless of the umask.
        new.chmod(0o640)
        _write(new, {})
        new.replace(path)
    except ERRORS:
        path.unlink(missing_ok=True)
        raise


def change(folder: Path, name: str, rows: Mapping[str, str | None]) -> None:
    """Set or remove keys, in transactions of up to MAX_ROWS rows.

    :param rows: the values, by key; a value of None removes the key
    """
    path = folder / f"{name}.lmdb"
    items = list(rows.items())
    for start in range(0, len(items), MAX_ROWS):
        part = dict(items[start : start + MAX_ROWS])
        with locked(path):
            _write(path, part)


def clear(folder: Path) -> None:
    """Empty each map, or replace it if that fails. Continue with the other map after an error."""
    errors = []
    for name in NAMES:
        try:
            _clear(folder, name)
        except ERRORS as error:
            errors.append(error)
    if errors:
        raise errors[0]


def _clear(folder: Path, name: str) -> None:
    path = folder / f"{name}.lmdb"
    try:
        try:
            with locked(path):
                _write(path, {}, empty=True)
        except BlockingIOError:
            # Write without the lock: an ongoing lookup reads the state before this transaction.
            _write(path, {}, empty=True)
    except ERRORS:
        create(folder, name)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on a file.

    The lock belongs to the open file description and not to the process. lmdb closes the file once
    while it opens an environment, and this would release a lock of the process.

    :raises BlockingIOError: if the file is still locked after LOCK_TIMEOUT
    """
    deadline = time.monotonic() + LOCK_TIMEOUT
    lock = struct.pack("hhqqi", fcntl.F_WRLCK, 0, 0, 0, 0)
    with path.open("r+b") as file:
        while True:
            try:
                fcntl.fcntl(file, fcntl.F_OFD_SETLK, lock)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.001)
            else:
                break
        yield


def _write(path: Path, rows: Mapping[str, str | None], *, empty: bool = False) -> None:
    with (
        # Don't sync, because the maps are created again after a crash.
        lmdb.open(
            str(path), MAX_SIZE, subdir=False, lock=False, sync=False, mode=0o640
        ) as environment,
        environment.begin(write=True) as transaction,
    ):
        if empty:
            transaction.drop(environment.open_db(txn=transaction), delete=False)
        for key, value in rows.items():
            # As in files that postmap writes, keys and values end with a null byte.
            if value is None:
                transaction.delete(b"%s\0" % key.encode())
            else:
                transaction.put(b"%s\0" % key.encode(), b"%s\0" % value.encode())


if __name__ == "__main__":
    clear(Path(sys.argv[1]))
