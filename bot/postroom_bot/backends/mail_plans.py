# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Plan a requested change with the client core, or reject it with a reason.

The core's messages name the current owner of an address, but most users must not learn who that is.
This module therefore detects common problems first, and its reasons mention only what the requester
typed. Nothing in this module changes the tenant.
"""

from __future__ import annotations

from postroom_bot.domain import Action, Change
from postroom_bot.errors import Rejected
from postroom_client.errors import Refused
from postroom_client.models import Forwarder, Mailbox
from postroom_client.names import Name, parse_address
from postroom_client.tenant.declared import (
    Declared,
    DeclaredForwarder,
    DeclaredMailbox,
    definition_of,
)
from postroom_client.tenant.plan import Plan
from postroom_client.tenant.planner import plan_tenant
from postroom_client.tenant.problems import DECLARED_ABSENT
from postroom_client.tenant.state import TenantState


def plan_change(tenant: TenantState, change: Change) -> tuple[Name, Plan]:
    """Return the name of the mailbox or forwarder to change, and the plan.

    :raises InvalidInput: if an address is invalid
    :raises Rejected: if the change can't be made
    :raises ValueError: if the change is a new password
    """
    target = parse_address(change.target, "target")
    match change.action:
        case Action.ALIAS_ADD | Action.ALIAS_REMOVE:
            if not change.mailbox:
                raise Rejected("alias.no_mailbox", address=str(target))
            mailbox = parse_address(change.mailbox, "mailbox")
            return mailbox, (_alias if change.action.adds else _no_alias)(tenant, target, mailbox)
        case Action.FORWARD_ADD | Action.FORWARD_REMOVE:
            destinations = frozenset(
                parse_address(each, "destinations") for each in change.destinations
            )
            return target, (_forward if change.action.adds else _no_forward)(
                tenant, target, destinations
            )
    raise ValueError("plan_change can't plan a new password. Use MailApi.set_password.")


def require_no_problems(plan: Plan) -> Plan:
    """Return the plan, or raise Refused if it has problems that this module did not detect."""
    if plan.problems:
        raise Refused(" ".join(problem.text for problem in plan.problems))
    return plan


def require_mailbox(tenant: TenantState, mailbox: Name) -> None:
    """Raise Rejected unless the name belongs to a mailbox."""
    if not isinstance(tenant.find(mailbox), Mailbox):
        raise Rejected("mailbox.not_a_mailbox", address=str(mailbox))


def _alias(tenant: TenantState, address: Name, mailbox: Name) -> Plan:
    require_mailbox(tenant, mailbox)
    declared = DeclaredMailbox(mailbox, aliases=frozenset({address}), only_aliases=True)
    plan = _plan(tenant, declared)
    if plan.changes:
        _require_free(tenant, address, mailbox)
    return plan


def _no_alias(tenant: TenantState, address: Name, mailbox: Name) -> Plan:
    if address == mailbox:
        raise Rejected("alias.own_address", address=str(address))
    if tenant.find(mailbox) is not None:
        require_mailbox(tenant, mailbox)
    absent = {address: DECLARED_ABSENT}
    return _plan(tenant, DeclaredMailbox(mailbox, absent_aliases=absent, only_aliases=True))


def _forward(tenant: TenantState, target: Name, destinations: frozenset[Name]) -> Plan:
    """Plan to add destinations. Each destination must exist and must not be a forwarder."""
    if not destinations:
        raise Rejected("forward.no_destinations", address=str(target))
    new, own, found = destinations, frozenset({target}), tenant.find(target)
    if isinstance(found, Forwarder):
        new, own = new - found.members, found.addresses
    else:
        _require_free(tenant, target)
        for principal in tenant.principals:
            members = principal.members if isinstance(principal, Forwarder) else ()
            if target in members or target in map(_untagged, members):
                raise Rejected("forward.is_destination", address=str(target))
    for destination in sorted(new):
        arrives = destination if tenant.owner_of(destination) else _untagged(destination)
        if tenant.owner_of(arrives) is None and tenant.has_domain(destination.domain):
            raise Rejected("forward.missing_destination", destination=str(destination))
        if arrives in own:
            raise Rejected("forward.loop", destination=str(destination))
        if isinstance(tenant.owner_of(arrives), Forwarder):
            raise Rejected("forward.to_forwarder", destination=str(destination))
    if not new:
        return Plan()
    return _plan(tenant, DeclaredForwarder(target, members=destinations, purge_members=False))


def _no_forward(tenant: TenantState, target: Name, destinations: frozenset[Name]) -> Plan:
    """Plan to remove destinations, or the forwarder if no destinations are named or remain."""
    found = tenant.find(target)
    if found is None and tenant.owner_of(target) is None:
        return Plan()
    if not isinstance(found, Forwarder):
        raise Rejected("forward.not_a_forwarder", address=str(target))
    remaining = found.members - destinations
    if not destinations or not remaining:
        return _plan(tenant, DeclaredForwarder(target, absent=True))
    return _plan(tenant, DeclaredForwarder(target, members=remaining))


def _plan(tenant: TenantState, declared: Declared) -> Plan:
    return plan_tenant(tenant, definition_of(declared))


def _require_free(tenant: TenantState, address: Name, mailbox: Name | None = None) -> None:
    """Raise Rejected if an address already delivers elsewhere or its domain is missing.

    :param mailbox: a mailbox that is allowed to own the address without its ``+tag``
    """
    owner = tenant.owner_of(_untagged(address))
    if tenant.owner_of(address) is not None or (owner is not None and owner.name != mailbox):
        raise Rejected("address.taken", address=str(address))
    if not tenant.has_domain(address.domain):
        raise Rejected("domain.missing", domain=str(address.domain))


def _untagged(address: Name) -> Name:
    """Return an address without its ``+tag``. By default, it receives the tagged address's mail."""
    local, _, domain = address.key.rpartition("@")
    name, tag, _ = local.partition("+")
    return parse_address(f"{name}@{domain}") if name and tag else address
