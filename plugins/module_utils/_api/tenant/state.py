# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The current state of a tenant, read as far as a plan needs it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from .. import errors
from ..client.client import Client
from ..models import Domain, Principal
from ..names import Name


class Occupant(NamedTuple):
    """A principal with its name or other addresses on a domain, and those addresses."""

    principal: Principal
    addresses: frozenset[Name]

    @property
    def is_resident(self) -> bool:
        """Whether its own name is on the domain."""
        return self.principal.name in self.addresses


class TenantState:
    """A tenant's principals by name and by address.

    Finding one principal by name is one GET. Any question about others reads the list, once.

    :param client: reads what is asked for; None if ``principals`` is all there is
    :param principals: the principals, if they are known already
    """

    def __init__(
        self, client: Client | None = None, principals: Iterable[Principal] | None = None
    ) -> None:
        self._client = client
        self._found: dict[Name, Principal | None] = {}
        self._listed = None if principals is None else {each.name: each for each in principals}
        self._owners: dict[Name, Principal] | None = None

    @property
    def principals(self) -> Collection[Principal]:
        """All principals."""
        return self._list().values()

    def read_all(self) -> None:
        """Read the list now, because most of it is needed."""
        self._list()

    def find(self, name: Name) -> Principal | None:
        """Return the principal with that name."""
        if self._listed is None and self._client is not None and not self._found:
            self._found[name] = self._client.find(name)
        if self._listed is None and name in self._found:
            return self._found[name]
        return self._list().get(name)

    def owner_of(self, address: Name) -> Principal | None:
        """Return the principal that receives mail to an address."""
        if self._owners is None:
            self._owners = {
                owned: principal for principal in self.principals for owned in principal.addresses
            }
        return self._owners.get(address)

    def has_domain(self, domain: Name) -> bool:
        """Return whether a domain is registered."""
        return isinstance(self._list().get(domain), Domain)

    def occupants(self, domains: Iterable[Name]) -> dict[Name, list[Occupant]]:
        """Return who has a name or an address on each of these domains that is not empty."""
        by_key = {domain.key: domain for domain in domains}
        found: dict[Name, list[Occupant]] = {}
        for principal in self.principals:
            used: dict[Name, set[Name]] = {}
            for address in {principal.name, *principal.addresses}:
                domain = by_key.get(address.key.rpartition("@")[2])
                if domain is not None and "@" in address.key:
                    used.setdefault(domain, set()).add(address)
            for domain, addresses in used.items():
                found.setdefault(domain, []).append(Occupant(principal, frozenset(addresses)))
        return found

    def check_complete(self) -> None:
        """Check that the list, if it was read, is not cut short.

        :raises BadAnswer: it lacks principals that other requests return
        """
        if self._client is not None and self._listed is not None:
            self._client.check_list(self._listed.keys())

    def _list(self) -> dict[Name, Principal]:
        if self._listed is None:
            if self._client is None:
                raise ValueError("a state needs a client or principals")
            listed = {each.name: each for each in self._client.list_principals()}
            for name, found in self._found.items():
                # What a decision was based on stays, even if the list differs by now.
                if found is None:
                    listed.pop(name, None)
                elif name in listed:
                    listed[name] = found
                else:
                    raise errors.BadAnswer(
                        f"The list of the tenant lacks {name}, which exists when read by name, so "
                        "it can't be trusted. Run again; if this persists, ask the service's "
                        "operator.",
                        errors.Failure("BadAnswer", 200, "GET", "/api/principal", f"no {name}"),
                    )
            self._listed = listed
        return self._listed
