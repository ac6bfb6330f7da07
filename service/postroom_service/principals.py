# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""One tenant's principals, read and written over one open transaction."""

from __future__ import annotations

import time
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Executable, Select
from sqlalchemy.exc import IntegrityError

from . import dkim, names, queries, rules
from .problems import FieldError, Problem
from .schemas import Changes, NewDomain, NewForwarder, NewMailbox

Shape = dict[str, Any]


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
        row = name and self._query(queries.FIND, name=name).first()
        if not row:
            raise Problem("principal_not_found", "This account has no principal of that name.")
        return Row._make(row)

    def get(self, name: str | None) -> Shape:
        """Give one principal in its response shape."""
        return self._shape(self.find(name))

    def listing(self, kinds: Sequence[str]) -> list[Shape]:
        """Give all principals of some kinds, oldest first, with a fixed number of queries."""
        rows = self._query(queries.LISTING, kinds=kinds).all()
        individuals = [kind for kind in kinds if kind != "domain"]
        emails = self._lists(queries.LISTING_EMAILS, individuals)
        members = self._lists(queries.LISTING_MEMBERS, individuals)
        return [
            _shape(kind, name, emails.get(id, ()), members.get(id, ())) for id, kind, name in rows
        ]

    def public_key(self, domain: str | None) -> str:
        """Give the public half of a domain's DKIM key, or raise the 404 problem."""
        found: str | None = self._query(queries.PUBLIC_KEY, name=domain).scalar()
        if found is None:
            raise Problem("domain_not_found", "This account has no domain of that name registered.")
        return found

    # Checking

    def check_new_domain(self, new: NewDomain) -> None:
        """Raise the problem that stands against registering a domain, if there is one."""
        taken = self._query(queries.NAME_EXISTS, name=new.name).first() is not None
        rules.name_free(new.name, taken=taken)

    def check_new_individual(self, new: NewMailbox | NewForwarder) -> dict[str, int]:
        """Raise the problem that stands against creating `new`, or give its domains' numbers."""
        rules.primary_in_emails(new.name, new.emails)
        if isinstance(new, NewForwarder):
            rules.no_self_reference(new.emails, new.members)
        domains = self._domain_ids(new.emails)
        rules.domains_registered(new.name, new.emails, domains)
        owners = self._owners(new.emails)
        rules.name_free(new.name, taken=owners.get(new.name) == new.name)
        rules.addresses_free(new.emails, owners)
        return domains

    def check_changes(self, name: str | None, changes: Changes) -> Row:
        """Raise the problem that stands against the changes, if there is one."""
        row = self.find(name)
        rules.changes_fit(row.kind, changes)
        if changes.emails is not None:
            rules.primary_in_emails(row.name, changes.emails)
            rules.domains_registered(row.name, changes.emails, self._domain_ids(changes.emails))
            rules.addresses_free(changes.emails, self._owners(changes.emails, besides=row.id))
        if changes.members is not None:
            emails = (
                self._column(queries.EMAILS_OF, row.id)
                if changes.emails is None
                else changes.emails
            )
            rules.no_self_reference(emails, changes.members)
        return row

    # Writing

    def create_domain(self, new: NewDomain, key: dkim.Key) -> Shape:
        """Register a domain with its DKIM key."""
        self.check_new_domain(new)
        try:
            id = self._insert_principal("domain", new.name, None)
        except IntegrityError:  # another tenant's transaction was first
            rules.name_free(new.name, taken=True)
            raise
        self._change(
            queries.ADD_KEY,
            principal_id=id,
            private_pem=key.private_pem,
            public_base64=key.public_base64,
        )
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
            self._change(queries.DROP_EMAILS, id=row.id)
            self._put_emails(row.id, changes.emails, self._domain_ids(changes.emails))
        if changes.members is not None:
            self._change(queries.DROP_MEMBERS, id=row.id)
            self._put_members(row.id, changes.members)
        if changes.secrets is not None:
            self._change(queries.DROP_SECRETS, id=row.id)
            self._put_secrets(row.id, hashes)
        if row.kind == "forwarder":
            self._check_cycle(row.id)
        return self._shape(row)

    def delete(self, name: str | None) -> None:
        """Delete a principal; with a domain goes, by the schema's cascades, every address on it."""
        row = self.find(name)
        self._change(queries.DROP_PRINCIPAL, id=row.id)

    # Parts

    def _shape(self, row: Row) -> Shape:
        if row.kind == "domain":
            return _shape(row.kind, row.name, [], [])
        members = self._column(queries.MEMBERS_OF, row.id) if row.kind == "forwarder" else []
        return _shape(row.kind, row.name, self._column(queries.EMAILS_OF, row.id), members)

    def _query(self, query: Executable, **parameters: Any) -> Any:
        return self._connection.execute(query, {"tenant": self._tenant_id, **parameters})

    def _change(self, statement: Executable, **parameters: Any) -> Any:
        return self._connection.execute(statement, parameters)

    def _column(self, query: Select[Any], id: int) -> list[str]:
        return list(self._query(query, id=id).scalars())

    def _lists(self, query: Select[Any], kinds: Sequence[str]) -> dict[int, list[str]]:
        lists: dict[int, list[str]] = defaultdict(list)
        if kinds:
            for id, address in self._query(query, kinds=kinds).all():
                lists[id].append(address)
        return lists

    def _domain_ids(self, addresses: Iterable[str]) -> dict[str, int]:
        wanted = {names.domain_of(address) for address in addresses}
        return dict(self._query(queries.DOMAIN_IDS, names=list(wanted)).all())

    def _owners(self, addresses: Sequence[str], besides: int = 0) -> dict[str, str]:
        rows = self._query(queries.OWNERS, addresses=list(addresses), besides=besides)
        return dict(rows.all())

    def _create_individual(self, kind: str, new: NewMailbox | NewForwarder) -> int:
        domains = self.check_new_individual(new)
        id = self._insert_principal(kind, new.name, domains[names.domain_of(new.name)])
        self._put_emails(id, new.emails, domains)
        return id

    def _insert_principal(self, kind: str, name: str, domain_id: int | None) -> int:
        made = self._change(
            queries.ADD_PRINCIPAL,
            tenant_id=self._tenant_id,
            domain_id=domain_id,
            kind=kind,
            name=name,
            uid=uuid.uuid4().hex,
            created_at=int(time.time()),
        )
        return int(made.scalar_one())

    def _put_emails(self, id: int, emails: Sequence[str], domains: Mapping[str, int]) -> None:
        rows = [
            {
                "principal_id": id,
                "address": address,
                "domain_id": domains[names.domain_of(address)],
                "position": n,
            }
            for n, address in enumerate(emails)
        ]
        self._connection.execute(queries.ADD_EMAILS, rows)

    def _put_members(self, id: int, members: Sequence[str]) -> None:
        rows = [
            {"principal_id": id, "address": member, "position": n}
            for n, member in enumerate(members)
        ]
        self._connection.execute(queries.ADD_MEMBERS, rows)

    def _put_secrets(self, id: int, hashes: Sequence[str]) -> None:
        rows = [{"principal_id": id, "hash": hash, "position": n} for n, hash in enumerate(hashes)]
        self._connection.execute(queries.ADD_SECRETS, rows)

    def _check_cycle(self, id: int) -> None:
        """Refuse a forwarder from whose destinations mail finds back to it, however far.

        Only the tenant's own forwarders are followed: to refuse for another's would tell of them.
        """
        address: str | None = self._query(queries.CYCLE, id=id).scalar()
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
