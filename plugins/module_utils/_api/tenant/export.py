# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What a tenant holds as plain data: as facts, or as a definition that declares just that."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ..errors import InvalidInput
from ..models import Domain, Foreign, Forwarder, Mailbox, Principal, spelled
from ..names import Name, parse_address, parse_domain

#: What the lists of each kind are called.
SECTIONS = {Domain.kind: "domains", Mailbox.kind: "mailboxes", Forwarder.kind: "forwarders"}


class Export(NamedTuple):
    """A definition, and what could not be put into it.

    :param definition: plain data, in the shape of a definition file
    :param warnings: a sentence for each object or alias that is left out
    """

    definition: dict[str, Any]
    warnings: tuple[str, ...] = ()


def facts(principals: Iterable[Principal], kinds: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """Return principals as lists by kind, sorted; those of other kinds are empty."""
    values: dict[str, list[dict[str, Any]]] = {section: [] for section in SECTIONS.values()}
    for principal in _sorted(principals):
        if principal.kind in kinds:
            values[SECTIONS[principal.kind]].append(principal.as_dict())
    return values


def export(principals: Iterable[Principal], kinds: Iterable[str] = tuple(SECTIONS)) -> Export:
    """Return the definition of these principals, names as they are spelled there, sorted.

    :param kinds: what to declare; the definition has no section for any other kind
    """
    definition: dict[str, Any] = {SECTIONS[kind]: [] for kind in SECTIONS if kind in kinds}
    warnings: list[str] = []
    for principal in _sorted(principals):
        obstacle = _obstacle(principal)
        section = definition.get(SECTIONS.get(principal.kind, ""))
        if obstacle:
            if section is not None or isinstance(principal, Foreign):
                warnings.append(f"{obstacle} It is left out, and email_tenant leaves it alone.")
        elif section is not None:
            section.append(_entry(principal))
            warnings += _lost_aliases(principal)
    return Export(definition, tuple(warnings))


def _sorted(principals: Iterable[Principal]) -> list[Principal]:
    return sorted(principals, key=lambda principal: principal.name)


def _entry(principal: Principal) -> Any:
    if isinstance(principal, Domain):
        return str(principal.name)
    entry: dict[str, Any] = {"name": str(principal.name)}
    if isinstance(principal, Forwarder):
        entry["members"] = spelled(principal.members)
    if isinstance(principal, (Mailbox, Forwarder)):
        entry["aliases"] = spelled(frozenset(filter(_fits, principal.aliases)))
    return entry


def _obstacle(principal: Principal) -> str | None:
    """Return why a principal can't be declared, in a sentence, or None where it can."""
    if isinstance(principal, Foreign):
        return f"{principal.name} is a {principal.kind}, which no definition can declare."
    if not _fits(principal.name):
        return f"The {principal.kind} {principal.name}: its name can't be declared."
    if isinstance(principal, Forwarder):
        lost = next((m for m in sorted(principal.members) if not _fits(m)), None)
        if lost:
            return f"The forwarder {principal.name}: its member {lost} can't be declared."
    return None


def _lost_aliases(principal: Principal) -> list[str]:
    if not isinstance(principal, (Mailbox, Forwarder)):
        return []
    return [
        f"The {principal.kind} {principal.name}: its alias {alias} can't be declared. It is left "
        "out; put it under ignore before you purge aliases."
        for alias in sorted(principal.aliases)
        if not _fits(alias)
    ]


def _fits(name: Name) -> bool:
    """Tell whether a name that a service answered is one that a definition can hold."""
    parse = parse_address if "@" in name.key else parse_domain
    try:
        return parse(str(name)) == name
    except InvalidInput:
        return False
