# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What is known of a tenant, and whether mail would run in a circle."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.postroom.email.plugins.module_utils._api.models import (
    Domain,
    Forwarder,
    Mailbox,
)
from ansible_collections.postroom.email.plugins.module_utils._api.names import (
    Name,
    parse_address,
    parse_domain,
)
from ansible_collections.postroom.email.plugins.module_utils._api.planning.tenant import (
    Glimpse,
    NeedsWhole,
    Tenant,
)

HOME, OTHER = parse_domain("example.com"), parse_domain("example.com.au")
ALICE, SALES = parse_address("alice@example.com"), parse_address("sales@example.com.au")
BOX = Mailbox(ALICE, frozenset({SALES}))


def test_a_tenant_knows_who_is_where() -> None:
    """By name, by address, by domain; a domain whose name begins alike is another one."""
    tenant = Tenant([Domain(HOME), Domain(OTHER), BOX])
    assert tenant.find(ALICE) == tenant.owner_of(SALES) == BOX
    assert tenant.owner_of(HOME) is None
    assert tenant.has_domain(HOME)
    assert not tenant.has_domain(ALICE)
    (at_home,), (elsewhere,) = tenant.holders_on(HOME), tenant.holders_on(OTHER)
    assert (at_home.principal, at_home.is_resident) == (BOX, True)
    assert (elsewhere, elsewhere.is_resident) == ((BOX, frozenset({SALES})), False)


def test_a_glimpse_knows_one_name() -> None:
    """Everything else needs the whole."""
    glimpse = Glimpse(ALICE, BOX)
    assert glimpse.find(ALICE) == BOX
    assert Glimpse(ALICE, None).find(ALICE) is None
    for question in (
        lambda: glimpse.find(SALES),
        lambda: glimpse.owner_of(ALICE),
        lambda: glimpse.has_domain(HOME),
        lambda: glimpse.holders_on(HOME),
        lambda: glimpse.loop_through(Forwarder(ALICE, frozenset(), frozenset({SALES}))),
    ):
        with pytest.raises(NeedsWhole):
            question()


POOL = [parse_address(f"{letter}@example.com") for letter in "abcdefgh"]


@st.composite
def tenants(draw: st.DrawFn) -> list[Forwarder]:
    """Draw forwarders that share eight addresses, each address with one owner."""
    owners = draw(st.lists(st.integers(0, 3), min_size=8, max_size=8))
    forwarders = []
    for number in range(4):
        own = [name for name, owner in zip(POOL, owners, strict=True) if owner == number]
        if own:
            members = draw(st.frozensets(st.sampled_from(POOL), max_size=3))
            forwarders.append(Forwarder(own[0], frozenset(own[1:]), members))
    return forwarders


def comes_back(start: Forwarder, others: list[Forwarder]) -> bool:
    """Follow every copy of a mail, the slow way, and tell whether one comes back to start."""
    reached: set[Name] = set(start.members)
    for _hop in POOL:
        for forwarder in others:
            if reached & forwarder.addresses:
                reached |= forwarder.members
    return bool(reached & start.addresses)


@given(tenants())
def test_circles_are_found_as_by_following_every_copy(forwarders: list[Forwarder]) -> None:
    """Over aliases too; and what is returned is a way that mail really takes."""
    tenant = Tenant(forwarders)
    start = forwarders[0]
    way = tenant.loop_through(start)
    assert (way is not None) == comes_back(start, forwarders[1:])
    if way is None:
        return
    assert way[0] == start.name
    assert way[-1] in start.addresses
    for here, there in pairwise(way):
        owner = tenant.owner_of(here)
        assert isinstance(owner, Forwarder)
        assert there in owner.members


def test_a_forwarder_to_its_own_alias_is_a_circle() -> None:
    """Self-reference is the shortest circle."""
    alone = Forwarder(ALICE, frozenset({SALES}), frozenset({SALES}))
    assert Tenant([]).loop_through(alone) == [ALICE, SALES]


def test_a_circle_that_start_is_not_part_of_is_not_its_fault() -> None:
    """It ends all the same, and is not reported."""
    a, b, c = POOL[:3]
    others = [Forwarder(a, frozenset(), frozenset({b})), Forwarder(b, frozenset(), frozenset({a}))]
    assert Tenant(others).loop_through(Forwarder(c, frozenset(), frozenset({a}))) is None
