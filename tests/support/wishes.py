# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Desired states, and a model of a tenant in plain sets that says what must come of each.

The model knows nothing of the planner: it is the contract's rules and the modules' documentation,
written down once more, over the finished state in place of changes.
"""

# What the methods of a wish are for is said once, at Wish.
# ruff: noqa: D102

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from ansible_collections.postroom.email.plugins.module_utils._api.models import Forwarder, Mailbox
from ansible_collections.postroom.email.plugins.module_utils._api.names import (
    Name,
    parse_address,
    parse_domain,
)
from ansible_collections.postroom.email.plugins.module_utils._api.planning.alias import (
    plan_alias,
    plan_alias_removal,
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

PASSWORDS = ("correct-horse/battery#staple",)
Addresses = frozenset[str]


class Impossible(Exception):
    """The desired state can't be had; nothing may be changed."""


@dataclass(frozen=True)
class Box:
    """A mailbox, or with members a forwarder."""

    aliases: Addresses = frozenset()
    members: Addresses = frozenset()


@dataclass(frozen=True)
class World:
    """What a tenant holds."""

    domains: Addresses = frozenset()
    boxes: dict[str, Box] = field(default_factory=dict)

    def listing(self) -> dict[str, dict[str, Any]]:
        """Return it in the shapes of the wire."""
        rows: dict[str, dict[str, Any]] = {name: _shape(name, "domain") for name in self.domains}
        for name, box in self.boxes.items():
            rows[name] = _shape(name, "individual") | {"emails": box.aliases | {name}}
            if box.members:
                rows[name]["members"] = box.members
        return rows

    def owner(self, address: str) -> str | None:
        """Return the principal that an address delivers to."""
        for name, box in self.boxes.items():
            if address in box.aliases | {name}:
                return name
        return None

    def having(self, name: str, box: Box) -> World:
        """Return the world with a box in it, new or in place of the one of that name.

        :raises Impossible: an address is taken or on no domain of ours, or mail would run round
        """
        after = replace(self, boxes={**self.boxes, name: box})
        claimed = box.aliases | {name}
        others = [self.owner(address) for address in claimed]
        if any(owner not in (None, name) for owner in others):
            raise Impossible
        if any(domain_of(address) not in self.domains for address in claimed):
            raise Impossible
        if claimed & after._reachable(box.members):
            raise Impossible
        return after

    def without(self, names: Iterable[str]) -> World:
        """Return the world without some boxes."""
        gone = set(names)
        return replace(self, boxes={n: box for n, box in self.boxes.items() if n not in gone})

    def _reachable(self, addresses: Addresses) -> Addresses:
        seen: set[str] = set()
        queue = set(addresses)
        while queue:
            address = queue.pop()
            seen.add(address)
            owner = self.owner(address)
            queue |= (self.boxes[owner].members if owner else frozenset()) - seen
        return frozenset(seen)


class Wish(Protocol):
    """One desired state: how it is planned, and what must come of it."""

    @property
    def subject(self) -> Name:
        """What it is about."""

    def plan(self, tenant: Tenant) -> Plan:
        """Plan it, as its module does."""

    def come_true(self, world: World) -> World:
        """Return the world as it must be afterwards.

        :raises Impossible: it must be refused
        """


class _AboutAddress:
    name: str

    @property
    def subject(self) -> Name:
        return parse_address(self.name)


@dataclass(frozen=True)
class HaveMailbox(_AboutAddress):
    """email_mailbox with state=present."""

    name: str
    aliases: Addresses | None
    purge: bool

    def plan(self, tenant: Tenant) -> Plan:
        wanted = WantedMailbox(
            self.subject, PASSWORDS, aliases=_names(self.aliases), purge_aliases=self.purge
        )
        return plan_mailbox(tenant, wanted)

    def come_true(self, world: World) -> World:
        old = world.boxes.get(self.name, Box())
        if old.members:
            raise Impossible
        aliases = _combined(old.aliases, self.aliases, self.purge) - {self.name}
        return world.having(self.name, Box(aliases))


@dataclass(frozen=True)
class HaveForwarder(_AboutAddress):
    """email_forwarder with state=present."""

    name: str
    members: Addresses | None
    purge_members: bool
    aliases: Addresses | None
    purge_aliases: bool

    def plan(self, tenant: Tenant) -> Plan:
        wanted = WantedForwarder(
            self.subject,
            _names(self.members),
            self.purge_members,
            _names(self.aliases),
            self.purge_aliases,
        )
        return plan_forwarder(tenant, wanted)

    def come_true(self, world: World) -> World:
        old = world.boxes.get(self.name, Box())
        members = _combined(old.members, self.members, self.purge_members)
        is_mailbox = self.name in world.boxes and not old.members
        if is_mailbox or not members:
            raise Impossible
        aliases = _combined(old.aliases, self.aliases, self.purge_aliases) - {self.name}
        return world.having(self.name, Box(aliases, members))


@dataclass(frozen=True)
class HaveAlias(_AboutAddress):
    """email_alias with state=present."""

    address: str
    name: str
    move: bool

    def plan(self, tenant: Tenant) -> Plan:
        return plan_alias(tenant, parse_address(self.address), self.subject, move=self.move)

    def come_true(self, world: World) -> World:
        box = world.boxes.get(self.name)
        if box is None or box.members:
            raise Impossible
        if self.address == self.name:
            return world
        owner = world.owner(self.address)
        if self.move and owner not in (None, self.name, self.address):
            loser = world.boxes[owner]
            world = replace(world, boxes={**world.boxes, owner: _less(loser, {self.address})})
        return world.having(self.name, Box(box.aliases | {self.address}))


@dataclass(frozen=True)
class LackAlias(_AboutAddress):
    """email_alias with state=absent."""

    address: str
    name: str

    def plan(self, tenant: Tenant) -> Plan:
        return plan_alias_removal(tenant, parse_address(self.address), self.subject)

    def come_true(self, world: World) -> World:
        box = world.boxes.get(self.name)
        if box is None:
            return world
        if box.members or self.address == self.name:
            raise Impossible
        return replace(world, boxes={**world.boxes, self.name: _less(box, {self.address})})


@dataclass(frozen=True)
class LackBox(_AboutAddress):
    """email_mailbox or email_forwarder with state=absent."""

    name: str
    is_forwarder: bool

    def plan(self, tenant: Tenant) -> Plan:
        return plan_removal(tenant, self.subject, Forwarder if self.is_forwarder else Mailbox)

    def come_true(self, world: World) -> World:
        box = world.boxes.get(self.name)
        if box is not None and bool(box.members) != self.is_forwarder:
            raise Impossible
        return world.without([self.name])


@dataclass(frozen=True)
class HaveDomain:
    """email_domain with state=present."""

    name: str

    @property
    def subject(self) -> Name:
        return parse_domain(self.name)

    def plan(self, tenant: Tenant) -> Plan:
        return plan_domain(tenant, self.subject)

    def come_true(self, world: World) -> World:
        return replace(world, domains=world.domains | {self.name})


@dataclass(frozen=True)
class LackDomain:
    """email_domain with state=absent."""

    name: str
    force: bool

    @property
    def subject(self) -> Name:
        return parse_domain(self.name)

    def plan(self, tenant: Tenant) -> Plan:
        return plan_domain_removal(tenant, self.subject, force=self.force)

    def come_true(self, world: World) -> World:
        residents = [name for name in world.boxes if domain_of(name) == self.name]
        left = world.without(residents)
        boxes = {
            name: _less(box, {a for a in box.aliases if domain_of(a) == self.name})
            for name, box in left.boxes.items()
        }
        if not self.force and boxes != world.boxes:
            raise Impossible
        return World(world.domains - {self.name}, boxes)


def domain_of(address: str) -> str:
    """Return the domain of an address."""
    return address.rpartition("@")[2]


def _shape(name: str, kind: str) -> dict[str, Any]:
    return {"id": name, "name": name, "type": kind}


def _names(addresses: Addresses | None) -> frozenset[Name] | None:
    return None if addresses is None else frozenset(map(parse_address, addresses))


def _combined(old: Addresses, wanted: Addresses | None, purge: bool) -> Addresses:
    if wanted is None:
        return old
    return wanted if purge else old | wanted


def _less(box: Box, addresses: set[str]) -> Box:
    return replace(box, aliases=box.aliases - addresses)
