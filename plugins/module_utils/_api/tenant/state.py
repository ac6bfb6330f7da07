# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The current state of a tenant. Only the parts that a plan needs are read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from .. import errors
from ..client.client import Client
from ..models import Domain, Principal
from ..names import Name


class Occupant(NamedTuple):
    """A principal that uses a domain, and its addresses on that domain."""

    principal: Principal
    addresses: frozenset[Name]

    @property
    def is_resident(self) -> bool:
        """Whether the principal's primary address is on the domain."""
        return self.principal.name in self.addresses


class TenantState:
    """The principals of a tenant, keyed by name and by address.

    The first lookup by name sends one GET. Any other lookup reads the whole list once.

    :param client: the client to read with, or None if ``principals`` is given
    :param list_tenant: a function that returns the state of the whole tenant, which may be shared;
        it is called instead of reading the list
    """

    def __init__(
        self,
        client: Client | None = None,
        principals: Iterable[Principal] | None = None,
        list_tenant: Callable[[], TenantState] | None = None,
    ) -> None:
        self._client = client
        self._list_tenant = list_tenant
        self._shared: TenantState | None = None
        self._found: dict[Name, Principal | None] = {}
        self._listed = None if principals is None else {each.name: each for each in principals}
        self._owners: dict[Name, Principal] | None = None

    @property
    def principals(self) -> Collection[Principal]:
        """All principals."""
        return self.read_all().values()

    def find(self, name: Name) -> Principal | None:
        """Return the principal with a name, or None."""
        if self._listed is None and self._client is not None and not self._found:
            self._found[name] = self._client.find(name)
        if self._listed is None and name in self._found:
            return self._found[name]
        return self.read_all().get(name)

    def owner_of(self, address: Name) -> Principal | None:
        """Return the principal that receives mail for an address, or None."""
        self.read_all()
        if self._shared is not None:
            # Building a map of all owners takes long, so use the shared one.
            for principal in self._found.values():
                if principal is not None and address in principal.addresses:
                    return principal
            owner = self._shared.owner_of(address)
            return None if owner is None or owner.name in self._found else owner
        if self._owners is None:
            self._owners = {
                owned: principal for principal in self.principals for owned in principal.addresses
            }
        return self._owners.get(address)

    def has_domain(self, domain: Name) -> bool:
        """Return whether a domain is registered."""
        return isinstance(self.read_all().get(domain), Domain)

    def occupants(self, domains: Iterable[Name]) -> dict[Name, list[Occupant]]:
        """Return the occupants of each of these domains, omitting empty domains."""
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
        """Check that the list, if it was read, is complete.

        :raises BadAnswer: if the list lacks principals that other requests return
        """
        if self._client is not None and self._listed is not None:
            self._client.check_list(self._listed.keys())

    def read_all(self) -> Mapping[Name, Principal]:
        """Return all principals, keyed by name. The first call reads their list."""
        if self._listed is None:
            if self._client is None:
                raise ValueError("a state needs a client or principals")
            if self._list_tenant is not None:
                self._shared = self._list_tenant()
                listed = dict(self._shared.read_all())
            else:
                listed = {each.name: each for each in self._client.list_principals()}
            for name, found in self._found.items():
                # Keep the principal on which the plan is based, even if the list contains a newer
                # state.
                if found is None:
                    listed.pop(name, None)
                elif name in listed:
                    listed[name] = found
                else:
                    raise errors.BadAnswer(
                        f"The tenant's list of principals lacks {name}, although it exists, so the "
                        "list can't be trusted. Run again; if this persists, ask the operator of "
                        "the service.",
                        errors.Failure(200, "GET", "/api/principal", f"no {name}"),
                    )
            self._listed = listed
        return self._listed
