# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""From a wish to a plan of the client core, or to a sentence that tells why there is none.

The core's own refusals name whoever is in the way. Most people must not learn that, so whatever
they may run into is looked for here first and said in words that name nobody but what they wrote.
All of this is pure: it asks a Tenant and sends nothing.
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
from postroom_client.tenant.definition import (
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
    """What is to be planned.

    :param name: the mailbox or forwarder that it is about
    :param plan: gives the plan for a tenant; raises Rejected where people can be told why not
    """

    name: Name
    plan: Callable[[TenantState], Plan]


def intent_of(change: Change) -> Intent:
    """Return what a wish for an alias or a forwarder means; its mailbox is known by now.

    :raises InvalidInput: an address can't be used
    :raises Rejected: the wish lacks something
    """
    target = parse_address(change.target, "target")
    if change.action in (Action.ALIAS_ADD, Action.ALIAS_REMOVE):
        if not change.mailbox:
            raise Rejected(f"Say which mailbox `{target}` belongs to.")
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
    raise Rejected(f"Say where mail to `{target}` is to go on to.")


def password_intent(mailbox: str, password: str) -> Intent:
    """Return the intent to replace a mailbox's passwords by one.

    :raises InvalidInput: the address or the password can't be used
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


def taken(address: object) -> Rejected:
    """Return the refusal for an address that somebody has; it doesn't say who."""
    return Rejected(f"`{address}` already delivers somewhere else. Ask an administrator.")


def no_domain(domain: object) -> Rejected:
    """Return the refusal for a domain that the tenant does not have."""
    return Rejected(
        f"The domain `{domain}` is not set up here. Check the spelling, or ask an administrator."
    )


def _is_mailbox(tenant: TenantState, mailbox: Name) -> Plan:
    """Return an empty plan for what is a mailbox."""
    if not isinstance(tenant.find(mailbox), Mailbox):
        raise Rejected(f"`{mailbox}` is not a mailbox here. Check the spelling.")
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
        raise Rejected(f"`{address}` is the mailbox's own address, which can't be removed.")
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
        _must_end_no_forward(tenant, target)
    if not new:
        return Plan()
    _must_store_mail(tenant, new, own)
    return _plan(tenant, DeclaredForwarder(target, members=destinations, purge_members=False))


def _no_forward(tenant: TenantState, target: Name, destinations: frozenset[Name]) -> Plan:
    """Take destinations out; the last one, or all where none is named, with the forwarder."""
    found = tenant.find(target)
    if found is None and tenant.owner_of(target) is None:
        return Plan()
    if not isinstance(found, Forwarder):
        raise Rejected(f"`{target}` is not a forwarder of its own. Ask an administrator.")
    leaving = found.members & destinations
    if not destinations or leaving == found.members:
        return _plan(tenant, DeclaredForwarder(target, absent=True))
    return _plan(tenant, DeclaredForwarder(target, members=found.members - leaving))


def _plan(tenant: TenantState, declared: Declared) -> Plan:
    return plan_tenant(tenant, definition_of(declared))


def _must_be_free(tenant: TenantState, address: Name, mailbox: Name | None = None) -> None:
    """Refuse an address that delivers elsewhere already.

    :param mailbox: whose own address may be the one without its ``+tag``
    """
    owner = tenant.owner_of(_untagged(address))
    if tenant.owner_of(address) is not None or (owner is not None and owner.name != mailbox):
        raise taken(address)
    if not tenant.has_domain(address.domain):
        raise no_domain(address.domain)


def _untagged(address: Name) -> Name:
    """Return where mail servers deliver to what nobody has: the address without its ``+tag``."""
    local, _, domain = address.key.rpartition("@")
    name, tag, _ = local.partition("+")
    return parse_address(f"{name}@{domain}") if name and tag else address


def _must_end_no_forward(tenant: TenantState, target: Name) -> None:
    """Refuse a forwarder where another one leads to: mail would go on twice."""
    for principal in tenant.principals:
        members = principal.members if isinstance(principal, Forwarder) else ()
        if target in members or target in map(_untagged, members):
            raise Rejected(
                f"Mail is forwarded to `{target}` already, and one forwarder may not lead to "
                "another. Ask an administrator."
            )


def _must_store_mail(tenant: TenantState, new: Iterable[Name], own: frozenset[Name]) -> None:
    """Refuse new destinations from which mail would go on, or come back."""
    for destination in sorted(new):
        arrives = destination if tenant.owner_of(destination) else _untagged(destination)
        if tenant.owner_of(arrives) is None and tenant.has_domain(destination.domain):
            raise Rejected(f"`{destination}` does not exist here. Check the spelling.")
        if arrives in own:
            raise Rejected(f"Mail to `{destination}` would come back to itself. Name another one.")
        if isinstance(tenant.owner_of(arrives), Forwarder):
            raise Rejected(
                f"`{destination}` forwards its mail too, and one forwarder may not lead to "
                "another. Name an address where mail stays."
            )
