# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Reading definitions: several sources as one, checked before anything is asked of a service."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from ..errors import InvalidInput
from ..models import Domain, Forwarder, password_flaw
from ..names import Name, parse_address
from .definition import (
    DeclaredDomain,
    DeclaredForwarder,
    DeclaredIndividual,
    DeclaredMailbox,
    Definition,
    Finding,
    InvalidDefinition,
    Place,
    Source,
)
from .definition_checks import check
from .definition_values import shape, spot, twice
from .entries import Alias, Entry, read_entries
from .messages import Reason


def read_definition(sources: Sequence[Source], now: datetime) -> Definition:
    """Return what the sources declare together, each object once.

    :param now: with its zone; what has expired by then is to be absent
    :raises InvalidDefinition: anything in them is wrong; all of it is told at once
    """
    findings: list[Finding] = []
    entries: dict[str, Entry] = {}
    for source in sources:
        for key, entry in _once(read_entries(source, findings), findings).items():
            first = entries.setdefault(key, entry)
            if first is not entry:
                _merge(first, entry, findings)
    findings.extend(check(entries, now))
    if findings:
        raise InvalidDefinition(findings)
    return _definition(entries.values(), now)


def read_passwords(raw: Mapping[Any, Any]) -> dict[Name, tuple[str, ...]]:
    """Return the option ``passwords``: texts by address. No message shows one of them.

    :raises InvalidInput: an address or a password can't be used
    """
    passwords: dict[Name, tuple[str, ...]] = {}
    spelled: dict[Name, Name] = {}
    for key, value in raw.items():
        if not isinstance(key, str):
            raise InvalidInput(
                f"passwords: A key is {shape(key)}. Write an email address in its place."
            )
        name = _owner(key)
        if name in passwords:
            raise InvalidInput(
                f"passwords: {name} is the same as {spelled[name]}. Keep one of the two."
            )
        passwords[name] = _texts(name, value)
        spelled[name] = name
    return passwords


def _owner(key: str) -> Name:
    try:
        return parse_address(key)
    except InvalidInput:
        # Where the two were interchanged, the key is a password.
        raise InvalidInput(
            "passwords: A key is not an email address. Write address: password; the key is not "
            "shown here, for it may be a password."
        ) from None


def _texts(name: Name, value: object) -> tuple[str, ...]:
    values = value if isinstance(value, (list, tuple)) else [value]
    if not values:
        raise InvalidInput(f"passwords: The list of {name} is empty. Give a password, or drop it.")
    for text in values:
        if not isinstance(text, str):
            raise InvalidInput(
                f"passwords: The password of {name} is no text. Give a string, in quotes, or a "
                "list of strings."
            )
        flaw = password_flaw(text)
        if flaw:
            raise InvalidInput(f"passwords: The password of {name} {flaw}")
    return tuple(values)


def _once(entries: Iterable[Entry], findings: list[Finding]) -> dict[str, Entry]:
    """Return the entries of one source by the keys of their names, each name once."""
    found: dict[str, Entry] = {}
    for entry in entries:
        first = found.setdefault(entry.name.key, entry)
        if first is entry:
            continue
        if first.kind == entry.kind:
            findings.append(twice(entry.name, entry.place, first.name, first.place))
        else:
            findings.append(_two_kinds(entry, first))
    return found


def _two_kinds(entry: Entry, first: Entry) -> Finding:
    return Finding(
        f"{entry.name} can't be a {entry.kind}, for it is a {first.kind} in "
        f"{spot(first.place, entry.place)}. Keep one of the two.",
        entry.place,
    )


def _merge(first: Entry, other: Entry, findings: list[Finding]) -> None:
    """Add to an entry what another source says of the same object."""
    if first.kind != other.kind:
        findings.append(_two_kinds(other, first))
        return
    if first.absent != other.absent:
        findings.append(_contradiction(other, first, _state(other), _state(first)))
        return
    if None not in (first.force, other.force) and first.force != other.force:
        words = (_given("force", entry.force) for entry in (other, first))
        findings.append(_contradiction(other, first, *words))
    if _tells_end(first) and _tells_end(other) and _moment(first) != _moment(other):
        findings.append(_contradiction(other, first, _ends(other), _ends(first)))
    first.flawed = first.flawed or other.flawed
    first.force = other.force if first.force is None else first.force
    first.expires = first.expires or other.expires
    first.members = {**other.members, **first.members} if other.members else first.members
    if other.aliases is not None:
        first.aliases = _merged_aliases(first.aliases or {}, other.aliases, findings)


def _merged_aliases(
    first: Mapping[str, Alias], other: Mapping[str, Alias], findings: list[Finding]
) -> dict[str, Alias]:
    merged = dict(first)
    for key, alias in other.items():
        known = merged.setdefault(key, alias)
        if known.absent != alias.absent:
            findings.append(_contradiction(alias, known, _state(alias), _state(known)))
        # An alias is said in full wherever it is said: without an end is another end.
        elif _moment(known) != _moment(alias):
            findings.append(_contradiction(alias, known, _ends(alias), _ends(known)))
    return merged


def _contradiction(here: Entry | Alias, first: Entry | Alias, says: str, said: str) -> Finding:
    return Finding(
        f"{here.name} {says} here and {said} in {spot(first.place, here.place)}. Say the same in "
        "both, or drop one.",
        here.place,
    )


def _state(declared: Entry | Alias) -> str:
    return f"is to be {'absent' if declared.absent else 'present'}"


def _given(key: str, value: object) -> str:
    return f"has {key}: {str(value).lower()}"


def _ends(declared: Entry | Alias) -> str:
    return f"expires on {declared.expires.text}" if declared.expires else "never expires"


def _moment(declared: Entry | Alias) -> datetime | None:
    return declared.expires.moment if declared.expires else None


def _tells_end(entry: Entry) -> bool:
    """Tell whether an entry says when it ends: with members and without an end, never.

    One that only adds aliases leaves that open. Were members so, too, another file could delete
    what the first one declares.
    """
    return entry.expires is not None or bool(entry.members and not entry.flawed)


def _definition(entries: Iterable[Entry], now: datetime) -> Definition:
    domains: dict[Name, DeclaredDomain] = {}
    individuals: dict[Name, DeclaredIndividual] = {}
    for entry in entries:
        if entry.kind == Domain.kind:
            force = bool(entry.force)
            domains[entry.name] = DeclaredDomain(entry.name, entry.place, entry.absent, force)
        else:
            individuals[entry.name] = _individual(entry, now)
    return Definition(domains, individuals)


def _individual(entry: Entry, now: datetime) -> DeclaredIndividual:
    is_forwarder = entry.kind == Forwarder.kind
    declared = DeclaredForwarder if is_forwarder else DeclaredMailbox
    reason = entry.why_gone(now)
    if reason is not None:
        return declared(entry.name, entry.place, absent=True, reason=reason)
    present, absent, places = _sorted_aliases(entry, now)
    options: dict[str, Any] = {"members": frozenset(entry.members)} if is_forwarder else {}
    return declared(
        entry.name,
        entry.place,
        aliases=None if entry.aliases is None else frozenset(present),
        absent_aliases=absent,
        places=places,
        **options,
    )


def _sorted_aliases(
    entry: Entry, now: datetime
) -> tuple[list[Name], dict[Name, Reason], dict[Name, Place]]:
    present: list[Name] = []
    absent: dict[Name, Reason] = {}
    places: dict[Name, Place] = {}
    for alias in (entry.aliases or {}).values():
        places[alias.name] = alias.place
        reason = alias.why_gone(now)
        if reason is None:
            present.append(alias.name)
        else:
            absent[alias.name] = reason
    return present, absent, places
