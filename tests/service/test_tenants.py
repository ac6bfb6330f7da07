# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Concurrent requests, and isolation between tenants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

import httpx
import psycopg
import pytest

from ansible_collections.postroom.email.tests.service.api import (
    Api,
    check_problem,
    forwarder_body,
    mailbox_body,
    unused_domain,
)
from ansible_collections.postroom.email.tests.support.service import RunningService

WORKERS = 8
REGISTER = """
INSERT INTO principal (tenant_id, kind, name, uid, created_at)
SELECT min(id), 'domain', %s, 'uid', 0 FROM tenant
"""
WAITING = "SELECT 1 FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted"
#: The databases for tests with two tenants. An in-memory database has only one tenant.
TENANTS = pytest.mark.parametrize(
    "backend",
    ["file", pytest.param("postgresql", marks=pytest.mark.full)],
    indirect=True,
    scope="session",
)


def race(calls: Sequence[Callable[[], httpx.Response]]) -> Counter[int]:
    """Make all calls concurrently, and count the responses by status."""
    barrier = Barrier(len(calls))

    def run(call: Callable[[], httpx.Response]) -> int:
        barrier.wait()
        return call().status_code

    with ThreadPoolExecutor(len(calls)) as pool:
        return Counter(pool.map(run, calls))


def test_one_name_is_created_once(api: Api) -> None:
    """Of several identical concurrent creations, one succeeds and the others get 409."""
    domain = api.domain()
    for n in range(3):
        body = mailbox_body(f"ann{n}@{domain}")
        assert race([partial(api.create, body)] * WORKERS) == {201: 1, 409: WORKERS - 1}


def test_one_address_has_one_owner(api: Api) -> None:
    """Of several concurrent changes that add the same alias, one succeeds."""
    domain = api.domain()
    names = [api.mailbox(f"v{n}@{domain}") for n in range(WORKERS)]
    calls = [partial(api.patch, name, emails=[name, f"other@{domain}"]) for name in names]
    assert race(calls) == {200: 1, 409: WORKERS - 1}


def test_changes_of_one_mailbox_are_whole(api: Api) -> None:
    """After concurrent changes to a list, the result is one of the new lists, never a mixture."""
    domain = api.domain()
    ann = api.mailbox(f"ann@{domain}")
    sent = [[ann, *(f"a{n}-{k}@{domain}" for k in range(5))] for n in range(WORKERS)]
    calls = [partial(api.patch, ann, emails=emails) for emails in sent]
    assert race(calls) == {200: WORKERS}
    assert api.get(ann).json()["emails"] in sent


@TENANTS
def test_one_domain_has_one_tenant(api: Api, other_api: Api) -> None:
    """If two tenants register the same domain concurrently, only one of them succeeds."""
    for _ in range(4):
        body = {"name": unused_domain(), "type": "domain"}
        tenants = [api, other_api] * 2
        assert race([partial(t.create, body) for t in tenants]) == {201: 1, 409: 3}


@pytest.mark.parametrize(
    "backend", [pytest.param("postgresql", marks=pytest.mark.full)], indirect=True, scope="session"
)
def test_a_domain_that_is_being_registered_is_taken(api: Api, service: RunningService) -> None:
    """A registration waits for another tenant's transaction, and fails if it is committed."""
    domain = unused_domain()
    with (
        psycopg.connect(service.database) as theirs,
        psycopg.connect(service.database, autocommit=True) as observer,
        ThreadPoolExecutor(1) as pool,
    ):
        theirs.execute(REGISTER, [domain])
        creation = pool.submit(api.create, {"name": domain, "type": "domain"})
        while not creation.done() and not observer.execute(WAITING).fetchall():
            pass
        theirs.commit()
        check_problem(creation.result(), 409, "name_taken", "/name")
        observer.execute("DELETE FROM principal WHERE name = %s", [domain])


def test_a_cycle_is_not_closed_from_both_sides(api: Api) -> None:
    """Two concurrent requests can't create a forwarding loop together."""
    domain = api.domain()
    for n in range(4):
        one, two = f"one{n}@{domain}", f"two{n}@{domain}"
        bodies = [forwarder_body(one, [two]), forwarder_body(two, [one])]
        assert race([partial(api.create, body) for body in bodies]) == {201: 1, 422: 1}
    left, right = (
        api.forwarder(f"{side}@{domain}", ["x@elsewhere.example"]) for side in ("l", "r")
    )
    changes = [partial(api.patch, left, members=[right]), partial(api.patch, right, members=[left])]
    assert race(changes) == {200: 1, 422: 1}


def test_nothing_survives_its_domain(api: Api) -> None:
    """Mailboxes created while their domain is being deleted are either deleted or refused."""
    for _ in range(3):
        domain = api.domain()
        creations = [
            partial(api.create, mailbox_body(f"u{n}@{domain}")) for n in range(WORKERS - 1)
        ]
        statuses = race([*creations, partial(api.delete, domain)])
        assert set(statuses) <= {200, 201, 422}
        assert statuses[200] == 1
        assert api.listing() == []


@TENANTS
def test_what_others_have_is_absent(api: Api, other_api: Api) -> None:
    """Another tenant's names get the same responses as names that don't exist."""
    domain = api.domain()
    ann = api.mailbox(f"ann@{domain}")
    for name in (domain, ann):
        for call in (other_api.get, other_api.delete, other_api.patch):
            check_problem(call(name), 404, "principal_not_found")
            assert call(name).text == call("nobody." + unused_domain()).text
    check_problem(other_api.dns(domain), 404, "domain_not_found")
    assert other_api.listing() == []
    assert len(api.listing()) == 2


@TENANTS
def test_a_domain_is_held_once(api: Api, other_api: Api) -> None:
    """A registered domain can't be registered again, and the response doesn't reveal its tenant."""
    domain = api.domain()
    theirs = other_api.create({"name": domain.upper(), "type": "domain"})
    check_problem(theirs, 409, "name_taken", "/name")
    assert theirs.text == api.create({"name": domain, "type": "domain"}).text
    api.delete(domain)
    other_api.domain(domain)


@TENANTS
def test_another_tenants_domain_is_not_registered(api: Api, other_api: Api) -> None:
    """Mailboxes and aliases can't be created on another tenant's domain."""
    mine, theirs = api.domain(), other_api.domain()
    ann = api.mailbox(f"ann@{mine}")
    other_api.mailbox(f"bob@{theirs}")
    body = {"type": "individual", "secrets": ["s"]}
    for name in (f"eve@{theirs}", f"bob@{theirs}"):
        created = api.create({**body, "name": name, "emails": [name]})
        check_problem(created, 422, "domain_not_registered", "/name")
        check_problem(api.patch(ann, emails=[ann, name]), 422, "domain_not_registered", "/emails/1")


@TENANTS
def test_others_forwarders_are_not_told_by_cycles(api: Api, other_api: Api) -> None:
    """A loop through another tenant's forwarder is allowed, because a refusal would reveal it."""
    mine, theirs = api.domain(), other_api.domain()
    other_api.forwarder(f"there@{theirs}", [f"here@{mine}"])
    api.forwarder(f"here@{mine}", [f"there@{theirs}"])


@TENANTS
def test_one_tenants_deletion_leaves_the_other_alone(api: Api, other_api: Api) -> None:
    """Deleting a domain does not affect other tenants."""
    mine, theirs = api.domain(), other_api.domain()
    bob = other_api.mailbox(f"bob@{theirs}")
    other_api.forwarder(f"to@{theirs}", [f"x@{mine}"])
    before = other_api.listing()
    api.delete(mine)
    assert other_api.listing() == before
    assert other_api.get(bob).status_code == 200
