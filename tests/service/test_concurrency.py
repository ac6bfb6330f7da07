# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Many callers at once. What is checked is the outcome, never the time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

import httpx
import pytest

from ansible_collections.postroom.email.tests.service.api import (
    Api,
    forwarder_body,
    mailbox_body,
    unused_domain,
)

WORKERS = 8


def race(calls: Sequence[Callable[[], httpx.Response]]) -> Counter[int]:
    """Make all calls as much at once as threads can, and count the statuses."""
    barrier = Barrier(len(calls))

    def run(call: Callable[[], httpx.Response]) -> int:
        barrier.wait()
        return call().status_code

    with ThreadPoolExecutor(len(calls)) as pool:
        return Counter(pool.map(run, calls))


def test_one_name_is_created_once(api: Api) -> None:
    """Of equal creations at once, one wins and the others are told that the name is taken."""
    domain = api.domain()
    for n in range(3):
        body = mailbox_body(f"ann{n}@{domain}")
        assert race([partial(api.create, body)] * WORKERS) == {201: 1, 409: WORKERS - 1}


def test_one_address_has_one_owner(api: Api) -> None:
    """Of concurrent changes one gets an alias."""
    domain = api.domain()
    names = [api.mailbox(f"v{n}@{domain}") for n in range(WORKERS)]
    calls = [partial(api.patch, name, emails=[name, f"other@{domain}"]) for name in names]
    assert race(calls) == {200: 1, 409: WORKERS - 1}


def test_changes_of_one_mailbox_are_whole(api: Api) -> None:
    """The list that remains is one of those that were sent, never a mixture."""
    domain = api.domain()
    ann = api.mailbox(f"ann@{domain}")
    sent = [[ann, *(f"a{n}-{k}@{domain}" for k in range(5))] for n in range(WORKERS)]
    calls = [partial(api.patch, ann, emails=emails) for emails in sent]
    assert race(calls) == {200: WORKERS}
    assert api.get(ann).json()["emails"] in sent


@pytest.mark.parametrize(
    "backend",
    ["file", pytest.param("postgresql", marks=pytest.mark.full)],
    indirect=True,
    scope="session",
)
def test_one_domain_has_one_tenant(api: Api, other_api: Api) -> None:
    """Of two tenants that register one domain at once, one gets it."""
    for _ in range(4):
        body = {"name": unused_domain(), "type": "domain"}
        tenants = [api, other_api] * 2
        assert race([partial(t.create, body) for t in tenants]) == {201: 1, 409: 3}


def test_a_cycle_is_not_closed_from_both_sides(api: Api) -> None:
    """Two forwarders that point at each other can't both come to be, nor be so changed."""
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
    """Mailboxes created while their domain is deleted go with it, or are refused."""
    for _ in range(3):
        domain = api.domain()
        creations = [
            partial(api.create, mailbox_body(f"u{n}@{domain}")) for n in range(WORKERS - 1)
        ]
        statuses = race([*creations, partial(api.delete, domain)])
        assert set(statuses) <= {200, 201, 422}
        assert statuses[200] == 1
        assert api.listing() == []
