# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Postfix's maps of domains and mailboxes match the database, or are empty."""

from __future__ import annotations

import contextlib
import fcntl
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import lmdb
import psycopg
import pytest

from ansible_collections.postroom.email.tests.mail_host.host import (
    Daemon,
    MailHost,
    mail_host,
    make_daemon,
    running_daemon,
    wait,
)
from ansible_collections.postroom.email.tests.service.api import unused_domain
from ansible_collections.postroom.email.tests.support import system_programs
from postroom_service.mail_host import lmdb_files


def read(folder: Path, name: str = lmdb_files.MAILBOXES) -> dict[str, str]:
    """Return the contents of a map, read while no process is changing it."""
    path = folder / f"{name}.lmdb"
    with (
        lmdb_files.locked(path),
        lmdb.open(str(path), subdir=False, lock=False, readonly=True) as environment,
        environment.begin() as transaction,
    ):
        return {
            bytes(key).rstrip(b"\0").decode(): bytes(value).rstrip(b"\0").decode()
            for key, value in transaction.cursor()
        }


def test_changes_and_lookups_exclude_each_other(tmp_path: Path) -> None:
    """Changes and lookups wait for each other, because both lock the file."""
    lmdb_files.create(tmp_path, lmdb_files.DOMAINS)
    path = tmp_path / "domains.lmdb"
    with path.open("rb") as reader:
        with lmdb_files.locked(path):
            # lmdb opens and closes the file. This must not release the lock.
            lmdb.open(str(path), subdir=False, lock=False).close()
            with pytest.raises(BlockingIOError):
                fcntl.lockf(reader, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.lockf(reader, fcntl.LOCK_SH)
        change = threading.Thread(
            target=lmdb_files.change, args=(tmp_path, lmdb_files.DOMAINS, {"a.example": "a"})
        )
        change.start()
        change.join(0.5)
        assert change.is_alive()
        fcntl.lockf(reader, fcntl.LOCK_UN)
        change.join()
    assert read(tmp_path, lmdb_files.DOMAINS) == {"a.example": "a"}


@pytest.fixture(scope="module")
def maps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a directory for the maps."""
    return tmp_path_factory.mktemp("maps")


@pytest.fixture(scope="module")
def host(database: str, maps: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MailHost]:
    """Run a mail host with maps."""
    with mail_host(tmp_path_factory.mktemp("host"), database, f"--maps={maps}") as running:
        yield running


def mailbox(host: MailHost) -> str:
    """Create a mailbox on a new verified domain, and return its name."""
    return host.api.mailbox(f"ann@{host.domain(unused_domain())}")


def filled(daemon: Daemon) -> bool:
    """Return whether the daemon has filled the maps."""
    return daemon.metrics()["postroom_mail_maps_filled"] == 1


def test_each_change_is_followed(host: MailHost, maps: Path) -> None:
    """The maps follow every added, moved or removed address and every change to a domain."""
    ann, bob = mailbox(host), mailbox(host)
    alias = ann.replace("ann@", "sales@")
    wait(lambda: read(maps).get(bob) == bob)
    host.api.patch(ann, emails=[ann, alias])
    wait(lambda: read(maps).get(alias) == ann)
    host.api.patch(ann, emails=[ann])
    host.api.patch(bob, emails=[bob, alias])
    wait(lambda: read(maps).get(alias) == bob)
    domain = ann.partition("@")[2]
    assert read(maps, lmdb_files.DOMAINS)[domain] == domain
    host.sql(
        "UPDATE dkim_key SET verified_at = NULL WHERE principal_id ="
        " (SELECT id FROM principal WHERE name = %s)",
        domain,
    )
    wait(lambda: domain not in read(maps, lmdb_files.DOMAINS))
    wait(lambda: not {ann, alias} & read(maps).keys())
    host.api.delete(bob.partition("@")[2])
    wait(lambda: bob not in read(maps))
    wait(lambda: bob.partition("@")[2] not in read(maps, lmdb_files.DOMAINS))


def test_a_verification_writes_one_domain(host: MailHost, maps: Path) -> None:
    """Verifying a domain writes only its own addresses and those of its mailboxes."""
    kept = mailbox(host)
    new = host.api.mailbox(f"ann@{host.domain(unused_domain(), verified=False)}")
    # Each mailbox has an alias on the other mailbox's domain.
    host.api.patch(kept, emails=[kept, f"x{new}"])
    host.api.patch(new, emails=[new, f"x{kept}"])
    wait(lambda: kept in read(maps))
    lmdb_files.change(maps, lmdb_files.MAILBOXES, {"mark@example.com": "mark"})
    for verified_at in (1, None):
        host.sql(
            "UPDATE dkim_key SET verified_at = %s WHERE principal_id ="
            " (SELECT id FROM principal WHERE name = %s)",
            verified_at,
            new.partition("@")[2],
        )
        affected = {new: new, f"x{kept}": new, f"x{new}": kept} if verified_at else {}
        expected = affected | {kept: kept, "mark@example.com": "mark"}
        watched = {new, kept, f"x{kept}", f"x{new}", "mark@example.com"}
        wait(
            lambda watched=watched, expected=expected: (  # type: ignore[misc]
                {key: value for key, value in read(maps).items() if key in watched} == expected
            )
        )
    lmdb_files.change(maps, lmdb_files.MAILBOXES, {"mark@example.com": None})


def test_a_large_change_is_written_in_parts(host: MailHost, maps: Path) -> None:
    """A large change is written completely, and so are later changes."""
    name, after = mailbox(host), mailbox(host)
    many = [f"u{number}@{name.partition('@')[2]}" for number in range(6000)]
    [ids] = host.sql("SELECT id, domain_id FROM principal WHERE name = %s", name)
    insert = "INSERT INTO address SELECT unnest(%s::text[]), %s, %s, 1"
    host.sql(insert, many, *ids)
    wait(lambda: read(maps).keys() >= {*many})
    host.api.delete(name.partition("@")[2])
    host.api.patch(after, emails=[after, f"x{after}"])
    wait(lambda: f"x{after}" in read(maps))
    wait(lambda: not {name, *many} & read(maps).keys())


def test_a_sweep_does_not_delay_changes(host: MailHost, tmp_path: Path) -> None:
    """A sweep that waits for a lock does not delay a change."""
    name = mailbox(host)
    alias = f"x{name}"
    host.api.patch(name, emails=[name, alias])
    waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND usename = %s"
    with psycopg.connect(host.url) as blocking:
        blocking.execute("LOCK TABLE mail.placements IN ACCESS EXCLUSIVE MODE")
        with running_daemon(tmp_path, host.service, f"--maps={tmp_path}"):
            wait(lambda: host.sql(waiting, "postroom-mail"))
            wait(lambda: alias in read(tmp_path))
            host.api.patch(name, emails=[name])
            wait(lambda: alias not in read(tmp_path))
            assert name in read(tmp_path)
            blocking.rollback()


def test_postfix_reads_the_maps(host: MailHost, maps: Path, tmp_path: Path) -> None:
    """Postfix finds entries in the maps regardless of the case of the address."""
    postmap = system_programs.require("postmap")
    name = mailbox(host)
    wait(lambda: name in read(maps))
    (tmp_path / "main.cf").touch()
    domain = name.partition("@")[2]
    for table, key, value in (
        (lmdb_files.MAILBOXES, name.upper(), name),
        (lmdb_files.DOMAINS, domain, domain),
        (lmdb_files.MAILBOXES, "nobody@example.invalid", ""),
    ):
        command = [postmap, "-c", str(tmp_path), "-q", key, f"lmdb:{maps}/{table}"]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        assert found.stdout.strip() == value, found.stderr


def test_a_map_that_cannot_be_emptied_is_replaced(tmp_path: Path) -> None:
    """A map that can't be emptied is replaced or removed, so that Postfix defers mail."""
    lmdb_files.clear(tmp_path)
    mailboxes = tmp_path / "mailboxes.lmdb"
    for is_blocked in (False, True):
        lmdb_files.change(tmp_path, lmdb_files.DOMAINS, {"x": "y"})
        mailboxes.write_bytes(b"x" * 20_000)
        if is_blocked:
            (tmp_path / "mailboxes.new").mkdir()  # so that no new map can be created
        with pytest.raises(OSError, match="mailboxes") if is_blocked else contextlib.nullcontext():
            lmdb_files.clear(tmp_path)
        assert read(tmp_path, lmdb_files.DOMAINS) == {}
        assert not mailboxes.exists() if is_blocked else read(tmp_path) == {}


def test_a_reader_that_keeps_its_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that keeps its lock blocks changes, but does not keep a map from being emptied."""
    lmdb_files.clear(tmp_path)
    lmdb_files.change(tmp_path, lmdb_files.MAILBOXES, {"x": "y"})
    monkeypatch.setattr(lmdb_files, "LOCK_TIMEOUT", 0.2)
    code = (
        "import fcntl, sys; file = open(sys.argv[1]); fcntl.lockf(file, fcntl.LOCK_SH);"
        "print('locked', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "mailboxes.lmdb")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as reader:
        assert reader.stdout is not None
        reader.stdout.readline()
        with pytest.raises(BlockingIOError):
            lmdb_files.change(tmp_path, lmdb_files.MAILBOXES, {"z": "y"})
        lmdb_files.clear(tmp_path)
        reader.communicate()
    assert read(tmp_path) == {}


def test_the_supervisor_hears_from_the_daemon(host: MailHost, tmp_path: Path) -> None:
    """The daemon regularly notifies its supervisor, as systemd's watchdog requires."""
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.bind(address)
        supervisor.settimeout(60)
        watched = {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "300000"}
        with running_daemon(tmp_path, host.service, environment=watched):
            assert [supervisor.recv(100) for _ in range(3)] == [b"WATCHDOG=1"] * 3


def test_unreadable_notifications_are_ignored(host: MailHost, maps: Path) -> None:
    """Malformed notifications are ignored, because any database role can send them."""
    for payload in ("[" * 7000, '{"a":' * 1500, "{}", "null", '{"domain": 7}', '{"address": "no"}'):
        host.sql("SELECT pg_notify('postroom_mail', %s)", payload, role="dovecot")
    name = mailbox(host)
    wait(lambda: name in read(maps))
    assert host.daemon.log().count("a notification can't be read") >= 5


def test_maps_that_cannot_be_written_are_emptied_and_filled_later(
    host: MailHost, tmp_path: Path
) -> None:
    """Maps that can't be written are emptied, and filled again as soon as they can be written."""
    with running_daemon(tmp_path, host.service, f"--maps={tmp_path}") as daemon:
        name = mailbox(host)
        wait(lambda: name in read(tmp_path))
        domains = tmp_path / "domains.lmdb"
        domains.unlink()
        domains.mkdir()
        host.domain(unused_domain())
        wait(lambda: not filled(daemon) and read(tmp_path) == {})
        assert daemon.health() == 200
        assert daemon.metrics()["postroom_mail_listening"] == 1
        domains.rmdir()
        wait(lambda: filled(daemon))
        assert name in read(tmp_path)


def test_damaged_maps_are_replaced_at_the_start(host: MailHost, tmp_path: Path) -> None:
    """The daemon replaces damaged maps when it starts."""
    for name in lmdb_files.NAMES:
        (tmp_path / f"{name}.lmdb").write_bytes(b"\xff" * 10_000)
    with running_daemon(tmp_path, host.service, f"--maps={tmp_path}") as daemon:
        wait(lambda: filled(daemon))
        assert read(tmp_path).keys() == {
            address for (address,) in host.sql("SELECT address FROM mail.mailboxes")
        }
    assert read(tmp_path) == read(tmp_path, lmdb_files.DOMAINS) == {}


def test_a_killed_daemon_leaves_maps_that_the_supervisor_empties(
    host: MailHost, tmp_path: Path
) -> None:
    """If the daemon is killed, the supervisor empties the maps."""
    daemon = make_daemon(tmp_path, host.service, f"--maps={tmp_path}")
    wait(lambda: filled(daemon))
    daemon.kill()
    (tmp_path / "domains.lmdb").unlink()
    command = [sys.executable, "-m", "postroom_service.mail_host.lmdb_files", str(tmp_path)]
    subprocess.run(command, env=host.service.environment, check=True)
    assert read(tmp_path) == read(tmp_path, lmdb_files.DOMAINS) == {}


class Tunnel:
    """A TCP proxy for PostgreSQL's Unix socket that can stop forwarding data."""

    def __init__(self, url: str) -> None:
        query = parse_qs(urlsplit(url).query)
        self._target = f"{query['host'][0]}/.s.PGSQL.{query.get('port', ['5432'])[0]}"
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._passing = threading.Event()
        self._passing.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Stop accepting connections."""
        self._passing.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def stop(self) -> None:
        """Keep the connections open, but stop forwarding."""
        self._passing.clear()

    def resume(self) -> None:
        """Resume forwarding."""
        self._passing.set()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:  # the connection was closed
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._target)
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=self._copy, args=(source, target), daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        with source, contextlib.suppress(OSError):
            while data := source.recv(65536):
                self._passing.wait()
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


def test_a_database_that_falls_silent_empties_the_maps(host: MailHost, tmp_path: Path) -> None:
    """If the database stops responding on an open connection, the maps are emptied."""
    path = urlsplit(host.url).path
    with (
        contextlib.closing(Tunnel(host.url)) as tunnel,
        running_daemon(
            tmp_path,
            host.service,
            f"--database=postgresql://postroom-mail@127.0.0.1:{tunnel.port}{path}",
            f"--maps={tmp_path}",
        ) as daemon,
    ):
        name = mailbox(host)
        wait(lambda: name in read(tmp_path))
        tunnel.stop()
        host.api.delete(name)
        wait(lambda: read(tmp_path) == read(tmp_path, lmdb_files.DOMAINS) == {})
        tunnel.resume()
        wait(lambda: filled(daemon))
        assert name not in read(tmp_path)


def test_a_restart_is_clean(host: MailHost, tmp_path: Path) -> None:
    """The daemon empties the maps on SIGTERM."""
    daemon = make_daemon(tmp_path, host.service, f"--maps={tmp_path}")
    wait(lambda: filled(daemon))
    daemon.process.send_signal(signal.SIGTERM)
    assert daemon.process.wait(60) == 0
    assert read(tmp_path) == read(tmp_path, lmdb_files.DOMAINS) == {}
