# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""SQL statements for principals, built once: building them takes longer than running them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Select, Table, bindparam, delete, insert, select

from . import tables

_principal, _address = tables.principal.c, tables.address.c
_member, _secret, _key = tables.member.c, tables.secret.c, tables.dkim_key.c

_OF_TENANT = _principal.tenant_id == bindparam("tenant")
_NAMED = _principal.name == bindparam("name")
_ONE_OF_KINDS = _principal.kind.in_(bindparam("kinds", expanding=True))

# Returns one row for each address. For a domain, it returns one row without an address.
FIND = (
    select(_principal.id, _principal.kind, _principal.name, _address.address)
    .outerjoin_from(tables.principal, tables.address, _address.principal_id == _principal.id)
    .where(_OF_TENANT, _NAMED)
    .order_by(_address.position)
)
NAME_EXISTS = select(_principal.id).where(_NAMED)
MEMBERS_OF = (
    select(_member.address)
    .where(_member.principal_id == bindparam("id"))
    .order_by(_member.position)
)
PUBLIC_KEY = (
    select(_key.public_base64)
    .join_from(tables.dkim_key, tables.principal)
    .where(_OF_TENANT, _NAMED)
)
DOMAIN_IDS = select(_principal.name, _principal.id).where(
    _OF_TENANT,
    _principal.kind == "domain",
    _principal.name.in_(bindparam("names", expanding=True)),
)
OWNERS = (
    select(_address.address, _principal.name)
    .join_from(tables.address, tables.principal, _address.principal_id == _principal.id)
    .where(
        _address.address.in_(bindparam("addresses", expanding=True)),
        _principal.id != bindparam("excluding"),
    )
)

LISTING = (
    select(_principal.id, _principal.kind, _principal.name)
    .where(_OF_TENANT, _ONE_OF_KINDS)
    .order_by(_principal.id)
)


def _listing_of(table: Table) -> Select[Any]:
    """Select the addresses of all listed principals from a table."""
    columns = table.c
    of_principal = columns.principal_id == _principal.id
    return (
        select(columns.principal_id, columns.address)
        .join_from(table, tables.principal, of_principal)
        .where(_OF_TENANT, _ONE_OF_KINDS)
        .order_by(columns.principal_id, columns.position)
    )


LISTING_EMAILS = _listing_of(tables.address)
LISTING_MEMBERS = _listing_of(tables.member)

ADD_PRINCIPAL = insert(tables.principal).returning(_principal.id)
ADD_EMAILS = insert(tables.address)
ADD_MEMBERS = insert(tables.member)
ADD_SECRETS = insert(tables.secret)
ADD_KEY = insert(tables.dkim_key)

DROP_PRINCIPAL = delete(tables.principal).where(_OF_TENANT, _NAMED)
DROP_EMAILS = delete(tables.address).where(_address.principal_id == bindparam("id"))
DROP_MEMBERS = delete(tables.member).where(_member.principal_id == bindparam("id"))
DROP_SECRETS = delete(tables.secret).where(_secret.principal_id == bindparam("id"))


def _cycle() -> Select[Any]:
    """Select an address of a forwarder to which mail to the forwarder comes back."""
    start = select(_member.address).where(_member.principal_id == bindparam("id"))
    reached = start.cte("reached", recursive=True)
    onward = (
        select(_member.address)
        .join_from(reached, tables.address, _address.address == reached.c.address)
        .join(tables.principal, _principal.id == _address.principal_id)
        .join(tables.member, _member.principal_id == _principal.id)
        .where(_OF_TENANT)
    )
    reached = reached.union(onward)
    return (
        select(_address.address)
        .join_from(reached, tables.address, _address.address == reached.c.address)
        .where(_address.principal_id == bindparam("id"))
        .limit(1)
    )


CYCLE = _cycle()
