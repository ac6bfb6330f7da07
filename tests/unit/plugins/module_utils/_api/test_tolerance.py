# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""One scenario, again and again, each time over a server with another habit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api import errors
from ansible_collections.postroom.email.plugins.module_utils._api.applying.converge import (
    Converged,
    converge,
)
from ansible_collections.postroom.email.plugins.module_utils._api.models import Forwarder, Mailbox
from ansible_collections.postroom.email.plugins.module_utils._api.names import (
    Name,
    parse_address,
    parse_domain,
)
from ansible_collections.postroom.email.plugins.module_utils._api.planning.changes import Plan
from ansible_collections.postroom.email.plugins.module_utils._api.planning.common import (
    plan_removal,
)
from ansible_collections.postroom.email.plugins.module_utils._api.planning.domain import (
    plan_domain,
    plan_domain_removal,
)
from ansible_collections.postroom.email.plugins.module_utils._api.planning.forwarder import (
    WantedForwarder,
    plan_forwarder,
)
from ansible_collections.postroom.email.plugins.module_utils._api.planning.mailbox import (
    WantedMailbox,
    plan_mailbox,
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

Connect = Callable[..., Client]
Serve = Callable[..., Any]


def as_read(name: str) -> str:
    """Spell a domain's A-labels as people read them."""
    return name.encode().decode("idna") if "xn--" in name and "@" not in name else name


HABITS = {
    "contract": Quirks(),
    "integer ids": Quirks(integer_ids=True),
    "data envelope": Quirks(envelope=True),
    "items and total": Quirks(items=True),
    "data, items and total": Quirks(envelope=True, items=True),
    "list of names": Quirks(bare_names=True),
    "list of names in envelopes": Quirks(bare_names=True, envelope=True, items=True),
    "pages by total": Quirks(page_rows=2, envelope=True),
    "pages of one": Quirks(page_rows=1),
    "pages by link": Quirks(page_rows=2, pages="link"),
    "pages of names by link": Quirks(page_rows=1, pages="link", bare_names=True),
    "create answers an id": Quirks(create_answers_id=True),
    "update answers null": Quirks(update_answers="null"),
    "update answers nothing": Quirks(update_answers="empty"),
    "update answers 204": Quirks(update_answers="no content"),
    "delete answers null": Quirks(delete_answers="null"),
    "delete answers nothing": Quirks(delete_answers="empty"),
    "delete answers 204": Quirks(delete_answers="no content"),
    "single strings": Quirks(single_strings=True),
    "absent keys": Quirks(drop_empty=True),
    "members counted": Quirks(counts=True),
    "secrets shown": Quirks(shows_secrets=True),
    "one secret shown as a string": Quirks(shows_secrets=True, single_strings=True),
    "errors as 200": Quirks(errors_as_200=True),
    "capitals": Quirks(spelling=str.upper),
    "U-labels": Quirks(spelling=as_read),
    "refuses non-empty domains": Quirks(domain_delete="refuses"),
    "leaves mailboxes behind": Quirks(domain_delete="leaves"),
    "Stalwart": Quirks(
        integer_ids=True,
        envelope=True,
        items=True,
        create_answers_id=True,
        update_answers="null",
        delete_answers="null",
        single_strings=True,
        drop_empty=True,
        counts=True,
        shows_secrets=True,
        errors_as_200=True,
        domain_delete="refuses",
    ),
}

HOME = parse_domain("Bücher.example")
ALICE = parse_address("Alice@Bücher.example")
SALES = parse_address("sales@bücher.example")
TEAM = parse_address("team@bücher.example")
ELSEWHERE = frozenset({parse_address("Someone@elsewhere.example")})
PASSWORD = "pw-8Kd!q0-Zebra"

Planner = Callable[[Tenant], Plan]


def steps() -> list[tuple[Name, Planner]]:
    """Return a tenant's life as plans: what is about which name."""
    box = WantedMailbox(ALICE, (PASSWORD,), aliases=frozenset({SALES}))
    bare = WantedMailbox(ALICE, aliases=frozenset(), purge_aliases=True)
    team = WantedForwarder(TEAM, ELSEWHERE | {ALICE})
    fewer = WantedForwarder(TEAM, ELSEWHERE)
    return [
        (HOME, lambda tenant: plan_domain(tenant, HOME)),
        (ALICE, lambda tenant: plan_mailbox(tenant, box)),
        (TEAM, lambda tenant: plan_forwarder(tenant, team)),
        (TEAM, lambda tenant: plan_forwarder(tenant, fewer)),
        (ALICE, lambda tenant: plan_mailbox(tenant, bare)),
        (HOME, lambda tenant: plan_domain_removal(tenant, HOME, force=True)),
    ]


def run(client: Client, name: Name, make_plan: Planner) -> Converged:
    """Carry a plan out."""
    return converge(client, name, make_plan, dry_run=False)


@pytest.mark.parametrize("habit", HABITS)
def test_a_tenants_life_is_the_same_whatever_the_servers_habits(
    habit: str, serve: Serve, connect: Connect
) -> None:
    """Every step changes something, the same step again changes nothing and writes nothing."""
    service = QuirkyService(HABITS[habit], domain("other.example"), mailbox("zoe@other.example"))
    server = serve(service)
    client = connect(server, timeout=300.0)
    for name, make_plan in steps():
        assert run(client, name, make_plan).plan.changes
        writes = len(server.writes)
        assert not run(client, name, make_plan).plan.changes
        assert len(server.writes) == writes
    assert sorted(service.principals) == ["other.example", "zoe@other.example"]


@pytest.mark.parametrize("habit", HABITS)
def test_what_is_read_is_the_same_whatever_the_servers_habits(
    habit: str, serve: Serve, connect: Connect
) -> None:
    """A mailbox, a forwarder and the whole list come out equal from every kind of answer."""
    stored = (
        domain(HOME.key),
        mailbox(ALICE.key, SALES.key),
        forwarder(TEAM.key, "someone@elsewhere.example"),
        domain("empty.example"),
    )
    client = connect(serve(QuirkyService(HABITS[habit], *stored)))
    box, team = Mailbox(ALICE, frozenset({SALES})), Forwarder(TEAM, frozenset(), ELSEWHERE)
    assert client.find(ALICE) == box
    assert client.find(TEAM) == team
    assert client.find(parse_address("nobody@bücher.example")) is None
    assert set(client.list_principals()) >= {box, team}
    assert len(client.list_principals()) == len(stored)


@pytest.mark.parametrize("habit", HABITS)
def test_refusals_are_errors_whatever_the_servers_habits(
    habit: str, serve: Serve, connect: Connect
) -> None:
    """A taken name is AlreadyExists, a missing domain is an error and no not-found of the name."""
    quirks = HABITS[habit]
    service = QuirkyService(quirks, domain(HOME.key), mailbox(ALICE.key, SALES.key))
    client = connect(serve(service))
    with pytest.raises(errors.AlreadyExists):
        client.create(Mailbox(SALES), (PASSWORD,))
    with pytest.raises(errors.ServiceError) as caught:
        client.create(Mailbox(parse_address("a@unknown.example")), (PASSWORD,))
    assert "unknown.example" in str(caught.value)
    assert PASSWORD not in str(caught.value)


def test_a_row_that_the_list_lacks_is_noticed(serve: Serve, connect: Connect) -> None:
    """A silently truncated list that lacks the very object of the task is not planned on."""
    service = QuirkyService(
        Quirks(hidden=ALICE.key), domain(HOME.key), mailbox(ALICE.key), domain("a.example")
    )
    server = serve(service)
    wanted = WantedMailbox(ALICE, aliases=frozenset({SALES}))
    with pytest.raises(errors.BadAnswer, match="lacks Alice"):
        run(connect(server), ALICE, lambda tenant: plan_mailbox(tenant, wanted))
    assert not server.writes


def test_no_domain_is_deleted_on_a_list_with_a_hole(serve: Serve, connect: Connect) -> None:
    """Where the total says that a row is missing, the removal of a domain stops before a write."""
    quirks = Quirks(hidden=ALICE.key, items=True)
    server = serve(QuirkyService(quirks, domain(HOME.key), mailbox(ALICE.key)))
    with pytest.raises(errors.BadAnswer, match="incomplete"):
        run(connect(server), HOME, lambda t: plan_domain_removal(t, HOME, force=True))
    assert not server.writes


def test_a_successful_delete_that_is_answered_500_is_a_success(
    serve: Serve, connect: Connect
) -> None:
    """A fresh GET tells that the mailbox is gone, so the 500 is forgotten."""
    service = QuirkyService(None, domain(HOME.key), mailbox(ALICE.key))
    service.disturb("DELETE", problem(500), effect=True)
    server = serve(service)
    done = run(connect(server), ALICE, lambda t: plan_removal(t, ALICE, Mailbox))
    assert [change.action for change in done.plan.changes] == ["delete"]
    assert len(server.writes) == 1
