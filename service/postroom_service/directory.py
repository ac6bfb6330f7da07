# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Read and write one tenant's principals in an open transaction."""

from __future__ import annotations

import time
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Executable, Select
from sqlalchemy.exc import IntegrityError

from . import dkim, names
from .errors import KINDS, FieldError, Problem
from .schemas import Changes, NewForwarder, NewMailbox
from .store import queries

Shape = dict[str, Any]


class Row(NamedTuple):
    """A principal without its secrets."""

    id: int
    kind: str
    name: str
    emails: list[str]
    members: list[str]


class Directory:
    """One tenant's principals. All methods expect normalized names and addresses."""

    def __init__(self, connection: Connection, tenant_id: int) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    # Reading

    def find(self, name: str | None) -> Row:
        """Return a principal, or raise a Problem (404).

        The principals of other tenants are treated as missing.
        """
        rows = self._execute(queries.FIND, name=name).all()
        if not rows:
            raise _not_found()
        id, kind, name, _ = rows[0]
        emails = [address for *_, address in rows if address is not None]
        members: list[str] = []
        if kind == "forwarder":
            members.extend(self._execute(queries.MEMBERS_OF, id=id).scalars())
        return Row(id, kind, name, emails, members)

    def get(self, name: str | None) -> Shape:
        """Return a principal in the format of API responses."""
        row = self.find(name)
        return _shape(row.kind, row.name, row.emails, row.members)

    def listing(self, kinds: Sequence[str]) -> list[Shape]:
        """Return all principals of these kinds, oldest first, using a fixed number of queries."""
        rows = self._execute(queries.LISTING, kinds=kinds).all()
        individuals = [kind for kind in kinds if kind != "domain"]
        emails = self._lists(queries.LISTING_EMAILS, individuals)
        members = self._lists(queries.LISTING_MEMBERS, individuals)
        return [
            _shape(kind, name, emails.get(id, ()), members.get(id, ())) for id, kind, name in rows
        ]

    def public_key(self, domain: str | None) -> str:
        """Return a domain's public DKIM key, or raise a Problem (404)."""
        found: str | None = self._execute(queries.PUBLIC_KEY, name=domain).scalar()
        if found is None:
            raise Problem(
                "domain_not_found", "No domain with this name is registered in this tenant."
            )
        return found

    # Checking

    def check_new_domain(self, name: str) -> None:
        """Raise a Problem if any tenant has registered the domain."""
        if self._execute(queries.NAME_EXISTS, name=name).first() is not None:
            raise _name_taken(name)

    def check_changes(self, name: str | None, changes: Changes) -> tuple[Row, dict[str, int]]:
        """Return the principal, and the domains of its new emails, as a mapping of names to ids.

        :raises Problem: if the changes can't be applied
        """
        row = self.find(name)
        if row.kind == "domain":
            raise Problem(
                "domain_not_updatable", "Only mailboxes and forwarders can be updated, not domains."
            )
        if changes.secrets is not None and row.kind != "mailbox":
            raise Problem.at(
                "not_a_mailbox", "/secrets", "This is a forwarder: it has members and no secrets."
            )
        if changes.members is not None and row.kind != "forwarder":
            raise Problem.at(
                "not_a_forwarder", "/members", "This is a mailbox: it has secrets and no members."
            )
        return row, self._check_lists(row, changes.emails, changes.members)

    def _check_lists(
        self, row: Row, emails: Sequence[str] | None, members: Sequence[str] | None
    ) -> dict[str, int]:
        """Return the domains of a principal's new emails, as a mapping of names to ids.

        :raises Problem: if the principal can't have these emails or members
        """
        if emails is not None:
            if row.name not in emails:
                detail = f"emails must include the primary address {row.name}."
                raise Problem.at("name_not_in_emails", "/emails", detail)
            _check_supported("emails", emails, row.emails)
        if members is not None:
            _check_supported("members", members, row.members)
            own = set(emails or row.emails).intersection(members)
            details = {
                address: f"{address} is an address of the forwarder itself." for address in own
            }
            _raise_any("forwarder_cycle", details, _places("members", members))
        if emails is None:
            return {}
        wanted = {names.domain_of(address) for address in emails}
        domains = dict(self._execute(queries.DOMAIN_IDS, names=list(wanted)).all())
        details = {
            address: f"The domain {domain} is not registered in this tenant."
            for address in emails
            if (domain := names.domain_of(address)) not in domains
        }
        places = [("/name", row.name), *_places("emails", emails)]
        _raise_any("domain_not_registered", details, places, "Create it first.")
        taken = self._execute(queries.OWNERS, addresses=list(emails), excluding=row.id)
        owners: dict[str, str] = dict(taken.all())
        if owners.get(row.name) == row.name:
            raise _name_taken(row.name)
        details = {address: f"{address} belongs to {owner}." for address, owner in owners.items()}
        _raise_any("address_taken", details, _places("emails", emails))
        return domains

    # Writing

    def create_domain(self, name: str, key: dkim.Key) -> Shape:
        """Register a domain with a DKIM key."""
        try:
            id = self._insert_principal("domain", name, None)
        except IntegrityError:  # a concurrent transaction created it first
            raise _name_taken(name) from None
        self._connection.execute(queries.ADD_KEY, {"principal_id": id, **vars(key)})
        return _shape("domain", name)

    def create_individual(self, new: NewMailbox | NewForwarder, hashes: Sequence[str]) -> Shape:
        """Create a mailbox with its hashed secrets, or a forwarder."""
        members = new.members if isinstance(new, NewForwarder) else []
        kind = "forwarder" if members else "mailbox"
        domains = self._check_lists(Row(0, kind, new.name, [], []), new.emails, members)
        id = self._insert_principal(kind, new.name, domains[names.domain_of(new.name)])
        self._put_lists(id, new.emails, domains, members, hashes)
        if members:
            self._check_cycle(id)
        return _shape(kind, new.name, new.emails, members)

    def update(self, name: str | None, changes: Changes, hashes: Sequence[str]) -> Shape:
        """Apply the changes of a PATCH request."""
        row, domains = self.check_changes(name, changes)
        for changed, statement in (
            (changes.emails, queries.DROP_EMAILS),
            (changes.members, queries.DROP_MEMBERS),
            (changes.secrets, queries.DROP_SECRETS),
        ):
            if changed is not None:
                self._execute(statement, id=row.id)
        self._put_lists(row.id, changes.emails or (), domains, changes.members or (), hashes)
        if row.kind == "forwarder":
            self._check_cycle(row.id)
        return _shape(
            row.kind, row.name, changes.emails or row.emails, changes.members or row.members
        )

    def delete(self, name: str | None) -> None:
        """Delete a principal. Deleting a domain also deletes its addresses (ON DELETE CASCADE)."""
        if self._execute(queries.DROP_PRINCIPAL, name=name).rowcount == 0:
            raise _not_found()

    # Helpers

    def _execute(self, statement: Executable, **parameters: Any) -> Any:
        return self._connection.execute(statement, {"tenant": self._tenant_id, **parameters})

    def _lists(self, query: Select[Any], kinds: Sequence[str]) -> dict[int, list[str]]:
        lists: dict[int, list[str]] = defaultdict(list)
        if kinds:
            for id, address in self._execute(query, kinds=kinds).all():
                lists[id].append(address)
        return lists

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

    def _put_lists(
        self,
        id: int,
        emails: Sequence[str],
        domains: Mapping[str, int],
        members: Sequence[str],
        hashes: Sequence[str],
    ) -> None:
        lists: dict[Executable, list[dict[str, Any]]] = {
            queries.ADD_EMAILS: [
                {"address": one, "domain_id": domains[names.domain_of(one)]} for one in emails
            ],
            queries.ADD_MEMBERS: [{"address": one} for one in members],
            queries.ADD_SECRETS: [{"hash": one} for one in hashes],
        }
        for statement, rows in lists.items():
            numbered = [{"principal_id": id, "position": n, **row} for n, row in enumerate(rows)]
            if numbered:
                self._connection.execute(statement, numbered)

    def _check_cycle(self, id: int) -> None:
        """Raise a Problem if the forwarder is part of a forwarding loop.

        Only the tenant's own forwarders are followed, because an error about a loop through another
        tenant's forwarders would reveal their existence.
        """
        address: str | None = self._execute(queries.CYCLE, id=id).scalar()
        if address is not None:
            detail = f"Mail to {address} would come back to it through other forwarders."
            raise Problem.at("forwarder_cycle", "/members", detail)


def _shape(kind: str, name: str, emails: Sequence[str] = (), members: Sequence[str] = ()) -> Shape:
    """Return a principal in the format of API responses, with only the fields that its kind has."""
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


def _not_found() -> Problem:
    return Problem("principal_not_found", "No principal with this name exists in this tenant.")


def _name_taken(name: str) -> Problem:
    """Return the Problem for a name that is in use, without revealing which tenant uses it."""
    return Problem.at("name_taken", "/name", f"{name} already exists.")


def _places(field: str, addresses: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each address in a field, as a pair of its JSON pointer and the address."""
    return ((f"/{field}/{index}", address) for index, address in enumerate(addresses))


def _check_supported(field: str, addresses: Sequence[str], old: Collection[str]) -> None:
    """Raise a Problem for the first new address that mail servers can't handle.

    The first release accepted unsupported addresses, so existing addresses remain valid.
    """
    for pointer, address in _places(field, addresses):
        code = None if address in old else names.unsupported(address)
        if code is not None:
            raise Problem.at(code, pointer, f"{address}: {KINDS[code].title}.")


def _raise_any(
    code: str, details: Mapping[str, str], places: Iterable[tuple[str, str]], remedy: str = ""
) -> None:
    """Raise a Problem if any address is invalid.

    :param details: an error message for each invalid address
    :param places: pairs of a JSON pointer and the address to which it points
    """
    if details:
        found = [FieldError(where, details[one]) for where, one in places if one in details]
        raise Problem(code, f"{found[0].detail} {remedy}".rstrip(), found)
