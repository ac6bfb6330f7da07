# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Acknowledged writes survive with every kind of database, and the service stops cleanly."""

from __future__ import annotations

import contextlib
import json
import signal
import sqlite3
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest
from sqlalchemy import text

from ansible_collections.postroom.email.tests.mail.client import (
    PARTNER,
    MailServer,
    is_signed,
    mail_server,
    message,
)
from ansible_collections.postroom.email.tests.service.api import (
    Api,
    check_problem,
    mailbox_body,
)
from ansible_collections.postroom.email.tests.support.postgresql import (
    binaries,
    cluster,
    fresh_database,
    stoppable_cluster,
)
from ansible_collections.postroom.email.tests.support.service import (
    RunningService,
    ServiceError,
    running_service,
)
from postroom_common.database import Database, DatabaseError, has_password
from postroom_service import auth
from postroom_service.cli import main
from postroom_service.store import SCHEMA

MEMORY = ["memory", ":memory:", "sqlite://", "sqlite:///", "sqlite+pysqlite:///:memory:"]
REFUSED = {
    "file::memory:?cache=shared": "a file or a URL",
    "sqlite:///file:x?mode=memory&uri=true": "a host or options",
    "sqlite:///:memory:?cache=shared": "a host or options",
    "sqlite://host/x": "a host or options",
    "postgresql+asyncpg:///x": "unsupported database postgresql",
    "sqlite+aiosqlite:///x": "unsupported database sqlite",
    "postgresql://h:port/x": "a file or a URL",
}
RACERS = 8
#: The two tokens in each dump of the first release's database. The second token is revoked.
TOKENS = {
    "sqlite": (
        "postroom_4s3rf6ZP3NgKcfnq_5qrmVJS7z6qN0r_C2T6deJGStQ",
        "postroom_iovrQ6ir0Jtce_kSdd32bkYL6q4XrWPwrwOlbJRkrFw",
    ),
    "postgresql": (
        "postroom_9ZXfyyeqwKGDHpV_5U_4WKsGdCDLqKbl27bex7H6oUg",
        "postroom_EiZ_OseEr-k8F2lpD5TJfIpLy3WtDAlizCjikWJMDc0",
    ),
}
KEPT = [
    *("SELECT * FROM address", "SELECT * FROM member", "SELECT * FROM principal"),
    *("SELECT * FROM secret", "SELECT * FROM tenant", "SELECT * FROM token"),
    "SELECT principal_id, private_pem, public_base64 FROM dkim_key",
]


def answered_writes(service: RunningService, kill_after: int) -> set[str]:
    """Write from several threads, kill the service, and return the acknowledged writes."""
    answered: set[str] = set()
    enough = threading.Event()
    with Api(service.url, service.token) as api:
        domain = api.domain()

    def write(worker: int) -> None:
        with Api(service.url, service.token) as api, contextlib.suppress(httpx.TransportError):
            for n in range(10_000):
                answered.add(api.mailbox(f"u{worker}-{n}@{domain}", f"a{worker}-{n}@{domain}"))
                if len(answered) >= kill_after:
                    enough.set()

    with ThreadPoolExecutor(4) as pool:
        for worker in range(4):
            pool.submit(write, worker)
        assert enough.wait(60)
        service.kill()
    return answered


@pytest.mark.parametrize("backend", ["file", pytest.param("postgresql", marks=pytest.mark.full)])
def test_a_kill_loses_nothing_that_was_answered(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """After kill -9 during writes, every acknowledged write is present and complete."""
    database = request.getfixturevalue("postgresql_url") if backend == "postgresql" else None
    tenant = f"kill-{backend}"
    with running_service(tmp_path, database=database, tenant=tenant) as service:
        answered = answered_writes(service, kill_after=60)
    with (
        running_service(tmp_path, database=database, tenant=tenant) as service,
        Api(service.url, service.token) as api,
    ):
        found = {box["name"]: box for box in api.listing(type="individual")}
        assert answered <= set(found)
        assert all(len(box["emails"]) == 2 for box in found.values())
        # At most one write per client was in progress.
        assert len(found) <= len(answered) + 4


def test_a_restart_keeps_everything(tmp_path: Path) -> None:
    """Principals, records and tokens survive a restart. Only the owner can read the files."""
    database = tmp_path / "service.sqlite3"
    database.touch(0o644)
    with running_service(tmp_path) as service:
        token = service.token
        with Api(service.url, token) as api:
            domain = api.domain()
            api.mailbox(f"ann@{domain}", f"a@{domain}")
            before = (api.listing(), api.dns(domain).json())
        ready = json.loads((tmp_path / "ready.json").read_text())
        assert ready == {"url": service.url, "pid": service.pid}
        paths = {path.name: path for path in tmp_path.glob("[rst]*") if path.suffix != ".log"}
        companions = {f"{database.name}{end}" for end in ("", "-wal", "-shm")}
        assert companions | {"ready.json", "token"} == set(paths)
        assert {stat.S_IMODE(path.stat().st_mode) for path in paths.values()} == {0o600}
    with running_service(tmp_path) as service, Api(service.url, token) as api:
        assert (api.listing(), api.dns(domain).json()) == before


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.full)]
)
def test_a_stop_lets_requests_finish(tmp_path: Path, number: signal.Signals) -> None:
    """A request in progress is completed before the service stops with status 0."""
    with running_service(tmp_path, faults="latency=1s,methods=POST") as service:
        connection = HTTPConnection(urlsplit(service.url).netloc, timeout=60)
        headers = {"Authorization": f"Bearer {service.token}", "Content-Type": "application/json"}
        body = '{"name": "example.com", "type": "domain"}'
        connection.request("POST", "/api/principal", body, headers)
        # A later request on another connection has been answered, so this request has arrived.
        with Api(service.url, service.token) as api:
            assert api.listing() == []
        service.process.send_signal(number)
        assert connection.getresponse().status == 201
        connection.close()
        assert service.process.wait(60) == 0
        assert not (tmp_path / "ready.json").exists()


def load_first_release(kind: str, url: str) -> None:
    """Load a dump of a database from the first release."""
    dump = Path(__file__).with_name(f"first_release_{kind}.sql").read_text(encoding="utf-8")
    if kind == "postgresql":
        with psycopg.connect(url) as server:
            server.execute(dump.encode())
    else:
        with contextlib.closing(sqlite3.connect(url)) as file:
            file.executescript(dump)


def stored(url: str) -> list[set[tuple[object, ...]]]:
    """Return a database's rows in the tables and columns of the first release."""
    with contextlib.closing(Database(url)) as database:
        return database.read(
            lambda connection: [
                {tuple(row) for row in connection.execute(text(query))} for query in KEPT
            ]
        )


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.full)])
def test_a_database_of_the_first_release_is_migrated(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """All rows of a first-release database are migrated.

    On PostgreSQL, this requires an explicit command.
    """
    with contextlib.ExitStack() as stack:
        database = str(tmp_path / "service.sqlite3")
        if kind == "postgresql":
            cluster_url = request.getfixturevalue("postgresql_url")
            database = stack.enter_context(fresh_database(cluster_url))
        load_first_release(kind, database)
        before = stored(database)
        if kind == "postgresql":
            start = running_service(tmp_path, database=database)
            with pytest.raises(ServiceError, match="postroom-service migrate"), start:
                pass
            assert stored(database) == before
            for _ in range(2):
                assert main(["migrate", "--database", database]) == 0
        mail = stack.enter_context(mail_server(tmp_path, populate=False, database=database))
        # Starting the service adds a tenant and a token.
        assert all(old <= new for old, new in zip(before, stored(database), strict=True))
        token, revoked = TOKENS[kind]
        with Api(mail.service.url, revoked) as api:
            check_problem(api.call("GET", "/api/principal"), 401, "token_invalid")
        check_first_release(mail, stack.enter_context(Api(mail.service.url, token)))


def check_first_release(mail: MailServer, api: Api) -> None:
    """Check that the migrated principals, secrets and keys can be used."""
    assert api.listing() == [
        {"id": "example.com", "name": "example.com", "type": "domain"},
        individual("ann", ["ann", "sales"]),
        individual("a%b", ["a%b"]),
        individual("team", ["team"], members=["ann@example.com", "desk@partner.example"]),
    ]
    ann, old = "ann@example.com", "a%b@example.com"
    for name, secret in ((ann, "first"), (ann, "zweites ü"), (old, "third")):
        assert mail.inbox(name, secret) == []
    with mail.submit(ann, "first") as client:
        client.send_message(message(ann, PARTNER))
    assert is_signed(mail.outbox()[-1], api.dns("example.com").json(), "example.com")
    assert api.patch(old, emails=[old, "b@example.com"]).status_code == 200
    check_problem(api.patch(old, emails=[old, "-b@example.com"]), 422, "local_part_has_hyphen")
    assert api.delete(old).status_code == 200
    api.mailbox("new@example.com", "b@example.com")


def individual(name: str, emails: list[str], **more: object) -> dict[str, object]:
    """Return a principal on example.com."""
    full = f"{name}@example.com"
    emails = [f"{email}@example.com" for email in emails]
    return {"id": full, "name": full, "type": "individual", "emails": emails, **more}


def test_the_schema_of_a_newer_program_is_refused(tmp_path: Path) -> None:
    """A database with the schema of a newer version is refused and left unchanged."""
    with running_service(tmp_path):
        pass
    with sqlite3.connect(tmp_path / "service.sqlite3") as connection:
        connection.execute("UPDATE service_revision SET version_num = '9999'")
    connection.close()
    with pytest.raises(ServiceError, match="has schema 9999"), running_service(tmp_path):
        pass


@pytest.mark.full
def test_a_lost_database_is_reported(tmp_path: Path) -> None:
    """While PostgreSQL is down, the service answers every request with 503.

    It can still be stopped cleanly.
    """
    place = binaries()
    with contextlib.ExitStack() as stack:
        with cluster(place) as url:
            service = stack.enter_context(running_service(tmp_path, database=url))
            api = stack.enter_context(Api(service.url, service.token))
            api.domain()
        for path in ("/api/principal", "/healthz"):
            response = api.call("GET", path)
            check_problem(response, 503, "store_unavailable")
            assert response.headers["Retry-After"] == "1"
        creation = api.create({"name": "b.example", "type": "domain"})
        check_problem(creation, 503, "store_unavailable")


def test_a_locked_database_blocks_no_other_requests(file_service: RunningService) -> None:
    """A write that waits for a database lock does not block other requests."""
    lock = sqlite3.connect(file_service.database, isolation_level=None)
    with Api(file_service.url, file_service.token) as api, ThreadPoolExecutor(1) as pool:
        lock.execute("BEGIN IMMEDIATE")
        creation = pool.submit(api.create, {"name": "example.com", "type": "domain"})
        # More than the number of threads in a default thread pool.
        statuses = {api.call("GET", "/api/principal").status_code for _ in range(100)}
        assert (statuses, creation.done()) == ({200}, False)
        lock.execute("ROLLBACK")
        assert creation.result().status_code == 201
    lock.close()


def test_a_failed_transaction_has_no_effect(file_service: RunningService) -> None:
    """A failed transaction has no effect, and its requests can be repeated."""
    with (
        contextlib.closing(sqlite3.connect(file_service.database, isolation_level=None)) as lock,
        Api(file_service.url, file_service.token) as api,
        ThreadPoolExecutor(4) as pool,
    ):
        domain = api.domain()
        bodies = [mailbox_body(f"u{n}@{domain}") for n in range(4)]
        lock.execute("BEGIN IMMEDIATE")
        creations = [pool.submit(api.create, body) for body in bodies]
        # Later reads have been answered, so the writes have arrived.
        assert {api.call("GET", "/api/principal").status_code for _ in range(100)} == {200}
        lock.execute("ALTER TABLE secret RENAME TO away")
        lock.execute("COMMIT")
        for creation in creations:
            check_problem(creation.result(), 503, "store_unavailable")
        lock.execute("ALTER TABLE away RENAME TO secret")
        assert api.listing(type="individual") == []
        assert {api.create(body).status_code for body in bodies} == {201}


@pytest.mark.parametrize("where", MEMORY)
def test_memory_has_several_spellings(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None of the spellings of an in-memory database creates a file."""
    monkeypatch.chdir(tmp_path)
    database = Database(where, memory=True)
    SCHEMA.migrate(database)
    assert database.write(lambda connection: auth.ensure_tenant(connection, "acme")) == 1
    database.close()
    assert database.is_memory
    assert not Database("postgresql://h/d").is_memory
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("where", "reason"), REFUSED.items())
def test_other_databases_are_refused(
    where: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unsupported databases are refused without creating a file."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DatabaseError, match=reason):
        Database(where, memory=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("postgresql://u:p@h/d", True),
        ("postgresql://u@h/d?password=p", True),
        ("postgresql://h/d?user=u&sslpassword=p", True),
        ("postgresql://u@h/d?connect_timeout=3", False),
        ("postgresql:///d?host=/run&passfile=/x", False),
        ("password=p", False),
        ("memory", False),
    ],
)
def test_a_password_is_found_wherever_a_url_has_it(where: str, expected: bool) -> None:
    """A password in a database URL is found in every place where a URL may contain one."""
    assert has_password(where) is expected


@pytest.mark.parametrize("backend", ["file", pytest.param("postgresql", marks=pytest.mark.full)])
def test_a_tenant_is_made_once(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """If a tenant is created several times concurrently, every attempt returns the same number."""
    file = str(tmp_path / "x.sqlite3")
    database = Database(file if backend == "file" else request.getfixturevalue("postgresql_url"))
    SCHEMA.migrate(database)
    barrier = threading.Barrier(RACERS)

    def make(name: str) -> int:
        barrier.wait()
        return database.write(lambda connection: auth.ensure_tenant(connection, name))

    with ThreadPoolExecutor(RACERS) as pool:
        for n in range(10):
            assert len(set(pool.map(make, [f"race-{backend}-{n}"] * RACERS))) == 1
    database.close()


def test_a_failing_database_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command reports a database error in one sentence, without a traceback or SQL."""
    file = tmp_path / "x.sqlite3"
    assert main(["token", "list", "--database", str(file)]) == 0
    with sqlite3.connect(file) as connection:
        connection.execute("DROP TABLE token")
    connection.close()
    capsys.readouterr()
    assert main(["token", "create", "--tenant", "x", "--database", str(file)]) == 2
    message = capsys.readouterr().err
    assert "(no such table: token)" in message
    assert message.count("\n") == 1


@pytest.mark.full
def test_the_service_does_not_wait_for_a_suspended_database(tmp_path: Path) -> None:
    """While PostgreSQL is silent, requests get the documented 503, and the service can stop."""
    place = binaries()
    with (
        stoppable_cluster(place) as server,
        running_service(tmp_path, database=server.url) as service,
        Api(service.url, service.token) as api,
        ThreadPoolExecutor(6) as pool,
    ):
        api.domain("example.com")
        for postmaster in (True, False):
            with server.suspended(postmaster=postmaster):
                paths = ["/healthz", *["/api/principal"] * 5]
                for answer in pool.map(lambda path: api.call("GET", path), paths):
                    # With a postmaster, the service gets a new connection.
                    if postmaster or answer.status_code != 200:
                        check_problem(answer, 503, "store_unavailable")
            assert api.get("example.com").status_code == 200
        with server.suspended():
            assert service.stop() == 0
