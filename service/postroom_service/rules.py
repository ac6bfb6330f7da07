# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The preconditions of the interface, as pure functions that raise the problem to answer."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from . import names
from .problems import FieldError, Problem
from .schemas import Changes


def primary_in_emails(name: str, emails: Sequence[str]) -> None:
    """Demand that the primary address stays in emails."""
    if name not in emails:
        detail = f"emails must include the primary address {name}."
        raise Problem("name_not_in_emails", detail, errors=[FieldError("/emails", detail)])


def no_self_reference(emails: Collection[str], members: Sequence[str]) -> None:
    """Demand that a forwarder is not among its own destinations."""
    errors = [
        FieldError(f"/members/{index}", f"{member} is an address of the forwarder itself.")
        for index, member in enumerate(members)
        if member in emails
    ]
    if errors:
        raise Problem("forwarder_cycle", errors[0].detail, errors=errors)


def changes_fit(kind: str, changes: Changes) -> None:
    """Demand secrets only for a mailbox, members only for a forwarder, nothing for a domain."""
    if kind == "domain":
        raise Problem(
            "domain_not_updatable",
            "A domain has no fields to update; only mailboxes and forwarders do.",
        )
    if changes.secrets is not None and kind != "mailbox":
        raise _misplaced(
            "not_a_mailbox", "/secrets", "This is a forwarder: it has members and no secrets."
        )
    if changes.members is not None and kind != "forwarder":
        raise _misplaced(
            "not_a_forwarder", "/members", "This is a mailbox: it has secrets and no members."
        )


def domains_registered(name: str, emails: Sequence[str], registered: Collection[str]) -> None:
    """Demand that the domain of every address is registered in the account."""
    errors = [
        FieldError(
            pointer, f"The domain {names.domain_of(address)} is not registered in this account."
        )
        for pointer, address in _places(name, emails)
        if names.domain_of(address) not in registered
    ]
    if errors:
        raise Problem(
            "domain_not_registered", f"{errors[0].detail} Create it first.", errors=errors
        )


def addresses_free(emails: Sequence[str], owners: Mapping[str, str]) -> None:
    """Demand that no address is taken; `owners` maps those that are to their principals."""
    errors = [
        FieldError(f"/emails/{index}", f"{address} belongs to {owners[address]}.")
        for index, address in enumerate(emails)
        if address in owners
    ]
    if errors:
        raise Problem("address_taken", errors[0].detail, errors=errors)


def name_free(name: str, *, taken: bool) -> None:
    """Demand that a name is new, over all tenants; whose it is stays unsaid."""
    if taken:
        detail = f"{name} exists already."
        raise Problem("name_taken", detail, errors=[FieldError("/name", detail)])


def _places(name: str, emails: Sequence[str]) -> list[tuple[str, str]]:
    return [
        ("/name", name),
        *((f"/emails/{index}", address) for index, address in enumerate(emails)),
    ]


def _misplaced(code: str, pointer: str, detail: str) -> Problem:
    return Problem(code, detail, errors=[FieldError(pointer, detail)])
