# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Export the contents of a tenant as facts or as a definition."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ..errors import InvalidInput
from ..models import SECTIONS, Forwarder, Individual, Principal, UnmanagedPrincipal
from ..names import Name, parse_address, parse_domain


def facts(principals: Iterable[Principal], kinds: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """Return sorted principals by kind. For a kind that is not in ``kinds``, the list is empty."""
    values: dict[str, list[dict[str, Any]]] = {section: [] for section in SECTIONS.values()}
    for principal in sorted(principals, key=lambda each: each.name):
        if principal.kind in kinds:
            values[SECTIONS[principal.kind]].append(principal.as_dict())
    return values


def export(
    principals: Iterable[Principal], kinds: Iterable[str] = tuple(SECTIONS)
) -> tuple[dict[str, Any], list[str]]:
    """Return a definition of principals, and warnings about what it does not include.

    :param kinds: the kinds to declare; the definition omits the sections of other kinds
    :return: the definition as sorted plain data with the original spelling of names, and warnings
        about objects and aliases that can't be declared
    """
    definition: dict[str, Any] = {SECTIONS[kind]: [] for kind in SECTIONS if kind in kinds}
    warnings: list[str] = []
    for principal in sorted(principals, key=lambda each: each.name):
        section = definition.get(SECTIONS.get(principal.kind, ""))
        if section is None and not isinstance(principal, UnmanagedPrincipal):
            continue
        obstacle = _obstacle(principal)
        if obstacle or section is None:
            warnings.append(f"{obstacle} It is left out, and email_tenant does not change it.")
        elif isinstance(principal, Individual):
            valid = frozenset(filter(_is_valid, principal.aliases))
            section.append(replace(principal, aliases=valid).as_dict())
            warnings += [
                f"The {principal.kind} {principal.name}: its alias {alias} can't be declared. It "
                "is left out. Add it to ignore before you purge aliases."
                for alias in sorted(principal.aliases)
                if not _is_valid(alias)
            ]
        else:
            section.append(str(principal.name))
    return definition, warnings


def _obstacle(principal: Principal) -> str | None:
    """Return the reason why a principal can't be declared, as a sentence, or None if it can."""
    if isinstance(principal, UnmanagedPrincipal):
        return f"{principal.name} is a {principal.kind}, which no definition can declare."
    if not _is_valid(principal.name):
        return f"The {principal.kind} {principal.name}: its name can't be declared."
    if isinstance(principal, Forwarder):
        for member in sorted(principal.members):
            if not _is_valid(member):
                return f"The forwarder {principal.name}: its member {member} can't be declared."
    return None


def _is_valid(name: Name) -> bool:
    """Return whether a definition can contain a name that a service returned."""
    parse = parse_address if "@" in name.key else parse_domain
    try:
        return parse(str(name)) == name
    except InvalidInput:
        return False
