# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Plan a requested change with the client core, or reject it with a reason.

The core's own problems name the current owner of an address, which most people must not learn. So
the common ones are detected here first, and the reasons name only what the requester wrote.
Nothing here sends a change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from postroom_bot.domain import Action, Change
from postroom_bot.errors import Rejected
from postroom_client.errors import InvalidInput
from postroom_client.models import Forwarder, Mailbox, password_flaw
from postroom_client.names import Name, parse_address
from postroom_client.tenant.changes import Plan
from postroom_client.tenant.declared import (
    Declared,
    DeclaredForwarder,
    DeclaredMailbox,
    definition_of,
)
from postroom_client.tenant.desired import Passwords
from postroom_client.tenant.messages import DECLARED_ABSENT
from postroom_client.tenant.plan import plan_tenant
from postroom_client.tenant.state import TenantState


class Intent(NamedTuple):
    """A change that can be planned.

    :param name: the mailbox or forwarder to change
    :param plan: returns the plan for a tenant, or raises Rejected
    """

    name: Name
    plan: Callable[[TenantState], Plan]


def intent_of(change: Change) -> Intent:
    """Return the intent of a change of an alias or a forwarder, whose mailbox is known by now.

    :raises InvalidInput: an address is invalid
    :raises Rejected: the change is incomplete
    """
    target = parse_address(change.target, "target")
    if change.action in (Action.ALIAS_ADD, Action.ALIAS_REMOVE):
        if not change.mailbox:
            raise Rejected("alias.no_mailbox", address=str(target))
        mailbox = parse_address(change.mailbox, "mailbox")
        alias_plan = _alias if change.action is Action.ALIAS_ADD else _no_alias
        return Intent(mailbox, partial(alias_plan, address=target, mailbox=mailbox))
    destinations = frozenset(parse_address(each, "destinations") for each in change.destinations)
    if change.action is Action.FORWARD_ADD and destinations:
        return Intent(target, partial(_forward, target=target, destinations=destinations))
    if change.action is Action.FORWARD_REMOVE:
        return Intent(target, partial(_no_forward, target=target, destinations=destinations))
    if change.action is Action.PASSWORD:
        return Intent(target, partial(_is_mailbox, mailbox=target))
    raise Rejected("forward.no_destinations", address=str(target))


def password_intent(mailbox: str, password: str) -> Intent:
    """Return the intent to replace a mailbox's passwords with a new one.

    :raises InvalidInput: the address or the password is invalid
    """
    name = parse_address(mailbox)
    flaw = password_flaw(password)
    if flaw:
        raise InvalidInput(f"password: it {flaw}")
    passwords = Passwords({name: (password,)}, replace=True)

    def plan(tenant: TenantState) -> Plan:
        _is_mailbox(tenant, name)
        return plan_tenant(tenant, definition_of(DeclaredMailbox(name)), passwords=passwords)

    return Intent(name, plan)


def _is_mailbox(tenant: TenantState, mailbox: Name) -> Plan:
    """Return an empty plan, or raise Rejected if this is not a mailbox."""
    if not isinstance(tenant.find(mailbox), Mailbox):
        raise Rejected("mailbox.not_a_mailbox", address=str(mailbox))
    return Plan()


def _alias(tenant: TenantState, address: Name, mailbox: Name) -> Plan:
    _is_mailbox(tenant, mailbox)
    declared = DeclaredMailbox(mailbox, aliases=frozenset({address}), must_exist=True)
    plan = _plan(tenant, declared)
    if plan.changes:
        _must_be_free(tenant, address, mailbox)
    return plan


def _no_alias(tenant: TenantState, address: Name, mailbox: Name) -> Plan:
    if address == mailbox:
        raise Rejected("alias.own_address", address=str(address))
    if tenant.find(mailbox) is not None:
        _is_mailbox(tenant, mailbox)
    absent = {address: DECLARED_ABSENT}
    return _plan(tenant, DeclaredMailbox(mailbox, absent_aliases=absent, must_exist=True))


def _forward(tenant: TenantState, target: Name, destinations: frozenset[Name]) -> Plan:
    found = tenant.find(target)
    if isinstance(found, Forwarder):
        new, own = destinations - found.members, found.addresses
    else:
        new, own = destinations, frozenset({target})
        _must_be_free(tenant, target)
        _must_not_be_destination(tenant, target)
    if not new:
        return Plan()
    _must_store_mail(tenant, new, own)
    return _plan(tenant, DeclaredForwarder(target, members=destinations, purge_members=False))


def _no_forward(tenant: TenantState, target: Name, destinations: frozenset[Name]) -> Plan:
    """Remove destinations; with the last one, or if none is named, remove the forwarder."""
    found = tenant.find(target)
    if found is None and tenant.owner_of(target) is None:
        return Plan()
    if not isinstance(found, Forwarder):
        raise Rejected("forward.not_a_forwarder", address=str(target))
    leaving = found.members & destinations
    if not destinations or leaving == found.members:
        return _plan(tenant, DeclaredForwarder(target, absent=True))
    return _plan(tenant, DeclaredForwarder(target, members=found.members - leaving))


def _plan(tenant: TenantState, declared: Declared) -> Plan:
    return plan_tenant(tenant, definition_of(declared))


def _must_be_free(tenant: TenantState, address: Name, mailbox: Name | None = None) -> None:
    """Reject an address that already delivers elsewhere.

    :param mailbox: the mailbox that may own the address without its ``+tag``
    """
    owner = tenant.owner_of(_untagged(address))
    if tenant.owner_of(address) is not None or (owner is not None and owner.name != mailbox):
        raise Rejected("address.taken", address=str(address))
    if not tenant.has_domain(address.domain):
        raise Rejected("domain.missing", domain=str(address.domain))


def _untagged(address: Name) -> Name:
    """Return the address without its ``+tag``: mail servers deliver unknown addresses there."""
    local, _, domain = address.key.rpartition("@")
    name, tag, _ = local.partition("+")
    return parse_address(f"{name}@{domain}") if name and tag else address


def _must_not_be_destination(tenant: TenantState, target: Name) -> None:
    """Reject a forwarder that is a destination of another one."""
    for principal in tenant.principals:
        members = principal.members if isinstance(principal, Forwarder) else ()
        if target in members or target in map(_untagged, members):
            raise Rejected("forward.is_destination", address=str(target))


def _must_store_mail(tenant: TenantState, new: Iterable[Name], own: frozenset[Name]) -> None:
    """Reject new destinations that do not exist or that forward their mail."""
    for destination in sorted(new):
        arrives = destination if tenant.owner_of(destination) else _untagged(destination)
        if tenant.owner_of(arrives) is None and tenant.has_domain(destination.domain):
            raise Rejected("forward.missing_destination", destination=str(destination))
        if arrives in own:
            raise Rejected("forward.loop", destination=str(destination))
        if isinstance(tenant.owner_of(arrives), Forwarder):
            raise Rejected("forward.to_forwarder", destination=str(destination))
