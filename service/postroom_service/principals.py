# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""One tenant's principals, read and written over one open transaction."""

from __future__ import annotations

import time
import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, bindparam, delete, insert, select
from sqlalchemy.exc import IntegrityError

from . import dkim, names, rules, tables
from .problems import FieldError, Problem
from .schemas import Changes, NewDomain, NewForwarder, NewMailbox, NewPrincipal

_principal, _address, _member = tables.principal.c, tables.address.c, tables.member.c

Shape = dict[str, Any]

# The statements of the busy paths are built once.
_FIND = select(_principal.id, _principal.kind, _principal.name).where(
    _principal.tenant_id == bindparam("tenant"), _principal.name == bindparam("name")
)
_EMAILS_OF = (
    select(_address.address)
    .where(_address.principal_id == bindparam("id"))
    .order_by(_address.position)
)
_MEMBERS_OF = (
    select(_member.address)
    .where(_member.principal_id == bindparam("id"))
    .order_by(_member.position)
)


class Row(NamedTuple):
    """A principal without its lists."""

    id: int
    kind: str
    name: str


class Directory:
    """What one tenant has. Names and addresses given to it are in normal form."""

    def __init__(self, connection: Connection, tenant_id: int) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    # Reading

    def find(self, name: str | None) -> Row:
        """Find a principal by name, or raise the 404 problem, also for what other tenants have."""
        row = (
            name
            and self._connection.execute(_FIND, {"tenant": self._tenant_id, "name": name}).first()
        )
        if not row:
            raise Problem("principal_not_found", "This account has no principal of that name.")
        return Row._make(row)

    def get(self, name: str | None) -> Shape:
        """Give one principal in its response shape."""
        return self._shape(self.find(name))

    def listing(self, kinds: Sequence[str]) -> list[Shape]:
        """Give all principals of some kinds, oldest first, with a fixed number of queries."""
        chosen = [_principal.tenant_id == self._tenant_id, _principal.kind.in_(kinds)]
        rows = self._connection.execute(
            select(_principal.id, _principal.kind, _principal.name)
            .where(*chosen)
            .order_by(_principal.id)
        ).all()
        if kinds == ("domain",):
            return [_shape(kind, name, [], []) for _, kind, name in rows]
        emails = self._lists(tables.address, chosen)
        members = self._lists(tables.member, chosen)
        return [
            _shape(kind, name, emails.get(id, []), members.get(id, [])) for id, kind, name in rows
        ]

    def public_key(self, domain: str | None) -> str:
        """Give the public half of a domain's DKIM key, or raise the 404 problem."""
        key = tables.dkim_key.c
        query = (
            select(key.public_base64)
            .join_from(tables.dkim_key, tables.principal)
            .where(_principal.tenant_id == self._tenant_id, _principal.name == domain)
        )
        found: str | None = self._connection.scalar(query)
        if found is None:
            raise Problem("domain_not_found", "This account has no domain of that name registered.")
        return found

    # Checking

    def check_new(self, new: NewPrincipal) -> None:
        """Raise the problem that stands against creating `new`, if there is one."""
        if isinstance(new, NewDomain):
            rules.name_free(new.name, taken=self._name_exists(new.name))
            return
        rules.primary_in_emails(new.name, new.emails)
        if isinstance(new, NewForwarder):
            rules.no_self_reference(new.emails, new.members)
        rules.domains_registered(new.name, new.emails, self._domain_ids(new.emails))
        rules.name_free(new.name, taken=self._name_exists(new.name))
        rules.addresses_free(new.emails, self._owners(new.emails))

    def check_changes(self, name: str | None, changes: Changes) -> Row:
        """Raise the problem that stands against the changes, if there is one."""
        row = self.find(name)
        rules.changes_fit(row.kind, changes)
        if changes.emails is not None:
            rules.primary_in_emails(row.name, changes.emails)
            rules.domains_registered(row.name, changes.emails, self._domain_ids(changes.emails))
            rules.addresses_free(changes.emails, self._owners(changes.emails, besides=row.id))
        if changes.members is not None:
            emails = self._column(_EMAILS_OF, row.id) if changes.emails is None else changes.emails
            rules.no_self_reference(emails, changes.members)
        return row

    # Writing

    def create_domain(self, new: NewDomain, key: dkim.Key) -> Shape:
        """Register a domain with its DKIM key."""
        self.check_new(new)
        try:
            id = self._insert_principal("domain", new.name, None)
        except IntegrityError:  # another tenant's transaction was first
            rules.name_free(new.name, taken=True)
            raise
        values = {
            "principal_id": id,
            "private_pem": key.private_pem,
            "public_base64": key.public_base64,
        }
        self._connection.execute(insert(tables.dkim_key).values(values))
        return _shape("domain", new.name, [], [])

    def create_mailbox(self, new: NewMailbox, hashes: Sequence[str]) -> Shape:
        """Create a mailbox with its hashed secrets."""
        id = self._create_individual("mailbox", new)
        self._put_secrets(id, hashes)
        return _shape("mailbox", new.name, new.emails, [])

    def create_forwarder(self, new: NewForwarder) -> Shape:
        """Create a forwarder."""
        id = self._create_individual("forwarder", new)
        self._put_members(id, new.members)
        self._check_cycle(id)
        return _shape("forwarder", new.name, new.emails, new.members)

    def update(self, name: str | None, changes: Changes, hashes: Sequence[str]) -> Shape:
        """Carry out a PATCH."""
        row = self.check_changes(name, changes)
        if changes.emails is not None:
            self._connection.execute(delete(tables.address).where(_address.principal_id == row.id))
            self._put_emails(row.id, changes.emails)
        if changes.members is not None:
            self._connection.execute(delete(tables.member).where(_member.principal_id == row.id))
            self._put_members(row.id, changes.members)
        if changes.secrets is not None:
            self._connection.execute(
                delete(tables.secret).where(tables.secret.c.principal_id == row.id)
            )
            self._put_secrets(row.id, hashes)
        if row.kind == "forwarder":
            self._check_cycle(row.id)
        return self._shape(row)

    def delete(self, name: str | None) -> None:
        """Delete a principal; with a domain goes, by the schema's cascades, every address on it."""
        row = self.find(name)
        self._connection.execute(delete(tables.principal).where(_principal.id == row.id))

    # Parts

    def _shape(self, row: Row) -> Shape:
        if row.kind == "domain":
            return _shape(row.kind, row.name, [], [])
        members = self._column(_MEMBERS_OF, row.id) if row.kind == "forwarder" else []
        return _shape(row.kind, row.name, self._column(_EMAILS_OF, row.id), members)

    def _column(self, query: Select[Any], id: int) -> list[str]:
        return list(self._connection.scalars(query, {"id": id}))

    def _lists(self, table: Any, chosen: Sequence[Any]) -> dict[int, list[str]]:
        query = select(table.c.principal_id, table.c.address).join_from(
            table, tables.principal, table.c.principal_id == _principal.id
        )
        lists: dict[int, list[str]] = defaultdict(list)
        for id, address in self._connection.execute(
            query.where(*chosen).order_by(table.c.principal_id, table.c.position)
        ):
            lists[id].append(address)
        return lists

    def _name_exists(self, name: str) -> bool:
        return (
            self._connection.scalar(select(_principal.id).where(_principal.name == name))
            is not None
        )

    def _domain_ids(self, addresses: Iterable[str]) -> dict[str, int]:
        wanted = {names.domain_of(address) for address in addresses}
        query = select(_principal.name, _principal.id).where(
            _principal.tenant_id == self._tenant_id,
            _principal.kind == "domain",
            _principal.name.in_(wanted),
        )
        return dict(self._connection.execute(query).tuples().all())

    def _owners(self, addresses: Sequence[str], besides: int | None = None) -> dict[str, str]:
        query = (
            select(_address.address, _principal.name)
            .join_from(tables.address, tables.principal, _address.principal_id == _principal.id)
            .where(_address.address.in_(addresses))
        )
        if besides is not None:
            query = query.where(_principal.id != besides)
        return dict(self._connection.execute(query).tuples().all())

    def _create_individual(self, kind: str, new: NewMailbox | NewForwarder) -> int:
        self.check_new(new)
        domain_id = self._domain_ids([new.name])[names.domain_of(new.name)]
        id = self._insert_principal(kind, new.name, domain_id)
        self._put_emails(id, new.emails)
        return id

    def _insert_principal(self, kind: str, name: str, domain_id: int | None) -> int:
        values = {
            "tenant_id": self._tenant_id,
            "domain_id": domain_id,
            "kind": kind,
            "name": name,
            "uid": uuid.uuid4().hex,
            "created_at": int(time.time()),
        }
        made = insert(tables.principal).values(values).returning(_principal.id)
        return int(self._connection.execute(made).scalar_one())

    def _put_emails(self, id: int, emails: Sequence[str]) -> None:
        domains = self._domain_ids(emails)
        rows = [
            {
                "principal_id": id,
                "address": address,
                "domain_id": domains[names.domain_of(address)],
                "position": n,
            }
            for n, address in enumerate(emails)
        ]
        self._connection.execute(insert(tables.address), rows)

    def _put_members(self, id: int, members: Sequence[str]) -> None:
        rows = [
            {"principal_id": id, "address": member, "position": n}
            for n, member in enumerate(members)
        ]
        self._connection.execute(insert(tables.member), rows)

    def _put_secrets(self, id: int, hashes: Sequence[str]) -> None:
        rows = [{"principal_id": id, "hash": hash, "position": n} for n, hash in enumerate(hashes)]
        self._connection.execute(insert(tables.secret), rows)

    def _check_cycle(self, id: int) -> None:
        """Refuse a forwarder from whose destinations mail finds back to it, however far.

        Only the tenant's own forwarders are followed: to refuse for another's would tell of them.
        """
        reached = (
            select(_member.address).where(_member.principal_id == id).cte("reached", recursive=True)
        )
        onward = (
            select(_member.address)
            .join_from(reached, tables.address, _address.address == reached.c.address)
            .join(tables.principal, _principal.id == _address.principal_id)
            .join(tables.member, _member.principal_id == _principal.id)
            .where(_principal.tenant_id == self._tenant_id)
        )
        reached = reached.union(onward)
        back = select(_address.address).join_from(
            reached, tables.address, _address.address == reached.c.address
        )
        address: str | None = self._connection.scalar(
            back.where(_address.principal_id == id).limit(1)
        )
        if address is not None:
            detail = f"Mail would come back to {address} over other forwarders."
            raise Problem("forwarder_cycle", detail, errors=[FieldError("/members", detail)])


def _shape(kind: str, name: str, emails: Sequence[str], members: Sequence[str]) -> Shape:
    """Give the response shape of a principal, with the fields of its kind and no others."""
    shape: Shape = {
        "id": name,
        "name": name,
        "type": "domain" if kind == "domain" else "individual",
    }
    if kind != "domain":
        shape["emails"] = list(emails)
    if kind == "forwarder":
        shape["members"] = list(members)
    return shape
