# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""``update_password: probe`` with an IMAP server whose responses are set by the tests."""

from __future__ import annotations

import base64
import contextlib
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ansible_collections.postroom.email.plugins.modules import email_mailbox, email_tenant
from ansible_collections.postroom.email.tests.fakes.mail_api.in_memory_service import (
    InMemoryService,
    domain,
    mailbox,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import (
    Reply,
    Request,
    ScriptedServer,
    json_reply,
)
from ansible_collections.postroom.email.tests.support.certificates import Authority
from ansible_collections.postroom.email.tests.support.clients import TOKEN, Serve
from ansible_collections.postroom.email.tests.support.modules import run_module

pytestmark = pytest.mark.matrix
PASSWORD, SECOND = "pw-8Kd'q\"-Zebra-\u00fc", "pw-2Lm%r7-Zebra"
ANN = "ann@example.com"
YES, NO = "{tag} OK welcome", "{tag} NO [AUTHENTICATIONFAILED] wrong"


class _Session(socketserver.BaseRequestHandler):
    server: ImapServer

    def handle(self) -> None:
        server = self.server
        with contextlib.suppress(OSError), server.tls.wrap_socket(self.request, True) as stream:
            stream.sendall(b"* OK ready\r\n")
            lines = stream.makefile("rb")
            for line in lines:
                tag, command = line.decode().split()[:2]
                answer = "* CAPABILITY IMAP4rev1 AUTH=PLAIN\r\n{tag} OK done"
                if command == "AUTHENTICATE":
                    stream.sendall(b"+ \r\n")
                    given = base64.b64decode(lines.readline()).decode()
                    answer = server.log_in(given)
                stream.sendall(answer.replace("{tag}", tag).encode() + b"\r\n")
                while answer.startswith("* OK"):  # The client closes the connection.
                    time.sleep(0.02)
                    stream.sendall(answer.encode() + b"\r\n")
                if answer.startswith("* BYE"):
                    return


class ImapServer(socketserver.ThreadingTCPServer):
    """An IMAP server that records user names and lets a function decide about each login."""

    daemon_threads = True

    def __init__(self, tls: ssl.SSLContext) -> None:
        super().__init__(("127.0.0.1", 0), _Session)
        self.tls = tls
        self.verdict: Callable[[str], str] = lambda name: YES
        self.names: list[str] = []

    def log_in(self, given: str) -> str:
        """Return the response to a login, which may contain parts of the request."""
        name, secret = given.split("\0")[1:]
        self.names.append(name)
        quoted = base64.b64encode(given.encode()).decode()
        answer = NO if secret != PASSWORD else self.verdict(name)
        return answer.replace("SECRETS", f"{secret} {quoted}")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Provide the authority for the server's certificate, which is for localhost."""
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def imap(authority: Authority) -> Iterator[ImapServer]:
    """Run an IMAP server."""
    with ImapServer(authority.serves("DNS:localhost")) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


Run = Callable[..., dict[str, Any]]


@pytest.fixture
def run(imap: ImapServer, authority: Authority) -> Run:
    """Provide a function that runs a module with ``probe`` and two passwords for Ann."""

    def run(server: ScriptedServer, *, check: bool = False, **options: Any) -> dict[str, Any]:
        main = email_tenant.main if "mailboxes" in options else email_mailbox.main
        given = {"name": ANN, "passwords": [PASSWORD, SECOND]} if "name" in options else {}
        where = {"imap_host": "localhost", "imap_port": imap.server_address[1]}
        access = {"api_url": server.url, "api_token": TOKEN, "ca_path": str(authority.path)}
        fixed = {**access, **where, "update_password": "probe"}
        result = run_module(main, {**fixed, **given, **options}, check=check, diff=True)
        result.pop("invocation", None)
        assert "Zebra" not in str(result)
        return result

    return run


def patches(server: ScriptedServer) -> dict[str, dict[str, Any]]:
    """Return the body of each PATCH, keyed by the local part of the name."""
    writes = [request for request in server.requests if request.method != "GET"]
    assert {request.method for request in writes} <= {"PATCH"}
    names = [request.target.rpartition("/")[2].partition("%40")[0] for request in writes]
    return {name: request.json for name, request in zip(names, writes, strict=True)}


@pytest.mark.parametrize("works", [True, False])
def test_the_first_password_decides(works: bool, imap: ImapServer, serve: Serve, run: Run) -> None:
    """The first password is tried once per mailbox. If the login fails, all passwords are set."""
    imap.verdict = lambda name: YES if works else NO
    server = serve(InMemoryService(None, domain("example.com"), mailbox(ANN)))
    options = {"name": ANN, "aliases": ["a@example.com"]}
    predicted = run(server, check=True, **options)
    assert server.writes == []
    assert run(server, **options, ca_path=None, validate_certs=False) == predicted
    assert imap.names == [ANN] * 2
    secrets = {} if works else {"secrets": [PASSWORD, SECOND]}
    assert patches(server)["ann"] == {"emails": [ANN, "a@example.com"], **secrets}
    assert ("passwords" in predicted["diff"][0]["after"]) is not works


#: The task's options, the response to the login, and an option that the message names.
UNDECIDED: list[tuple[dict[str, Any], str, str]] = [
    ({"ca_path": None}, YES, "ca_path"),
    ({"imap_host": "127.0.0.1"}, YES, "imap_host"),
    ({"imap_host": "a..b"}, YES, "imap_host"),
    ({"imap_port": 1}, YES, "imap_port"),
    ({"timeout": 2}, "* OK still checking", "timeout"),
    ({}, "{tag} NO [UNAVAILABLE] SECRETS", "[UNAVAILABLE]"),
    ({}, "{tag} NO SECRETS", "Run again"),
    ({}, "{tag} BAD [AUTHENTICATIONFAILED] SECRETS", "Run again"),
    ({}, "* BYE [AUTHENTICATIONFAILED] SECRETS\r\n{tag} NO bye", "Run again"),
    ({}, "SECRETS", "Run again"),
]


@pytest.mark.parametrize("number", range(len(UNDECIDED)))
def test_only_a_refused_password_is_a_no(
    number: int, imap: ImapServer, serve: Serve, run: Run
) -> None:
    """Only a refused login means that a password is wrong. Any other response is an error."""
    options, answer, word = UNDECIDED[number]
    imap.verdict = lambda name: answer
    server = serve(InMemoryService(None, domain("example.com"), mailbox(ANN)))
    new = [ANN, "new@example.com"]
    tenant = {"mailboxes": new, "passwords": dict.fromkeys(new, PASSWORD)}
    for module in ({"name": ANN}, tenant):
        result = run(server, **module, **options)
        assert (result["failed"], result["failure"]["code"]) == (True, "probe_failed")
        assert word in result["msg"]
        assert base64.b64encode(f"\0{ANN}\0{PASSWORD}".encode()).decode() not in result["msg"]
    assert server.writes == []


def test_a_silent_server_is_an_error(serve: Serve, run: Run) -> None:
    """If the server never responds, the task fails when its timeout expires."""
    server = serve(InMemoryService(None, domain("example.com"), mailbox(ANN)))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        result = run(server, name=ANN, imap_port=listener.getsockname()[1], timeout=2)
    assert (result["failure"]["code"], server.writes) == ("probe_failed", [])


@pytest.mark.parametrize(("answers", "asked"), [("NNNNNN", 3), ("NNYNNNYY", 6), ("YNYYNYYNNY", 10)])
def test_three_refusals_in_a_row_end_the_probing(
    answers: str, asked: int, imap: ImapServer, serve: Serve, run: Run
) -> None:
    """After three refused logins in a row, the other passwords are set without trying them."""
    names = [f"m{number}@example.com" for number in range(len(answers))]
    more = ["bare@example.com", "new@example.com"]
    imap.verdict = lambda name: YES if answers[names.index(name)] == "Y" else NO
    rows = [mailbox(name) for name in [*names, more[0]]]
    server = serve(InMemoryService(None, domain("example.com"), *rows))
    passwords = {name: [PASSWORD, SECOND] for name in [*names, "new@example.com"]}
    options = {"mailboxes": [*names, *more], "passwords": passwords}
    predicted = run(server, check=True, **options)
    assert server.writes == []
    # New mailboxes, and those without a declared password, are not probed.
    assert sorted(imap.names) == names[:asked]
    done = run(server, **options, expected_plan=predicted["plan_digest"])
    assert done == predicted
    assert sorted(imap.names) == sorted(names[:asked] * 2)
    kept = {name for name, answer in zip(names[:asked], answers, strict=False) if answer == "Y"}
    changed = {change["name"] for change in done["changes"]}
    assert changed == {*names, "new@example.com"} - kept
    imap.verdict = lambda name: YES
    assert run(server, **options)["changed"] is False


def test_a_plan_that_is_refused_is_not_probed(imap: ImapServer, serve: Serve, run: Run) -> None:
    """No login is tried for a refused plan, a new mailbox or a mailbox without passwords."""
    bob = mailbox("bob@example.com", "b@example.com")
    server = serve(InMemoryService(None, domain("example.com"), mailbox(ANN), bob))
    taken = {"name": ANN, "aliases": ["b@example.com"]}
    none: dict[str, Any] = {"name": ANN, "passwords": []}
    bad = [taken, none, {"name": ANN, "imap_port": 65536}]
    assert [run(server, **options)["failed"] for options in bad] == [True] * 3
    assert server.writes == []
    assert run(server, name="new@example.com")["changed"]
    assert imap.names == []


def test_a_missing_mx_record_is_an_error(serve: Serve, run: Run) -> None:
    """If there is no MX record, the message names the option to set."""
    service = InMemoryService(None, domain("example.com"), mailbox(ANN))
    records = {"mx": [{"host": "@", "value": ".", "priority": 0}], "txt": []}

    def answer(request: Request) -> Reply:
        return json_reply(records) if "/api/dns/" in request.target else service(request)

    result = run(serve(answer), name=ANN, imap_host=None)
    assert result["failure"]["code"] == "probe_failed", result
    assert "Set imap_host" in result["msg"]
