# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""LMDB files that Postfix reads as ``lmdb:DIRECTORY/NAME`` while they change.

Postfix uses LMDB without its own locks. Instead, each lookup holds a shared ``fcntl`` lock on the
file, and each change an exclusive one. A file is changed in place, because processes that have a
replaced file open read it until their next session.

As a program, this empties the maps in a directory, or creates them.
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
#: Mailboxes first: as long as an address is in it, Postfix accepts mail to the address.
NAMES = (MAILBOXES, DOMAINS)
#: What a method here raises if it can't change a map.
ERRORS = (OSError, lmdb.Error)
#: A limit; a file only takes the space that it needs.
MAX_SIZE = 1 << 30
#: Rows written under one lock, which delays lookups by some milliseconds.
MAX_ROWS = 5000
#: Readers lock the file for less than a millisecond.
LOCK_TIMEOUT = 5.0


def create(folder: Path, name: str) -> None:
    """Create an empty map, or replace the file by one.

    If this fails, the file is removed, so that Postfix defers mail instead of using stale rows.
    """
    path = folder / f"{name}.lmdb"
    new = path.with_suffix(".new")
    try:
        new.unlink(missing_ok=True)
        new.touch()
        # Postfix's group reads it, whatever the umask is.
        new.chmod(0o640)
        _write(new, {})
        new.replace(path)
    except ERRORS:
        path.unlink(missing_ok=True)
        raise


def change(folder: Path, name: str, rows: Mapping[str, str | None]) -> None:
    """Set or remove keys, in a transaction for each 5,000 of them.

    :param rows: values by their keys; None to remove a key
    """
    path = folder / f"{name}.lmdb"
    items = list(rows.items())
    for start in range(0, len(items), MAX_ROWS):
        part = dict(items[start : start + MAX_ROWS])
        with locked(path):
            _write(path, part)


def clear(folder: Path) -> None:
    """Empty the maps, and replace those that can't be emptied. Both are tried."""
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
            # A lookup can still finish: it reads the state before this single transaction.
            _write(path, {}, empty=True)
    except ERRORS:
        create(folder, name)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Lock a file exclusively, once no process reads or changes it.

    The lock belongs to the open file, not to the process. Otherwise it would end as soon as lmdb
    closes the file, which it does once when it opens an environment.

    :raises BlockingIOError: the file stays locked for five seconds
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
        # Nothing survives a crash, so nothing needs to be on disk when this returns.
        lmdb.open(
            str(path), MAX_SIZE, subdir=False, lock=False, sync=False, mode=0o640
        ) as environment,
        environment.begin(write=True) as transaction,
    ):
        if empty:
            transaction.drop(environment.open_db(txn=transaction), delete=False)
        for key, value in rows.items():
            # Keys and values end with a null byte, as postmap writes them.
            if value is None:
                transaction.delete(b"%s\0" % key.encode())
            else:
                transaction.put(b"%s\0" % key.encode(), b"%s\0" % value.encode())


if __name__ == "__main__":
    clear(Path(sys.argv[1]))
