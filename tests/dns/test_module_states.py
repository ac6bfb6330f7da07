# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The states of `email_dns_records` against a real name server."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dkim
import dns.rdatatype
import pytest

from ansible_collections.postroom.email.tests.dns.bind_with_faults import HOME, KEY, SELECTOR, Gate
from ansible_collections.postroom.email.tests.dns.conftest import Publisher
from ansible_collections.postroom.email.tests.docs.module_examples import (
    assert_as_documented,
    run_examples,
)
from ansible_collections.postroom.email.tests.fakes.nameserver.server import fake_nameserver
from ansible_collections.postroom.email.tests.support.bind import new_key, running
from ansible_collections.postroom.email.tests.support.loopback import (
    address_with_ports,
    free_port,
)
from ansible_collections.postroom.email.tests.support.service import RunningService
from ansible_collections.postroom.email.tests.support.tenant import RecordedTenant

NAMES = [f"{HOME} MX", f"{HOME} TXT", f"{SELECTOR}.{HOME} TXT"]
RIVAL = "MX 5 mx.other.example."
MESSAGE = (
    f"From: Alice <alice@{HOME}>\r\nTo: bob@example.net\r\nSubject: It works\r\n"
    "Date: Sat, 21 Nov 2026 12:00:00 +0000\r\nMessage-ID: <1@example.com>\r\n"
    "\r\nHello Bob,\r\nthe key is published.\r\n"
).encode()
PRIVATE_KEY = (
    "SELECT private_pem FROM dkim_key JOIN principal ON principal.id = dkim_key.principal_id "
    "WHERE principal.name = ?"
)


def statuses(result: dict[str, Any]) -> list[str]:
    """Return the status of each record in the result of a successful task."""
    assert not result["failed"], result
    return [record["status"] for record in result["records"]]


def put_other_records(publisher: Publisher) -> None:
    """Publish wrong records for the service, and some records of other services."""
    lines = [
        f"{HOME}. 60 MX 20 mail.postroom.test.",
        f'{HOME}. 60 TXT "v=spf1 mx -all"',
        f'{HOME}. 60 TXT "some" "other\\"s"',
        f'{SELECTOR}.{HOME}. 60 TXT "v=DKIM1; k=rsa; p=AAAA"',
    ]
    publisher.dns_server.bind.change(HOME, add=lines)


@pytest.mark.parametrize(
    ("before", "state", "action"),
    [("none", "present", "create"), ("others", "present", "update"), ("ours", "absent", "delete")],
)
def test_check_mode_and_idempotence(
    before: str, state: str, action: str, publisher: Publisher
) -> None:
    """Check mode predicts the result without an update, and a second run changes nothing."""
    if before == "others":
        put_other_records(publisher)
    if before == "ours":
        publisher.run("present")
    sent, held = publisher.dns_server.gate.updates, publisher.dns_server.held()
    predicted = [publisher.run(state, check=True) for _time in range(2)]
    assert (publisher.dns_server.gate.updates, publisher.dns_server.held()) == (sent, held)
    done = publisher.run(state)
    assert predicted == [done, done]
    assert [(change["action"], change["name"]) for change in done["changes"]] == [
        (action, name) for name in NAMES
    ]
    assert len(done["diff"]) == 3
    after = publisher.dns_server.held()
    assert after != held
    for check in (False, True):
        again = publisher.run(state, check=check)
        assert (again["changed"], again["changes"], again["diff"]) == (False, [], [])
        assert again["current"] == done["current"]
    assert (publisher.dns_server.gate.updates, publisher.dns_server.held()) == (sent + 1, after)


def test_verified(publisher: Publisher, tenant: RecordedTenant) -> None:
    """The `verified` state reports problems without failing, and sends one GET to the service."""
    assert statuses(publisher.run("verified")) == ["missing"] * 3
    put_other_records(publisher)
    found = publisher.run("verified")
    assert statuses(found) == ["conflict", "missing", "conflict"]
    assert (found["verified"], found["stage"]) == (False, "created")
    assert all(record["remedy"] for record in found["records"])

    tenant.recorder.take()
    publisher.run("retrieved")
    publisher.run("present")
    done = publisher.run("verified")
    requests = [(exchange.method, exchange.path) for exchange in tenant.recorder.take()]
    assert requests == [("GET", f"/api/dns/{HOME}")] * 3
    assert statuses(done) == ["match"] * 3
    assert (done["verified"], done["stage"], done["changed"]) == (True, "published", False)
    assert done["records"][0]["servers"][0]["server"] == str(publisher.dns_server.bind)
    assert publisher.run("verified", check=True, wait=True)["records"] == done["records"]
    # The current records include those of other services, as text for a zone file.
    texts = [one["value"] for one in done["current"] if (one["name"], one["type"]) == (HOME, "TXT")]
    assert [tuple(sorted(one)) for one in texts] == [publisher.dns_server.held()["TXT"]]


def test_waiting_in_vain(publisher: Publisher, tmp_path: Path) -> None:
    """If the wait times out, the task fails, lists the missing records and reports its changes."""
    result = publisher.run("verified", wait=True, wait_timeout=1)
    assert (result["failed"], result["changed"]) == (True, False)
    assert result["failure"] == {"kind": "NotPublished", "code": "not_published"}
    lines = result["msg"].splitlines()[1:]
    assert [line.partition(" (missing): ")[0] for line in lines] == NAMES
    assert [record["status"] for record in result["records"]] == ["missing"] * 3
    assert (result["stage"], result["verified"]) == ("created", False)
    (tmp_path / "other").mkdir()
    with running(tmp_path / "other", {HOME: ""}) as other:
        result = publisher.run("present", nameservers=[str(other)], wait=True, wait_timeout=0)
    assert (result["failed"], result["changed"]) == (True, True)
    assert [change["name"] for change in result["changes"]] == NAMES
    assert result["failure"] == {"kind": "NotPublished", "code": "not_published"}


def test_waiting_with_a_rival_mail_server(publisher: Publisher) -> None:
    """The `wait_for` option controls whether to wait for the removal of other mail servers."""
    publisher.dns_server.bind.change(HOME, add=[f"{HOME}. 60 {RIVAL}"])
    presence = publisher.run("present", wait=True, wait_timeout=30)
    assert statuses(presence) == ["conflict", "match", "match"]
    assert presence["verified"] is False
    assert f"remove the record {RIVAL}" in str(presence["warnings"])
    matching = publisher.run("verified", wait=True, wait_timeout=0)
    assert "1 of 3 records" in matching["msg"]
    assert f"remove the record {RIVAL}" in matching["msg"]
    presence = publisher.run("verified", wait=True, wait_timeout=30, wait_for="presence")
    assert not presence["failed"]


def test_failures_at_the_name_server(publisher: Publisher) -> None:
    """Each failure has its own kind, even in check mode, and no result contains a secret."""
    stranger = new_key("mail")
    nowhere = f"127.0.0.1:{free_port()}"
    cases: list[tuple[str, dict[str, Any]]] = [
        ("KeyRefused", {"tsig_secret": stranger.secret}),
        ("KeyRefused", {"tsig_algorithm": "hmac-sha384"}),
        ("NameServerError", {"update_server": nowhere}),
        ("NameServersNotFound", {"update_server": None}),
    ]
    for kind, options in cases:
        for check in (True, False):
            result = publisher.run("present", check=check, **options)
            assert (result["failed"], result["changed"]) == (True, False)
            assert result["failure"]["kind"] == kind
            assert stranger.secret not in str(result)
    assert "update_server" in result["msg"]
    assert publisher.dns_server.gate.updates == 0


@pytest.fixture
def primary(tmp_path: Path) -> Iterator[tuple[Gate, str]]:
    """Run a name server on port 53, as delegations require, and provide a resolver for it."""
    address = address_with_ports(53)
    # The primary's second address has no listening server, and no NS record leads to it.
    zone = (
        "@ IN SOA primary hostmaster 1 3600 600 86400 60\n@ NS ns1\n"
        f"ns1 A {address}\nprimary A {address}\nprimary A 127.53.255.254"
    )
    with running(tmp_path, {HOME: zone}, keys=[KEY]) as bind:
        gate = Gate(bind)
        with fake_nameserver({("*", "*"): gate}, address=address, port=53):
            yield gate, str(bind)


@pytest.mark.parametrize("named", [{}, {"update_server": f"Primary.{HOME}."}])
def test_the_primary_takes_the_update(
    named: dict[str, str], primary: tuple[Gate, str], tenant: RecordedTenant
) -> None:
    """The primary server is found through the SOA record or by the host name in the option."""
    gate, resolver = primary
    tenant.create(HOME)
    options: dict[str, Any] = {"tsig_name": KEY.name, "tsig_secret": KEY.secret, **named}
    options |= {"domain": HOME, "resolvers": [resolver], "wait": True}
    done = tenant.run("email_dns_records", state="present", **options)
    assert not done["failed"], done
    assert gate.updates == 1
    assert (len(done["changes"]), done["verified"], done["stage"]) == (3, True, "active")
    (server,) = done["records"][0]["servers"]
    assert server["server"].startswith(f"ns1.{HOME} (127.53.")


def test_the_published_key_verifies_a_message(
    publisher: Publisher, service: RunningService
) -> None:
    """A message signed by the service passes dkimpy if, and only if, the key is published."""
    with contextlib.closing(sqlite3.connect(service.database)) as database:
        ((key,),) = database.execute(PRIVATE_KEY, (HOME,)).fetchall()
    message = dkim.sign(MESSAGE, b"service", HOME.encode(), key.encode()) + MESSAGE

    def ask(name: bytes, timeout: float = 5) -> bytes | None:
        answer = publisher.dns_server.bind.response(name.decode().rstrip("."), "TXT").answer
        texts = [rdata for rrset in answer if rrset.rdtype == dns.rdatatype.TXT for rdata in rrset]
        return b"".join(texts[0].strings) if texts else None

    assert not dkim.verify(message, dnsfunc=ask)
    publisher.run("present")
    assert dkim.verify(message, dnsfunc=ask)
    assert not dkim.verify(message.replace(b"Hello Bob", b"Hello Eve"), dnsfunc=ask)
    publisher.run("absent")
    assert not dkim.verify(message, dnsfunc=ask)


def test_the_examples_run(publisher: Publisher, service: RunningService, tmp_path: Path) -> None:
    """Each documented task succeeds without a warning and returns the documented values."""
    dns_server, module = publisher.dns_server, "email_dns_records"
    here = {"update_server": str(dns_server.front), "nameservers": [str(dns_server.bind)]}
    variables = {"vault_tsig_secret": KEY.secret}
    run = run_examples(module, tmp_path, service, options=here, variables=variables)
    assert_as_documented(module, run, tmp_path)
    assert KEY.secret not in run.output
    # The examples publish the records and withdraw them.
    assert dns_server.gate.updates == 2
    assert not any(dns_server.held().values())
