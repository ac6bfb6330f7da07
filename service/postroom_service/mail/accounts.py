# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Directory lookups for the mail server, across all tenants. Each call is a transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import NamedTuple

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerifyMismatchError
from sqlalchemy import Connection, bindparam, select

from postroom_common.database import Database

from .. import names
from ..store import tables

BAD_ADDRESS = "553 5.1.3 This is not a supported address"
NO_SUCH_ADDRESS = "550 5.1.1 There is no such address here"
LOOP = "550 5.4.6 Forwarding loop"
NO_RELAY = "550 5.7.1 This server does not relay"

#: Maximum number of logins whose secrets are checked at the same time.
MAX_LOGINS = 2

_principal, _address = tables.principal.c, tables.address.c
_member, _secret, _key = tables.member.c, tables.secret.c, tables.dkim_key.c

_DOMAIN = (
    select(_key.private_pem, _key.verified_at)
    .join_from(tables.dkim_key, tables.principal)
    .where(_principal.name == bindparam("name"))
)
_OWNER = (
    select(_principal.id, _principal.kind, _principal.uid)
    .join_from(tables.address, tables.principal, _address.principal_id == _principal.id)
    .where(_address.address == bindparam("address"))
)
_MEMBERS = select(_member.address).where(_member.principal_id == bindparam("id"))


class Login(NamedTuple):
    """A mailbox that a client logged in to, and the stored hash of the secret that was used."""

    name: str
    uid: str
    hash: str


class LoginEnded(Exception):
    """The mailbox was deleted, or its secret was replaced."""


class Undeliverable(Exception):
    """Mail to an address can't be accepted. The exception's message is the SMTP reply."""


class Route(NamedTuple):
    """The destinations of mail to an address.

    :param mailboxes: the uids of local mailboxes
    :param external: addresses at other services
    """

    mailboxes: frozenset[str]
    external: frozenset[str]


class Accounts:
    """Lookups of logins, addresses and keys.

    :param trust_domains: whether to serve unverified domains
    """

    def __init__(self, database: Database, hasher: PasswordHasher, *, trust_domains: bool) -> None:
        self._database = database
        self._hasher = hasher
        self._trust_domains = trust_domains
        #: Limits concurrent checks of secrets, which need memory and CPU time.
        self.logins = asyncio.Semaphore(MAX_LOGINS)
        # This hash is verified for unknown mailboxes, so that the response time doesn't reveal
        # which mailboxes exist.
        self._decoy = hasher.hash("decoy")

    def log_in(self, name: str, secret: str) -> Login | None:
        """Return the login if the mailbox has this secret, otherwise None."""
        wanted = names.any_name(name)

        def stored(connection: Connection) -> list[Login]:
            query = (
                select(_principal.name, _principal.uid, _secret.hash)
                .join_from(tables.principal, tables.secret)
                .where(_principal.name == wanted)
            )
            return [Login._make(row) for row in connection.execute(query)]

        found = self._database.read(stored) or [Login("", "", self._decoy)]
        for login in found:
            try:
                self._hasher.verify(login.hash, secret)
            except (VerifyMismatchError, InvalidHashError, UnicodeEncodeError):
                continue
            return login if login.name else None
        return None

    def ended(self, logins: Collection[Login]) -> set[Login]:
        """Return the logins whose mailbox was deleted or whose secret was replaced."""
        return self._database.read(lambda connection: _ended(connection, logins))

    def mailboxes(self) -> set[str]:
        """Return the uids of all mailboxes."""
        query = select(_principal.uid).where(_principal.kind == "mailbox")
        return self._database.read(lambda connection: set(connection.scalars(query)))

    def owns(self, login: Login, address: str) -> bool:
        """Return whether an address belongs to the login's mailbox.

        :raises LoginEnded: if the login is no longer valid
        """
        query = (
            select(_address.address)
            .join_from(tables.address, tables.principal, _address.principal_id == _principal.id)
            .where(_principal.uid == login.uid, _address.address == names.any_name(address))
        )

        def check(connection: Connection) -> bool:
            if _ended(connection, [login]):
                raise LoginEnded
            return connection.scalar(query) is not None

        return self._database.read(check)

    def route(self, address: str, *, relays: bool) -> Route:
        """Return the destinations of mail to an address, following forwarders.

        :param relays: whether mail to addresses at other services is accepted
        :raises Undeliverable: if the address is invalid or has no destination
        """
        wanted = names.any_name(address)
        if wanted is None or "@" not in wanted:
            raise Undeliverable(BAD_ADDRESS)

        def follow(connection: Connection) -> Route:
            if not relays and not self._serves(connection, wanted):
                raise Undeliverable(NO_RELAY)
            mailboxes, external, seen, left = set(), set(), set(), [wanted]
            unknown = False
            while left:
                address = left.pop()
                if address in seen:
                    continue
                seen.add(address)
                if not self._serves(connection, address):
                    external.add(address)
                    continue
                row = connection.execute(_OWNER, {"address": address}).first()
                if row is None:
                    unknown = True
                elif row.kind == "mailbox":
                    mailboxes.add(row.uid)
                else:
                    left += connection.scalars(_MEMBERS, {"id": row.id})
            if not mailboxes and not external:
                raise Undeliverable(NO_SUCH_ADDRESS if unknown else LOOP)
            return Route(frozenset(mailboxes), frozenset(external))

        return self._database.read(follow)

    def signing_key(self, domain: str) -> str | None:
        """Return the private key of a domain as PEM, or None if the domain isn't served."""

        def find(connection: Connection) -> str | None:
            row = connection.execute(_DOMAIN, {"name": domain}).first()
            return row.private_pem if row and self._trusts(row.verified_at) else None

        return self._database.read(find)

    def _serves(self, connection: Connection, address: str) -> bool:
        row = connection.execute(_DOMAIN, {"name": names.domain_of(address)}).first()
        return row is not None and self._trusts(row.verified_at)

    def _trusts(self, verified_at: int | None) -> bool:
        return self._trust_domains or verified_at is not None


def _ended(connection: Connection, logins: Collection[Login]) -> set[Login]:
    query = (
        select(_principal.uid, _secret.hash)
        .join_from(tables.principal, tables.secret)
        .where(_principal.uid.in_([login.uid for login in logins]))
    )
    valid = {tuple(row) for row in connection.execute(query)} if logins else set()
    return {login for login in logins if (login.uid, login.hash) not in valid}
