# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The audit: an append-only table whose rows form a hash chain.

Database triggers reject updates and deletions. Editing a row after removing the triggers breaks the
chain. If all later rows are rewritten as well, a comparison with the streamed lines reveals the
tampering.

A row's hash is the SHA-256 of a text: the previous row's hash in hexadecimal, followed by the row
as canonical JSON (sorted keys, no whitespace, ASCII).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, bindparam, insert, select, update

from postroom_bot.store.tables import audit as table
from postroom_bot.store.tables import audit_cursor, audit_head
from postroom_common.database import Database

#: The `prev_hash` of the first row.
START = "0" * 64
PAGE = 500
#: The actor of automatic events.
BOT = "bot"
#: The description of each event.
EVENTS = {
    "request.new": "A request was created.",
    "request.pending": "The policy requires approvals. The row includes the rule, the quorum and "
    "the policy's digest.",
    "request.approved": "The request can be executed, because the policy allows it without "
    "approval, it has all approvals, its execution will be retried, or it removes an alias or a "
    "forwarder after the last day.",
    "request.executing": "The execution started. The row includes the number of the attempt or, "
    "for a password, whether a notice was sent to the mailbox by email.",
    "request.resumed": "The execution was resumed after a crash.",
    "request.done": "The request was executed.",
    "request.failed": "The execution failed.",
    "request.refused": "The policy or the mail service refused the request, or a condition changed "
    "after the request was created.",
    "request.denied": "An approver denied the request.",
    "request.expired": "The deadline for the decision or the execution passed.",
    "request.cancelled": "The requester or an operator cancelled the request.",
    "card.posted": "The card was posted. The row includes its channel, its timestamp and the "
    "request's digest.",
    "vote.cast": "A person pressed *Approve* or submitted a denial.",
    "vote.counted": "The vote counts. The row includes the voter's mailbox and groups.",
    "vote.refused": "The vote doesn't count. The row includes the reason.",
    "vote.turned_away": "The person can't vote on this card, for example because they made the "
    "request or because this is not the request's current card. The row includes the reason.",
    "person.turned_away": "A person tried something forbidden that belongs to no request, such as "
    "listing the aliases of another person's mailbox.",
}

_SECRET = re.compile(
    r"pass(word|wd|phrase)|secret|token|credential|authori[sz]ation|cookie|response_?url"
    r"|(api|private|signing)_?key",
    re.IGNORECASE,
)


class AuditRow(NamedTuple):
    """An audit row, which records who did what, when and for which request.

    :param at: the time as it was written: ISO 8601 in UTC, with microseconds
    :param actor: the id of a Slack user, `BOT`, or ``operator:`` and a user name
    """

    seq: int
    at: str
    actor: str
    event: str
    request_id: str | None
    data: Mapping[str, Any]
    prev_hash: str
    hash: str

    def line(self) -> str:
        """Return the row as a line of JSON, without a line break."""
        return _canonical(self._asdict())


@dataclass(frozen=True, slots=True)
class Verified:
    """The result of a successful verification: the last row's number and hash."""

    count: int
    head: str


class Tampered(Exception):
    """The audit was tampered with.

    :param seq: the number of the first row that could not be verified
    """

    def __init__(self, seq: int, sentence: str) -> None:
        super().__init__(sentence)
        self.seq = seq
        self.sentence = sentence


class Entry(NamedTuple):
    """An event to record."""

    event: str
    actor: str
    data: Mapping[str, Any] = {}


def append(
    connection: Connection,
    event: str,
    *,
    at: datetime,
    actor: str,
    request_id: str | None = None,
    data: Mapping[str, Any] | None = None,
) -> AuditRow:
    """Append a row, as `append_all` does."""
    (row,) = append_all(connection, [Entry(event, actor, data or {})], at=at, request_id=request_id)
    return row


def append_all(
    connection: Connection, entries: Sequence[Entry], *, at: datetime, request_id: str | None = None
) -> list[AuditRow]:
    """Append rows. All other writers then wait until the transaction ends, so call this last.

    :raises ValueError: if `at` lacks a time zone, or a key looks like the name of a secret
    """
    for entry in entries:
        _refuse_secrets(entry.data)
    if at.tzinfo is None:
        raise ValueError("the time must be timezone-aware")
    written = at.astimezone(UTC).isoformat(timespec="microseconds")
    # The lock on this row serializes all writers.
    head = select(audit_head.c.seq, audit_head.c.hash).with_for_update()
    seq, last = connection.execute(head).one()
    appended = []
    for event, actor, data in entries:
        seq += 1
        row = AuditRow(seq, written, actor, event, request_id, dict(data), last, "")
        last = _hash(row)
        appended.append(row._replace(hash=last))
    connection.execute(insert(table).values([_values(row) for row in appended]))
    # A trigger ensures that the recorded end advances row by row.
    ends = [{"seq": row.seq, "hash": row.hash} for row in appended]
    connection.execute(
        update(audit_head).values(seq=bindparam("seq"), hash=bindparam("hash")), ends
    )
    return appended


def rows(
    connection: Connection, *, after: int = 0, limit: int = PAGE, request_id: str | None = None
) -> list[AuditRow]:
    """Return up to `limit` rows after row `after`, in order."""
    wanted = _page(after, limit)
    if request_id is not None:
        wanted = wanted.where(table.c.request == request_id)
    return [_row(raw) for raw in connection.execute(wanted)]


def verify(connection: Connection) -> Verified:
    """Verify all rows and the hash chain, within one snapshot of the database.

    :raises Tampered: if a row was edited, inserted, moved or removed, including at the end
    """
    count, last = 0, START
    # Rows before the first one are wrong as well.
    page = connection.execute(select(table).order_by(table.c.seq).limit(PAGE)).all()
    while page:
        for raw in page:
            count += 1
            if raw.seq != count:
                raise Tampered(count, f"The audit has row {raw.seq} in place of row {count}.")
            try:
                row = _row(raw)
                unchanged = raw.data == _canonical(row.data) and row.prev_hash == last
                unchanged = unchanged and row.hash == _hash(row)
            except (TypeError, ValueError):  # a value has the wrong type or is not JSON
                unchanged = False
            if not unchanged:
                text = f"Row {count} of the audit, or the one before it, was changed."
                raise Tampered(count, text)
            last = row.hash
        page = connection.execute(_page(count)).all()
    head = connection.execute(select(audit_head.c.seq, audit_head.c.hash)).one_or_none()
    if head is None or tuple(head) != (count, last):
        text = (
            f"The recorded end of the audit does not match row {count}: rows at the end, or the "
            "recorded end itself, were changed."
        )
        raise Tampered(count + 1, text)
    return Verified(count, last)


def verify_lines(connection: Connection, lines: Iterable[str]) -> Verified:
    """Verify the audit in the database, and compare the streamed lines with it.

    The lines may begin with any row, for example after a log rotation, and may repeat rows after a
    crash. The database may contain rows that have not been streamed yet.

    :returns: the number and the hash of the last streamed row
    :raises Tampered: if a line differs from its row, lines are missing, or `verify` fails. Its
        sentences describe all differences, each on a line of its own.
    """
    wrong: list[Tampered] = []
    try:
        verify(connection)
    except Tampered as tampered:
        wrong.append(tampered)
    last, page = 0, {}
    for number, line in enumerate(lines, 1):
        try:
            seq = int(json.loads(line)["seq"])
        except (TypeError, ValueError, KeyError):
            wrong.append(Tampered(1, f"Line {number} is not a row of the audit."))
            continue
        if seq not in page:
            page = {row.seq: row for row in _readable_rows(connection, after=seq - 1)}
        row = page.get(seq)
        if row is None or row.line() != line.rstrip("\r\n"):
            wrong.append(Tampered(seq, f"Row {seq} in the database differs from line {number}."))
        if row is not None:
            if last and seq > last + 1:
                which = (
                    f"Row {last + 1} is" if seq == last + 2 else f"Rows {last + 1} to {seq - 1} are"
                )
                wrong.append(Tampered(last + 1, f"{which} missing before line {number}."))
            last = max(last, seq)
    if wrong:
        raise Tampered(wrong[0].seq, "\n".join(one.sentence for one in wrong))
    return Verified(last, _hash_of(connection, last))


def stream(database: Database, write: Callable[[str], None]) -> int:
    """Write all rows not yet streamed, one JSON line each, and return their number.

    Rows are written in order and at least once. After a crash, some rows may be written again.
    """
    written = 0
    cursor = audit_cursor.c.seq
    while page := database.read(lambda c: rows(c, after=c.scalars(select(cursor)).one())):
        for row in page:
            write(row.line())
        # Never move the cursor back: another replica may have streamed more rows.
        advance = update(audit_cursor).where(cursor < page[-1].seq).values(seq=page[-1].seq)
        database.write(partial(Connection.execute, statement=advance))
        written += len(page)
    return written


def _readable_rows(connection: Connection, *, after: int) -> Iterator[AuditRow]:
    """Yield up to `PAGE` rows after row `after`, except those whose data is not JSON."""
    for raw in connection.execute(_page(after)):
        with suppress(TypeError, ValueError):
            yield _row(raw)


def _page(after: int, limit: int = PAGE) -> Select[Any]:
    return select(table).where(table.c.seq > after).order_by(table.c.seq).limit(limit)


def _hash_of(connection: Connection, seq: int) -> str:
    found = connection.scalar(select(table.c.hash).where(table.c.seq == seq))
    return START if found is None else found


def _values(row: AuditRow) -> dict[str, Any]:
    """Return the columns of a row. This reverses `_row`."""
    values = row._asdict() | {"data": _canonical(row.data)}
    values["request"] = values.pop("request_id")
    return values


def _row(raw: Row[Any]) -> AuditRow:
    return AuditRow._make((*raw[:5], json.loads(raw.data), *raw[6:]))


def _hash(row: AuditRow) -> str:
    fields = row._asdict()
    hashed = {name: fields[name] for name in fields if name not in ("prev_hash", "hash")}
    return hashlib.sha256((row.prev_hash + _canonical(hashed)).encode("ascii")).hexdigest()


def _canonical(data: Any) -> str:
    return json.dumps(
        data, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def _refuse_secrets(data: Any) -> None:
    if isinstance(data, Mapping):
        for key, value in data.items():
            if _SECRET.search(str(key)):
                raise ValueError(f"the audit must not contain secrets such as {key}")
            _refuse_secrets(value)
    elif isinstance(data, list | tuple):
        for value in data:
            _refuse_secrets(value)
