# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Read and write one tenant's principals in an open transaction."""

from __future__ import annotations

import time
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Executable, Select
from sqlalchemy.exc import IntegrityError

from . import dkim, names
from .errors import KINDS, FieldError, Problem
from .schemas import Changes, NewDomain, NewForwarder, NewMailbox
from .store import queries

Shape = dict[str, Any]


class Row(NamedTuple):
    """A principal without its lists."""

    id: int
    kind: str
    name: str


class Directory:
    """One tenant's principals. Names and addresses are passed in normal form."""

    def __init__(self, connection: Connection, tenant_id: int) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    # Reading

    def find(self, name: str | None) -> Row:
        """Return a principal, or raise the 404 problem.

        A principal of another tenant is not found either.
        """
        row = name and self._execute(queries.FIND, name=name).first()
        if not row:
            raise Problem(
                "principal_not_found", "No principal with this name exists in this account."
            )
        return Row._make(row)

    def get(self, name: str | None) -> Shape:
        """Return one principal in its response shape."""
        return self._shape(self.find(name))

    def listing(self, kinds: Sequence[str]) -> list[Shape]:
        """Return all principals of some kinds, oldest first, with a fixed number of queries."""
        rows = self._execute(queries.LISTING, kinds=kinds).all()
        individuals = [kind for kind in kinds if kind != "domain"]
        emails = self._lists(queries.LISTING_EMAILS, individuals)
        members = self._lists(queries.LISTING_MEMBERS, individuals)
        return [
            _shape(kind, name, emails.get(id, ()), members.get(id, ())) for id, kind, name in rows
        ]

    def public_key(self, domain: str | None) -> str:
        """Return the public key of a domain's DKIM key pair, or raise the 404 problem."""
        found: str | None = self._execute(queries.PUBLIC_KEY, name=domain).scalar()
        if found is None:
            raise Problem(
                "domain_not_found", "No domain with this name is registered in this account."
            )
        return found

    # Checking

    def check_new_domain(self, new: NewDomain) -> None:
        """Raise a problem if the domain can't be registered."""
        taken = self._execute(queries.NAME_EXISTS, name=new.name).first() is not None
        _check_name(new.name, taken=taken)

    def check_new_individual(self, new: NewMailbox | NewForwarder) -> dict[str, int]:
        """Return the ids of the domains; raise a problem if `new` can't be created."""
        _check_primary(new.name, new.emails)
        _check_supported("emails", new.emails)
        if isinstance(new, NewForwarder):
            _check_supported("members", new.members)
            _check_members(new.emails, new.members)
        domains = self._domain_ids(new.emails)
        _check_domains(new.name, new.emails, domains)
        owners = self._owners(new.emails)
        _check_name(new.name, taken=owners.get(new.name) == new.name)
        _check_free(new.emails, owners)
        return domains

    def check_changes(self, name: str | None, changes: Changes) -> Row:
        """Return the principal; raise a problem if the changes can't be applied."""
        row = self.find(name)
        _check_kind(row.kind, changes)
        emails = changes.emails
        if emails is not None:
            _check_primary(row.name, emails)
            _check_supported("emails", emails, self._column(queries.EMAILS_OF, row.id))
            _check_domains(row.name, emails, self._domain_ids(emails))
            _check_free(emails, self._owners(emails, excluding=row.id))
        if changes.members is not None:
            _check_supported("members", changes.members, self._column(queries.MEMBERS_OF, row.id))
            _check_members(emails or self._column(queries.EMAILS_OF, row.id), changes.members)
        return row

    # Writing

    def create_domain(self, new: NewDomain, key: dkim.Key) -> Shape:
        """Register a domain with its DKIM key."""
        self.check_new_domain(new)
        try:
            id = self._insert_principal("domain", new.name, None)
        except IntegrityError:  # another tenant's transaction was first
            _check_name(new.name, taken=True)
            raise
        row = {
            "principal_id": id,
            "private_pem": key.private_pem,
            "public_base64": key.public_base64,
        }
        self._connection.execute(queries.ADD_KEY, row)
        return _shape("domain", new.name, [], [])

    def create_mailbox(self, new: NewMailbox, hashes: Sequence[str]) -> Shape:
        """Create a mailbox with its hashed secrets."""
        id = self._create_individual("mailbox", new)
        self._put(queries.ADD_SECRETS, id, hash=hashes)
        return _shape("mailbox", new.name, new.emails, [])

    def create_forwarder(self, new: NewForwarder) -> Shape:
        """Create a forwarder."""
        id = self._create_individual("forwarder", new)
        self._put(queries.ADD_MEMBERS, id, address=new.members)
        self._check_cycle(id)
        return _shape("forwarder", new.name, new.emails, new.members)

    def update(self, name: str | None, changes: Changes, hashes: Sequence[str]) -> Shape:
        """Apply a PATCH."""
        row = self.check_changes(name, changes)
        if changes.emails is not None:
            self._execute(queries.DROP_EMAILS, id=row.id)
            self._put_emails(row.id, changes.emails, self._domain_ids(changes.emails))
        if changes.members is not None:
            self._execute(queries.DROP_MEMBERS, id=row.id)
            self._put(queries.ADD_MEMBERS, row.id, address=changes.members)
        if changes.secrets is not None:
            self._execute(queries.DROP_SECRETS, id=row.id)
            self._put(queries.ADD_SECRETS, row.id, hash=hashes)
        if row.kind == "forwarder":
            self._check_cycle(row.id)
        return self._shape(row)

    def delete(self, name: str | None) -> None:
        """Delete a principal; with a domain, every address on it (ON DELETE CASCADE)."""
        row = self.find(name)
        self._execute(queries.DROP_PRINCIPAL, id=row.id)

    # Helpers

    def _shape(self, row: Row) -> Shape:
        if row.kind == "domain":
            return _shape(row.kind, row.name, [], [])
        members = self._column(queries.MEMBERS_OF, row.id) if row.kind == "forwarder" else []
        return _shape(row.kind, row.name, self._column(queries.EMAILS_OF, row.id), members)

    def _execute(self, statement: Executable, **parameters: Any) -> Any:
        return self._connection.execute(statement, {"tenant": self._tenant_id, **parameters})

    def _column(self, query: Select[Any], id: int) -> list[str]:
        return list(self._execute(query, id=id).scalars())

    def _lists(self, query: Select[Any], kinds: Sequence[str]) -> dict[int, list[str]]:
        lists: dict[int, list[str]] = defaultdict(list)
        if kinds:
            for id, address in self._execute(query, kinds=kinds).all():
                lists[id].append(address)
        return lists

    def _domain_ids(self, addresses: Iterable[str]) -> dict[str, int]:
        wanted = {names.domain_of(address) for address in addresses}
        return dict(self._execute(queries.DOMAIN_IDS, names=list(wanted)).all())

    def _owners(self, addresses: Sequence[str], excluding: int = 0) -> dict[str, str]:
        rows = self._execute(queries.OWNERS, addresses=list(addresses), excluding=excluding)
        return dict(rows.all())

    def _create_individual(self, kind: str, new: NewMailbox | NewForwarder) -> int:
        domains = self.check_new_individual(new)
        id = self._insert_principal(kind, new.name, domains[names.domain_of(new.name)])
        self._put_emails(id, new.emails, domains)
        return id

    def _insert_principal(self, kind: str, name: str, domain_id: int | None) -> int:
        row = {
            "tenant_id": self._tenant_id,
            "domain_id": domain_id,
            "kind": kind,
            "name": name,
            "uid": uuid.uuid4().hex,
            "created_at": int(time.time()),
        }
        return int(self._connection.execute(queries.ADD_PRINCIPAL, row).scalar_one())

    def _put_emails(self, id: int, emails: Sequence[str], domains: Mapping[str, int]) -> None:
        domain_ids = [domains[names.domain_of(address)] for address in emails]
        self._put(queries.ADD_EMAILS, id, address=emails, domain_id=domain_ids)

    def _put(self, statement: Executable, id: int, **columns: Sequence[Any]) -> None:
        """Insert a principal's list, given as columns."""
        rows = [
            {"principal_id": id, "position": n, **dict(zip(columns, values, strict=True))}
            for n, values in enumerate(zip(*columns.values(), strict=True))
        ]
        self._connection.execute(statement, rows)

    def _check_cycle(self, id: int) -> None:
        """Raise a problem if the forwarder is part of a forwarding loop.

        Only the tenant's own forwarders are followed: refusing a loop through another tenant's
        would reveal them.
        """
        address: str | None = self._execute(queries.CYCLE, id=id).scalar()
        if address is not None:
            detail = f"Mail to {address} would come back to it through other forwarders."
            raise Problem.at("forwarder_cycle", "/members", detail)


def _shape(kind: str, name: str, emails: Sequence[str], members: Sequence[str]) -> Shape:
    """Return the response shape of a principal, with only the fields of its kind."""
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


# The rules of the API


def _check_primary(name: str, emails: Sequence[str]) -> None:
    """Raise a problem unless emails include the primary address."""
    if name not in emails:
        detail = f"emails must include the primary address {name}."
        raise Problem.at("name_not_in_emails", "/emails", detail)


def _check_supported(field: str, addresses: Sequence[str], old: Collection[str] = ()) -> None:
    """Raise a problem for new addresses that mail servers can't handle.

    The first release accepted them, so existing ones stay valid.
    """
    for index, address in enumerate(addresses):
        code = None if address in old else names.unsupported(address)
        if code is not None:
            detail = f"{address}: {KINDS[code].title}."
            raise Problem.at(code, f"/{field}/{index}", detail)


def _check_members(emails: Collection[str], members: Sequence[str]) -> None:
    """Raise a problem if a forwarder is among its own destinations."""
    errors = [
        FieldError(f"/members/{index}", f"{member} is an address of the forwarder itself.")
        for index, member in enumerate(members)
        if member in emails
    ]
    _raise_any("forwarder_cycle", errors)


def _check_kind(kind: str, changes: Changes) -> None:
    """Raise a problem unless the principal has the fields that the changes set."""
    if kind == "domain":
        raise Problem(
            "domain_not_updatable", "Only mailboxes and forwarders can be updated, not domains."
        )
    if changes.secrets is not None and kind != "mailbox":
        raise Problem.at(
            "not_a_mailbox", "/secrets", "This is a forwarder: it has members and no secrets."
        )
    if changes.members is not None and kind != "forwarder":
        raise Problem.at(
            "not_a_forwarder", "/members", "This is a mailbox: it has secrets and no members."
        )


def _check_domains(name: str, emails: Sequence[str], registered: Collection[str]) -> None:
    """Raise a problem unless the domain of every address is registered in the account."""
    places = {"/name": name, **{f"/emails/{n}": address for n, address in enumerate(emails)}}
    errors = [
        FieldError(
            pointer, f"The domain {names.domain_of(address)} is not registered in this account."
        )
        for pointer, address in places.items()
        if names.domain_of(address) not in registered
    ]
    _raise_any("domain_not_registered", errors, "Create it first.")


def _check_free(emails: Sequence[str], owners: Mapping[str, str]) -> None:
    """Raise a problem if an address is in use.

    :param owners: the principals that use addresses, by address
    """
    errors = [
        FieldError(f"/emails/{index}", f"{address} belongs to {owners[address]}.")
        for index, address in enumerate(emails)
        if address in owners
    ]
    _raise_any("address_taken", errors)


def _raise_any(code: str, errors: Sequence[FieldError], remedy: str = "") -> None:
    if errors:
        raise Problem(code, f"{errors[0].detail} {remedy}".rstrip(), errors=errors)


def _check_name(name: str, *, taken: bool) -> None:
    """Raise a problem if any tenant uses the name, without revealing which."""
    if taken:
        raise Problem.at("name_taken", "/name", f"{name} already exists.")
