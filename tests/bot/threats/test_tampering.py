# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Somebody with the database in their hands: the audit edited, and a second bot beside the first.

Each attack is on a copy of the running bot's database.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.bot.threats.scene import APPROVE, Scene
from ansible_collections.postroom.email.tests.support.bot import PREFIX, BotError, running_bot

Attack = Callable[[sqlite3.Connection], object]
_CUT = "DELETE FROM audit WHERE seq = (SELECT max(seq) FROM audit)"
_INSERTED = (
    "INSERT INTO audit SELECT seq + 1, at, actor, event, request, data, hash, hash FROM audit"
    " ORDER BY seq DESC LIMIT 1"
)


@pytest.fixture(scope="module")
def copy(scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a copy of the bot's database, after a request was carried out."""
    alice, bob = scene.hire(), scene.hire(approves=True)
    asked = scene.ask(alice, f"alias add {scene.fresh()}")
    bob.press(asked.card, APPROVE)
    scene.comes_to(asked.id, "done")
    streamed = scene.until(lambda: _rows(Path(scene.bot.database)))
    scene.until(lambda: _streamed(scene) >= streamed)
    path = tmp_path_factory.mktemp("copy") / "bot.sqlite3"
    with closing(sqlite3.connect(scene.bot.database)) as own, closing(sqlite3.connect(path)) as to:
        own.backup(to)
    return path


@pytest.fixture
def stolen(copy: Path, tmp_path: Path) -> Path:
    """Give a copy for one attack."""
    path = tmp_path / "bot.sqlite3"
    path.write_bytes(copy.read_bytes())
    return path


def _rows(database: Path) -> int:
    with closing(sqlite3.connect(database)) as connection:
        (count,) = connection.execute("SELECT count(*) FROM audit").fetchone()
    return int(count)


def _streamed(scene: Scene) -> int:
    lines = scene.audit_lines.read_text("utf-8").splitlines()
    return int(json.loads(lines[-1])["seq"]) if lines else 0


def _verify(scene: Scene, database: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Run the operator's command over another database."""
    own = scene.bot.environment
    scene.bot.environment = {**own, f"{PREFIX}DATABASE": str(database)}
    try:
        return scene.bot.command("audit", "verify", *more)
    finally:
        scene.bot.environment = own


def _without_triggers(database: Path, attack: Attack) -> None:
    """Do what somebody does who owns the file: away with the triggers, then the attack."""
    with closing(sqlite3.connect(database)) as connection, connection:
        triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        for (name,) in triggers.fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        attack(connection)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit SET actor = 'U00000000'",
        "UPDATE audit SET data = '{}' WHERE seq = 1",
        "DELETE FROM audit",
        _CUT,
    ],
)
def test_the_database_itself_refuses(stolen: Path, statement: str) -> None:
    """A plain edit or deletion does not get past the triggers."""
    with (
        closing(sqlite3.connect(stolen)) as connection,
        pytest.raises(sqlite3.DatabaseError, match="audit"),
    ):
        connection.execute(statement)


EDITS = {
    "updated": ("UPDATE audit SET actor = 'U00000000' WHERE seq = 2", "Row 2 of the audit"),
    "words": ("UPDATE audit SET data = '{}' WHERE seq = 3", "Row 3 of the audit"),
    "deleted": ("DELETE FROM audit WHERE seq = 2", "Row 3 of the audit stands where row 2 has to."),
    "cut": (_CUT, "The audit does not end where it did"),
    "inserted": (_INSERTED, "was changed."),
    "emptied": ("DELETE FROM audit", "The audit does not end where it did"),
}


@pytest.mark.parametrize(("statement", "says"), EDITS.values(), ids=EDITS)
def test_an_edited_audit_is_told(scene: Scene, stolen: Path, statement: str, says: str) -> None:
    """The command ends with status 1 and a sentence that names the row."""
    _without_triggers(stolen, lambda connection: connection.execute(statement))
    told = _verify(scene, stolen)
    assert told.returncode == 1
    assert says in told.stdout
    assert told.stderr == ""


def _written_anew(connection: sqlite3.Connection) -> None:
    """Change one row's actor, and write all hashes from there to the end as they would be."""
    connection.execute("UPDATE audit SET actor = 'U00000000' WHERE seq = 2")
    last = "0" * 64
    for row in connection.execute("SELECT * FROM audit ORDER BY seq").fetchall():
        names = ("seq", "at", "actor", "event", "request_id")
        told = {**dict(zip(names, row, strict=False)), "data": json.loads(row[5])}
        text = json.dumps(told, sort_keys=True, separators=(",", ":"))
        fresh = hashlib.sha256((last + text).encode()).hexdigest()
        change = "UPDATE audit SET prev_hash = ?, hash = ? WHERE seq = ?"
        connection.execute(change, (last, fresh, row[0]))
        last = fresh
    connection.execute("UPDATE audit_head SET hash = ?", (last,))


def test_a_chain_that_was_written_anew_is_found_in_the_lines(scene: Scene, stolen: Path) -> None:
    """Whoever makes all hashes right again has not got the lines that were streamed elsewhere."""
    lines = ("--lines", str(scene.audit_lines))
    assert _verify(scene, stolen, *lines).returncode == 0
    _without_triggers(stolen, _written_anew)
    assert _verify(scene, stolen).returncode == 0
    told = _verify(scene, stolen, *lines)
    assert told.returncode == 1
    assert "Row 2 in the database is not the one in line 2." in told.stdout


def test_a_second_bot_on_the_same_file_does_not_start(scene: Scene, tmp_path: Path) -> None:
    """It would take the same requests; it says what to do and leaves the first one alone."""
    second = running_bot(
        tmp_path,
        scene.slack,
        scene.mail,
        scene.policy,
        mode="http",
        database=scene.bot.database,
    )
    with pytest.raises(BotError, match=r"another bot uses .* needs PostgreSQL"), second:
        pass
    assert scene.bot.readiness()[0] == 200
    assert scene.hire().command("/email help").ok
