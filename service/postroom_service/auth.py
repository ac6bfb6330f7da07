# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bearer tokens. Each is bound to a tenant, shown only once, and stored as a SHA-256 hash."""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import time
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, case, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from .errors import Problem
from .store import tables

PREFIX = "postroom_"
DAY = 86400

_token, _tenant = tables.token.c, tables.tenant.c

# The statement is built only once, because it runs for every request.
_FIND_CALLER = (
    select(_tenant.id, _tenant.name)
    .join_from(tables.token, tables.tenant)
    .where(_token.hash == bindparam("hash"), _token.revoked_at.is_(None))
    .where(or_(_token.expires_at.is_(None), _token.expires_at > bindparam("now")))
)


class Caller(NamedTuple):
    """The tenant on whose behalf a request is made."""

    tenant_id: int
    tenant: str


def ensure_tenant(connection: Connection, name: str) -> int:
    """Return the id of a tenant, creating the tenant if it doesn't exist."""
    query = select(_tenant.id).where(_tenant.name == name)
    if connection.scalar(query) is None:
        # Another transaction may create it at the same time.
        with contextlib.suppress(IntegrityError), connection.begin_nested():
            connection.execute(insert(tables.tenant).values(name=name))
    return int(connection.execute(query).scalar_one())


def create(
    connection: Connection, tenant: str, *, label: str = "", expires_days: float | None = None
) -> str:
    """Create a token for a tenant, store only the token's hash, and return the token."""
    text = PREFIX + secrets.token_urlsafe(32)
    now = int(time.time())
    row = {
        "tenant_id": ensure_tenant(connection, tenant),
        "hash": _digest(text),
        "label": label,
        "created_at": now,
        "expires_at": None if expires_days is None else now + int(expires_days * DAY),
    }
    connection.execute(insert(tables.token).values(row))
    return text


def listing(connection: Connection) -> list[tuple[Any, ...]]:
    """Return all tokens, oldest first: id, tenant, label, creation time, expiry time, state."""
    state = case(
        (_token.revoked_at.is_not(None), "revoked"),
        (_token.expires_at <= int(time.time()), "expired"),
        else_="active",
    )
    query = select(
        _token.id, _tenant.name, _token.label, _token.created_at, _token.expires_at, state
    ).join_from(tables.token, tables.tenant)
    return [tuple(row) for row in connection.execute(query.order_by(_token.id))]


def revoke(connection: Connection, id: int) -> bool:
    """Revoke a token, or return False if there is no such token."""
    revoked_at = func.coalesce(_token.revoked_at, int(time.time()))
    statement = update(tables.token).where(_token.id == id).values(revoked_at=revoked_at)
    return connection.execute(statement).rowcount > 0


def authenticate(connection: Connection, headers: list[str]) -> Caller:
    """Return the caller that the Authorization header identifies, or raise a Problem (401)."""
    scheme, _, text = headers[0].strip().partition(" ") if len(headers) == 1 else ("", "", "")
    if scheme.lower() != "bearer" or not text:
        raise Problem(
            "token_missing",
            "Send one header of the form Authorization: Bearer <ACCESS_TOKEN>.",
            headers={"WWW-Authenticate": 'Bearer realm="postroom"'},
        )
    caller = find_caller(connection, text)
    if caller is None:
        challenge = {"WWW-Authenticate": 'Bearer realm="postroom", error="invalid_token"'}
        raise Problem(
            "token_invalid", "The token is unknown, expired or revoked.", headers=challenge
        )
    return caller


def find_caller(connection: Connection, token: str) -> Caller | None:
    """Return the caller that a token identifies, or None if it is unknown, expired or revoked."""
    values = {"hash": _digest(token.strip()), "now": int(time.time())}
    row = connection.execute(_FIND_CALLER, values).first()
    return None if row is None else Caller._make(row)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def lock(connection: Connection, caller: Caller) -> None:
    """Serialize a tenant's writes, so that each request is checked against the current state.

    A lock on the tenant is enough, because unique constraints prevent conflicts between tenants.
    SQLite needs no lock, because it has one writer at a time.
    """
    if connection.dialect.name == "postgresql":
        tenant = select(_tenant.id).where(_tenant.id == caller.tenant_id)
        connection.execute(tenant.with_for_update())
