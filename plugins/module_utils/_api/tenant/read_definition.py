# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Read definitions: validate each source, merge them, and check the result, without a request."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Union

from ..errors import names_secret
from ..models import Domain, Forwarder
from ..names import Name
from .definition import (
    Declared,
    DeclaredDomain,
    DeclaredForwarder,
    DeclaredMailbox,
    Definition,
)
from .definition_model import (
    AliasEntry,
    DomainEntry,
    Expiry,
    ForwarderEntry,
    InvalidValue,
    MailboxEntry,
    TenantDefinition,
    definition_model,
    shown_value,
    type_of,
)
from .loops import describe_cycle, find_cycle
from .messages import DECLARED_ABSENT, InvalidDefinition, Path, Place, Problem, Reason, Source

# Union, because pylint reads the bar between classes as arithmetic.
Entry = Union[DomainEntry, MailboxEntry, ForwarderEntry, AliasEntry]  # noqa: UP007

_ENTRIES: dict[str | int, type[Entry]] = {
    "domains": DomainEntry,
    "mailboxes": MailboxEntry,
    "forwarders": ForwarderEntry,
    "aliases": AliasEntry,
}
_SECTIONS = ("domains", "mailboxes", "forwarders")
_EXAMPLES: dict[type[Entry], str] = {
    DomainEntry: "example.com",
    **dict.fromkeys((MailboxEntry, ForwarderEntry, AliasEntry), "alice@example.com"),
}
_MAX_LOOPS = 20
_MAX_SHOWN = 60


@dataclass(slots=True)
class _Object:
    """A domain, mailbox, forwarder, alias or member as one source declares it, or several together.

    :param aliases: by their keys; None if the list is not given
    :param members: by their keys
    """

    kind: str
    name: Name
    place: Place
    absent: bool = False
    expires: Expiry | None = None
    force: bool | None = None
    aliases: dict[str, _Object] | None = None
    members: dict[str, _Object] = field(default_factory=dict)

    def why_absent(self, now: datetime) -> Reason | None:
        """Return why it is absent, or None if it is present."""
        if self.absent:
            return DECLARED_ABSENT
        if self.expires is not None and self.expires.moment <= now:
            return Reason("expired", {"date": self.expires.text})
        return None


def read_definition(sources: Sequence[Source], now: datetime) -> Definition:
    """Return what the sources declare together, each object once.

    :param now: with its zone; what has expired by then is absent
    :raises InvalidDefinition: the sources have problems; it lists all of them
    :raises ImportError: pydantic is not installed
    """
    problems: list[Problem] = []
    objects: dict[str, _Object] = {}
    has_all_members = True
    for source in sources:
        found: dict[str, _Object] = {}
        entries, invalid = _validate(source)
        problems += invalid
        if any(each.place and each.place.path[:1] == ("forwarders",) for each in invalid):
            has_all_members = False
        for entry, place in entries:
            _add(found, _object(entry, place, problems), problems)
        for key, each in found.items():
            first = objects.setdefault(key, each)
            if first is not each:
                problems.extend(_merge(first, each))
    problems.extend(_check(objects.values(), now, has_all_members=has_all_members))
    if problems:
        raise InvalidDefinition(problems)
    declared = [_declare(each, now) for each in objects.values()]
    return Definition(
        {each.name: each for each in declared if isinstance(each, DeclaredDomain)},
        {each.name: each for each in declared if not isinstance(each, DeclaredDomain)},
    )


def _validate(source: Source) -> tuple[list[tuple[Entry, Place]], list[Problem]]:
    """Return the valid entries of a source, and what is invalid."""
    from pydantic import ValidationError  # noqa: PLC0415

    data = source.data
    problems: list[Problem] = []
    invalid: set[Path] = set()
    try:
        model = definition_model().validate_python(data)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
        problems = list(_describe_errors(source, details))
        invalid = {detail["loc"][:2] for detail in details}
        model = None
    if () in invalid:
        return [], problems
    sections = [section for section in _SECTIONS if section in data and (section,) not in invalid]
    paths = [
        (section, number)
        for section in sections
        for number in range(len(data[section]))
        if (section, number) not in invalid
    ]
    if model is None:
        # The valid entries are checked, too, so that all problems are reported together.
        valid: dict[str, list[Any]] = {section: [] for section in sections}
        for section, number in paths:
            valid[section].append(data[section][number])
        model = definition_model().validate_python(valid)
    entries = [entry for section in sections for entry in getattr(model, section)]
    places = (Place(source, path) for path in paths)
    return list(zip(entries, places)), problems  # noqa: B905 - Python 3.10


def _describe_errors(source: Source, details: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    """Yield the problems for pydantic's error details, without the values of unknown keys."""
    unknown = ("unexpected_keyword_argument", "invalid_key")
    with_unknown_keys = {each["loc"][:-1] for each in details if each["type"] in unknown}
    for detail in details:
        kind, location = detail["type"], tuple(detail["loc"])
        within = location[:-1] if kind in (*unknown, "missing") else location
        entry = next((_ENTRIES[part] for part in reversed(within) if part in _ENTRIES), None)
        keys = [each.name for each in fields(entry or TenantDefinition) if not each.metadata]
        if kind in unknown:
            key = str(location[-1])
            short = key if len(key) <= _MAX_SHOWN else f"{key[:_MAX_SHOWN]}..."
            place = Place(source, (*within, short if short.isprintable() else ascii(short)))
            code = "secret_key" if names_secret(key) else "unknown_key"
            yield Problem(code, {"known": ", ".join(keys)}, place)
            continue
        if kind == "missing":
            # The unknown key may be the missing one, misspelled.
            if within not in with_unknown_keys and entry is not None:
                params = {"kind": entry.kind, "key": keys[0], "example": _EXAMPLES[entry]}
                yield Problem("missing_key", params, Place(source, within))
            continue
        path, value = _locate(source.data, location)
        if kind == "value_error":
            error: InvalidValue = detail["ctx"]["error"]
            yield Problem(error.code, error.params, Place(source, path))
        else:
            params = _wrong_value(kind, value, entry, keys)
            yield Problem("wrong_value", params, Place(source, path))


def _wrong_value(
    kind: str, value: object, entry: type[Entry] | None, keys: Sequence[str]
) -> dict[str, str]:
    """Return the parameters of the problem for a type of pydantic's errors.

    :param entry: what the value belongs to; None for the definition
    :param keys: its keys
    """
    found = type_of(value)
    if kind == "literal_error":
        found = shown_value(value)
        expected, remedy = "present or absent", "Write one of the two."
    elif kind == "bool_type":
        expected, remedy = "true or false", "Write one of the two."
    elif kind == "list_type":
        expected, remedy = "a list", "Write each item on a line of its own, after a hyphen."
        if value is None:
            remedy = "Write [] for an empty list, or remove the key."
    elif entry is None:
        expected, remedy = "a mapping", f"Write lists under the keys {', '.join(keys)}."
    else:
        expected = f"{'an' if entry is AliasEntry else 'a'} {entry.kind}"
        remedy = f"Write {_EXAMPLES[entry]}, or a mapping with the key {keys[0]}."
    return {"expected": expected, "found": found, "remedy": remedy}


def _locate(data: Any, location: Path) -> tuple[Path, Any]:
    """Return the path to a part of the data, and its value."""
    for depth, part in enumerate(location):
        # An entry may be written as its name alone.
        if isinstance(data, str):
            return location[:depth], data
        data = data[part]
    return location, data


def _object(entry: Entry, place: Place, problems: list[Problem]) -> _Object:
    """Return an entry as an object, and add what contradicts itself to the problems."""
    if isinstance(entry, AliasEntry):
        declared = _Object(entry.kind, entry.address, place, entry.state == "absent", entry.expires)
    else:
        declared = _Object(entry.kind, entry.name, place, entry.state == "absent")
    if isinstance(entry, DomainEntry):
        declared.force = entry.force
    elif not isinstance(entry, AliasEntry) and entry.aliases is not None:
        declared.aliases = {}
        for number, alias in enumerate(entry.aliases):
            at = Place(place.source, (*place.path, "aliases", number))
            _add(declared.aliases, _object(alias, at, problems), problems)
    if isinstance(entry, ForwarderEntry):
        declared.expires = entry.expires
        for number, name in enumerate(entry.members):
            at = Place(place.source, (*place.path, "members", number))
            _add(declared.members, _Object("member", name, at), problems)
    if declared.force and not declared.absent:
        problems.append(Problem("force_without_absent", place=place / "force"))
    if declared.absent:
        parts = {
            "aliases": not all(alias.absent for alias in (declared.aliases or {}).values()),
            "members": bool(declared.members),
            "expires": declared.expires is not None,
        }
        problems += [
            Problem("absent_with", {"kind": entry.kind, "part": part}, place / part)
            for part, is_wrong in parts.items()
            if is_wrong
        ]
    return declared


def _add(objects: dict[str, _Object], each: _Object, problems: list[Problem]) -> None:
    """Add an object of a source to those of the same source."""
    first = objects.setdefault(each.name.key, each)
    if first is each:
        return
    if first.kind != each.kind:
        problems.append(_two_kinds(first, each))
        return
    params = {"name": each.name, "first": first.name, "place": first.place.seen_from(each.place)}
    problems.append(Problem("duplicate", params, each.place))


def _two_kinds(first: _Object, other: _Object) -> Problem:
    place = first.place.seen_from(other.place)
    params = {"name": other.name, "kind": other.kind, "first": first.kind, "place": place}
    return Problem("two_kinds", params, other.place)


def _merge(first: _Object, other: _Object) -> Iterator[Problem]:
    """Add to an object what another source declares of it, and yield contradictions."""
    if first.kind != other.kind:
        yield _two_kinds(first, other)
        return
    if first.absent != other.absent:
        yield _contradiction(first, other, _state)
        return
    if None not in (first.force, other.force) and first.force != other.force:
        yield _contradiction(first, other, lambda each: f"has force: {str(each.force).lower()}")
    # A source that only adds aliases to a forwarder leaves open when it expires. One that declares
    # members does not: another file could otherwise delete what it declares.
    declare_end = all(each.expires is not None or each.members for each in (first, other))
    if declare_end and _moment(first) != _moment(other):
        yield _contradiction(first, other, _end)
    first.force = other.force if first.force is None else first.force
    first.expires = first.expires or other.expires
    first.members = {**other.members, **first.members}
    if other.aliases is None:
        return
    first.aliases = dict(first.aliases or {})
    for key, alias in other.aliases.items():
        known = first.aliases.setdefault(key, alias)
        if known.absent != alias.absent:
            yield _contradiction(known, alias, _state)
        elif _moment(known) != _moment(alias):
            yield _contradiction(known, alias, _end)


def _contradiction(first: _Object, other: _Object, say: Callable[[_Object], str]) -> Problem:
    place = first.place.seen_from(other.place)
    params = {"name": other.name, "here": say(other), "there": say(first), "place": place}
    return Problem("contradiction", params, other.place)


def _state(declared: _Object) -> str:
    return f"is {'absent' if declared.absent else 'present'}"


def _end(declared: _Object) -> str:
    return f"expires on {declared.expires.text}" if declared.expires else "never expires"


def _moment(declared: _Object) -> datetime | None:
    return declared.expires.moment if declared.expires else None


def _check(
    objects: Collection[_Object], now: datetime, *, has_all_members: bool
) -> Iterator[Problem]:
    """Yield what does not fit together: addresses, domains, members and loops.

    :param has_all_members: no forwarder was left out because it is invalid
    """
    present = [e for e in objects if e.kind != Domain.kind and e.why_absent(now) is None]
    #: For each address its owner, and where it is declared.
    claims = {each.name.key: (each, each.place) for each in present}
    for owner in present:
        for key, alias in (owner.aliases or {}).items():
            if key == owner.name.key:
                params = {"address": alias.name, "kind": owner.kind}
                yield Problem("own_alias", params, alias.place)
            elif alias.why_absent(now) is None:
                first, place = claims.setdefault(key, (owner, alias.place))
                if first is not owner:
                    code = "alias_is_primary" if first.name.key == key else "alias_of_two"
                    params = {"address": alias.name, "kind": first.kind, "owner": first.name}
                    params["place"] = place.seen_from(alias.place)
                    yield Problem(code, params, alias.place)
    absent_domains = {e.name.key: e for e in objects if e.kind == Domain.kind and e.absent}
    for address, (_owner, place) in claims.items() if absent_domains else ():
        domain = absent_domains.get(address.rpartition("@")[2])
        if domain is not None:
            at = domain.place.seen_from(place)
            params = {"address": address, "domain": domain.name, "place": at}
            yield Problem("domain_absent", params, place)
    forwarders = [each for each in present if each.kind == Forwarder.kind]
    for forwarder in forwarders:
        if has_all_members and not forwarder.members:
            yield Problem("no_members", {"name": forwarder.name}, forwarder.place)
    owners = {key: owner for key, (owner, _place) in claims.items() if owner.kind == Forwarder.kind}
    yield from _check_loops({each.name: each for each in forwarders}, owners)


def _check_loops(
    forwarders: Mapping[Name, _Object], owners: Mapping[str, _Object]
) -> Iterator[Problem]:
    """Yield each member that closes a forwarding loop.

    :param owners: forwarders by their addresses
    """
    graph = {
        name: {owners[key].name for key in each.members if key in owners}
        for name, each in forwarders.items()
    }
    order = {name: number for number, name in enumerate(graph)}
    for _loop in range(_MAX_LOOPS):
        cycle = find_cycle(graph)
        if cycle is None:
            return
        start = cycle.index(min(cycle, key=order.__getitem__))
        way = [*cycle[start:-1], *cycle[:start], cycle[start]]
        params = {"name": way[0], "way": describe_cycle(way)}
        for key, member in forwarders[way[-2]].members.items():
            if key in owners and owners[key].name == way[0]:
                yield Problem("forwarding_loop", params, member.place)
        graph[way[-2]].discard(way[0])


def _declare(declared: _Object, now: datetime) -> Declared:
    """Return an object as the planner takes it."""
    if declared.kind == Domain.kind:
        force = bool(declared.force)
        return DeclaredDomain(declared.name, declared.place, declared.absent, force)
    is_forwarder = declared.kind == Forwarder.kind
    kind = DeclaredForwarder if is_forwarder else DeclaredMailbox
    reason = declared.why_absent(now)
    if reason is not None:
        return kind(declared.name, declared.place, absent=True, reason=reason)
    aliases = (declared.aliases or {}).values()
    reasons = {alias.name: alias.why_absent(now) for alias in aliases}
    members = (member.name for member in declared.members.values())
    options: dict[str, Any] = {"members": frozenset(members)} if is_forwarder else {}
    return kind(
        declared.name,
        declared.place,
        aliases=None
        if declared.aliases is None
        else frozenset(name for name, reason in reasons.items() if reason is None),
        absent_aliases={name: reason for name, reason in reasons.items() if reason is not None},
        places={alias.name: alias.place for alias in aliases},
        **options,
    )
