# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""From looking to having written: what is asked, what is deleted, what is taken back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api import errors
from ansible_collections.postroom.email.plugins.module_utils._api.applying.converge import (
    apply,
    converge,
)
from ansible_collections.postroom.email.plugins.module_utils._api.models import Forwarder, Mailbox
from ansible_collections.postroom.email.plugins.module_utils._api.names import (
    Name,
    parse_address,
    parse_domain,
)
from ansible_collections.postroom.email.plugins.module_utils._api.planning.alias import (
    plan_alias,
)
from ansible_collections.postroom.email.plugins.module_utils._api.planning.changes import Plan
from ansible_collections.postroom.email.plugins.module_utils._api.planning.common import (
    plan_removal,
)
from ansible_collections.postroom.email.plugins.module_utils._api.planning.domain import (
    plan_domain_removal,
)
from ansible_collections.postroom.email.plugins.module_utils._api.planning.forwarder import (
    WantedForwarder,
    plan_forwarder,
)
from ansible_collections.postroom.email.plugins.module_utils._api.planning.tenant import Tenant
from ansible_collections.postroom.email.plugins.module_utils._api.wire.client import Client
from ansible_collections.postroom.email.tests.fakes.mail_api.quirky import (
    Quirks,
    QuirkyService,
    domain,
    forwarder,
    mailbox,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import problem
from ansible_collections.postroom.email.tests.support.clients import Clock

Connect = Callable[..., Client]
Serve = Callable[..., Any]

HOME = parse_domain("example.com")
ALICE, BOB = parse_address("alice@example.com"), parse_address("bob@example.com")
SALES = parse_address("sales@example.com")


def without(name: Name) -> Callable[[Tenant], Plan]:
    """Plan that a mailbox is gone."""
    return lambda tenant: plan_removal(tenant, name, Mailbox)


def test_a_delete_looks_at_the_very_name_once_more(serve: Serve, connect: Connect) -> None:
    """Planning read it, and right before the DELETE it is read again, by its name."""
    server = serve(QuirkyService(None, mailbox(ALICE.key)))
    converge(connect(server), ALICE, without(ALICE), dry_run=False)
    path = "/api/principal/alice%40example.com"
    assert server.lines == [f"GET {path}", f"GET {path}", f"DELETE {path}"]


def test_what_became_something_else_is_not_deleted(serve: Serve, connect: Connect) -> None:
    """Between plan and delete a forwarder took the mailbox's place."""
    service = QuirkyService(None, mailbox(ALICE.key))
    other = forwarder(ALICE.key, "x@y.example")
    service.meddle("GET", lambda: service.principals.update({ALICE.key: other}))
    with pytest.raises(errors.Refused, match="is a forwarder now"):
        converge(connect(serve(service)), ALICE, without(ALICE), dry_run=False)
    assert ALICE.key in service.principals


def test_what_vanished_meanwhile_is_not_deleted_again(serve: Serve, connect: Connect) -> None:
    """The look finds nothing, so there is no DELETE."""
    service = QuirkyService(None, mailbox(ALICE.key))
    service.meddle("GET", service.principals.clear)
    server = serve(service)
    converge(connect(server), ALICE, without(ALICE), dry_run=False)
    assert server.writes == []


def test_a_domain_whose_name_begins_alike_is_left_alone(serve: Serve, connect: Connect) -> None:
    """Deleting example.com takes nothing of example.com.au, nor of its subdomains."""
    others = [
        domain("example.com.au"), mailbox("a@example.com.au"),
        domain("sub.example.com"), mailbox("a@sub.example.com"), domain("anexample.com"),
    ]  # fmt: skip
    service = QuirkyService(None, domain(HOME.key), mailbox(ALICE.key), *others)
    converge(
        connect(serve(service)), HOME,
        lambda tenant: plan_domain_removal(tenant, HOME, force=True), dry_run=False,
    )  # fmt: skip
    assert list(service.principals) == [other["name"] for other in others]


def test_a_domain_that_fills_while_it_is_emptied_is_left(serve: Serve, connect: Connect) -> None:
    """What came after the plan is not named in it, so the domain stays, and the rest is told."""
    late = "late@example.com"
    service = QuirkyService(None, domain(HOME.key), mailbox(ALICE.key))
    service.meddle("DELETE", lambda: service.principals.update({late: mailbox(late)}))
    with pytest.raises(errors.Refused, match=f"left alone, for mailbox {late}") as caught:
        converge(
            connect(serve(service)), HOME,
            lambda tenant: plan_domain_removal(tenant, HOME, force=True), dry_run=False,
        )  # fmt: skip
    assert set(service.principals) == {HOME.key, late}
    assert [change["name"] for change in caught.value.done] == [str(ALICE)]


def moved(tenant: Tenant) -> Plan:
    """Plan that Bob's alias becomes Alice's."""
    return plan_alias(tenant, SALES, ALICE, move=True)


def service_with_alias() -> QuirkyService:
    """Return a service where Bob has the alias."""
    return QuirkyService(
        None, domain(HOME.key), mailbox(ALICE.key), mailbox(BOB.key, SALES.key)
    )  # fmt: skip


def test_a_move_is_taken_back_when_its_second_half_fails(serve: Serve, connect: Connect) -> None:
    """Nothing stands of it, and the error says so."""
    service = service_with_alias()
    service.disturb("PATCH", problem(400), skip=1)
    with pytest.raises(errors.Rejected) as caught:
        converge(connect(serve(service)), ALICE, moved, dry_run=False)
    assert list(caught.value.done) == []
    assert service.principals[BOB.key]["emails"] == [BOB.key, SALES.key]


def test_a_move_is_taken_back_though_the_time_is_used_up(serve: Serve, connect: Connect) -> None:
    """Taking back has time of its own, and the error tells that it was done."""
    service = service_with_alias()
    clock = Clock()
    service.meddle("PATCH", lambda: clock.sleep(4.9))
    with pytest.raises(errors.DeadlineExceeded, match="changed before was taken back") as caught:
        converge(connect(serve(service), clock, timeout=5.0), ALICE, moved, dry_run=False)
    assert list(caught.value.done) == []
    assert service.principals[BOB.key]["emails"] == [BOB.key, SALES.key]


def test_a_list_cut_short_empties_no_domain(serve: Serve, connect: Connect) -> None:
    """No total and no link tells of the cut; the lists by type do, before anything is deleted."""
    boxes = [mailbox(f"m{number}@zz.example") for number in range(6)]
    others = [domain(f"a{number}.example") for number in range(3)]
    service = QuirkyService(Quirks(page_rows=4, pages="silent"), domain("zz.example"), *others)
    service.principals.update({box["name"]: box for box in boxes})
    server = serve(service)
    zone = parse_domain("zz.example")
    for force in (False, True):
        with pytest.raises(errors.BadAnswer, match=r"incomplete|lacks zz\.example"):
            converge(
                connect(server), zone,
                lambda tenant: plan_domain_removal(tenant, zone, force=force),  # noqa: B023
                dry_run=False,
            )  # fmt: skip
    assert server.writes == []


def test_what_cannot_be_taken_back_is_told(serve: Serve, connect: Connect) -> None:
    """The service refuses the way back too: the first half stands, and the error lists it."""
    service = service_with_alias()
    service.disturb("PATCH", problem(400), skip=1, times=3)
    with pytest.raises(errors.Rejected) as caught:
        converge(connect(serve(service)), ALICE, moved, dry_run=False)
    assert [(row["action"], row["name"]) for row in caught.value.done] == [("update", BOB.key)]


def test_a_dry_run_lets_missing_things_pass_with_a_warning(serve: Serve, connect: Connect) -> None:
    """And nothing else: a taken address is refused in both modes."""
    service = QuirkyService(None, domain("other.example"))
    client = connect(serve(service))
    team = WantedForwarder(SALES, frozenset({BOB}))
    foretold = converge(client, SALES, lambda t: plan_forwarder(t, team), dry_run=True)
    assert "example.com is not registered" in foretold.warnings[0]
    assert foretold.principal == Forwarder(SALES, frozenset(), frozenset({BOB}))
    with pytest.raises(errors.Refused, match="is not registered"):
        converge(client, SALES, lambda t: plan_forwarder(t, team), dry_run=False)


def test_an_empty_plan_sends_nothing(serve: Serve, connect: Connect) -> None:
    """Applying nothing is nothing."""
    server = serve(QuirkyService())
    assert apply(connect(server), Plan()) == {}
    assert server.requests == []
