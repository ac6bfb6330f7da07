# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Load, validate and merge the sources of a definition, and check it. No request is sent."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Union

from ..errors import names_secret, shortened
from ..models import SECTIONS, Domain, Forwarder, Mailbox
from ..names import Name
from ..yaml_reader import Malformed, line_finder, parse_json, parse_yaml, read_text
from .declared import (
    Declared,
    DeclaredDomain,
    DeclaredForwarder,
    DeclaredMailbox,
    Definition,
    definition_of,
)
from .definition_format import (
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
from .loops import describe_cycle, find_cycle, starting_at
from .problems import DECLARED_ABSENT, InvalidDefinition, Path, Place, Problem, Reason, Source

# Union is used because pylint mistakes | between classes for arithmetic.
Entry = Union[DomainEntry, MailboxEntry, ForwarderEntry, AliasEntry]  # noqa: UP007

_ENTRIES: dict[str | int, type[Entry]] = {
    "domains": DomainEntry,
    "mailboxes": MailboxEntry,
    "forwarders": ForwarderEntry,
    "aliases": AliasEntry,
}
_MAX_LOOPS = 20


@dataclass(slots=True)
class _Declaration:
    """A domain, mailbox, forwarder, alias or member as declared by one or more sources.

    :param aliases: the aliases, keyed by normalized address, or None if the list is missing
    """

    kind: str
    name: Name
    place: Place
    absent: bool = False
    expires: Expiry | None = None
    force: bool | None = None
    aliases: dict[str, _Declaration] | None = None
    members: dict[str, _Declaration] = field(default_factory=dict)

    @property
    def declares_end(self) -> bool:
        """Whether the source declares when the object expires, or that it never does.

        A source that only adds aliases to a forwarder declares neither. A source that adds members
        but no expiry date declares that the forwarder never expires, because another source's
        expiry date would otherwise delete these members.
        """
        return self.kind == AliasEntry.kind or self.expires is not None or bool(self.members)

    def place_of(self, address: str) -> Place:
        alias = None if address == self.name.key else (self.aliases or {}).get(address)
        return alias.place if alias else self.place

    def why_absent(self, now: datetime) -> Reason | None:
        if self.absent:
            return DECLARED_ABSENT
        if self.expires is not None and self.expires.moment <= now:
            return Reason("expired", {"date": self.expires.text})
        return None


def load_source(path: str) -> Source:
    """Load a definition file as JSON if its name ends in .json, otherwise as YAML.

    :raises InvalidDefinition: if the file can't be read or is not a mapping
    :raises ImportError: if the file is YAML and PyYAML is not installed
    """

    def unreadable(text: str, line: int | None = None) -> InvalidDefinition:
        place = Place(Source(path, None, lambda _path: line), ())
        return InvalidDefinition([Problem("unreadable_file", {"text": text}, place)])

    try:
        text = read_text(path)
        data = parse_json(text) if path.lower().endswith(".json") else parse_yaml(text)
    except Malformed as error:
        raise unreadable(str(error), error.line) from None
    if not isinstance(data, dict):
        problem = "The file is empty." if data is None else "The file is not a mapping."
        raise unreadable(
            f"{problem} Write lists under the keys domains, mailboxes and forwarders, such as "
            "mailboxes: []."
        )
    return Source(path, data, line_finder(text))


def read_definition(sources: Sequence[Source], now: datetime) -> Definition:
    """Merge the sources into one definition.

    :param now: the current time, with a time zone; objects that have expired by then are absent
    :raises InvalidDefinition: if the sources have problems; the exception lists all of them
    :raises ImportError: if pydantic is not installed
    """
    problems: list[Problem] = []
    objects: dict[str, _Declaration] = {}
    has_all_members = True
    for source in sources:
        found: dict[str, _Declaration] = {}
        entries, invalid = _validate(source)
        problems += invalid
        if any(each.place and each.place.path[:1] == ("forwarders",) for each in invalid):
            has_all_members = False
        for entry, path in entries:
            each = _declaration(entry, Place(source, path), problems)
            key = each.name.key
            if key in found:
                problems.append(_declared_twice(found[key], each))
                continue
            found[key] = each
            first = objects.setdefault(key, each)
            if first is not each:
                problems += _merge(first, each)
    problems += _check(objects.values(), now, has_all_members=has_all_members)
    if problems:
        raise InvalidDefinition(problems)
    return definition_of(*(_declare(each, now) for each in objects.values()), is_whole=True)


def _validate(source: Source) -> tuple[list[tuple[Entry, Path]], list[Problem]]:
    """Return a source's valid entries with their paths, and the problems of invalid entries."""
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
        if () in invalid:
            return [], problems
    paths = [
        (section, number)
        for section in SECTIONS.values()
        if section in data and (section,) not in invalid
        for number in range(len(data[section]))
        if (section, number) not in invalid
    ]
    if problems:
        # Continue with the valid entries, so that all problems are reported together.
        valid: dict[str, list[Any]] = {section: [] for section in SECTIONS.values()}
        for section, number in paths:
            valid[section].append(data[section][number])
        model = definition_model().validate_python(valid)
    entries = [entry for section in SECTIONS.values() for entry in getattr(model, section)]
    return list(zip(entries, paths, strict=True)), problems


def _describe_errors(source: Source, details: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    """Yield a problem for each of pydantic's errors, without the values of unknown keys."""
    unknown = ("unexpected_keyword_argument", "invalid_key")
    with_unknown_keys = {each["loc"][:-1] for each in details if each["type"] in unknown}
    for detail in details:
        kind, location = detail["type"], tuple(detail["loc"])
        within = location[:-1] if kind in (*unknown, "missing") else location
        entry = next((_ENTRIES[part] for part in reversed(within) if part in _ENTRIES), None)
        keys = [each.name for each in fields(entry or TenantDefinition) if not each.metadata]
        if kind in unknown:
            key = str(location[-1])
            short = shortened(key)
            place = Place(source, (*within, short if short.isprintable() else ascii(short)))
            code = "secret_key" if names_secret(key) else "unknown_key"
            yield Problem(code, {"known": ", ".join(keys)}, place)
            continue
        if kind == "missing":
            # An unknown key may be a misspelling of the missing key.
            if within not in with_unknown_keys and entry is not None:
                params = {"kind": entry.kind, "key": keys[0], "example": entry.example}
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
    """Return the parameters of ``wrong_value`` for one of pydantic's error types.

    :param entry: the class of the entry with the value, or None for the definition itself
    :param keys: the keys of the entry or the definition
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
        remedy = f"Write {entry.example}, or a mapping with the key {keys[0]}."
    return {"expected": expected, "found": found, "remedy": remedy}


def _locate(data: Any, location: Path) -> tuple[Path, Any]:
    """Convert one of pydantic's locations to a path in the data. Return the path and its value."""
    for depth, part in enumerate(location):
        # An entry can be abbreviated to its name.
        if isinstance(data, str):
            return location[:depth], data
        data = data[part]
    return location, data


def _declaration(entry: Entry, place: Place, problems: list[Problem]) -> _Declaration:
    """Convert an entry to a declaration, and append its contradictions to ``problems``."""
    # Only some kinds of entries have these keys.
    expires, force = getattr(entry, "expires", None), getattr(entry, "force", None)
    declared = _Declaration(entry.kind, entry.name, place, entry.state == "absent", expires, force)
    aliases: Sequence[AliasEntry] | None = getattr(entry, "aliases", None)
    if aliases is not None:
        declared.aliases = {}
        for number, alias in enumerate(aliases):
            part = _declaration(alias, place.at("aliases", number), problems)
            first = declared.aliases.setdefault(part.name.key, part)
            if first is not part:
                problems.append(_declared_twice(first, part))
    for number, name in enumerate(getattr(entry, "members", ())):
        part = _Declaration("member", name, place.at("members", number))
        first = declared.members.setdefault(name.key, part)
        if first is not part:
            problems.append(_declared_twice(first, part))
    if declared.force and not declared.absent:
        problems.append(Problem("force_without_absent", place=place.at("force")))
    if declared.absent:
        parts = {
            "aliases": not all(alias.absent for alias in (declared.aliases or {}).values()),
            "members": bool(declared.members),
            "expires": declared.expires is not None,
        }
        problems += [
            Problem("absent_with", {"kind": entry.kind, "part": part}, place.at(part))
            for part, is_wrong in parts.items()
            if is_wrong
        ]
    return declared


def _declared_twice(first: _Declaration, other: _Declaration) -> Problem:
    """Return the problem for a name that is declared twice in one source or as two kinds."""
    params = {"name": other.name, "place": first.place.seen_from(other.place)}
    if first.kind == other.kind:
        return Problem("duplicate", params | {"first": first.name}, other.place)
    return Problem("two_kinds", params | {"kind": other.kind, "first": first.kind}, other.place)


def _merge(first: _Declaration, other: _Declaration) -> Iterator[Problem]:
    """Merge another source's declaration of an object or alias, and yield contradictions."""

    def contradiction(here: str, there: str) -> Problem:
        place = first.place.seen_from(other.place)
        params = {"name": other.name, "here": here, "there": there, "place": place}
        return Problem("contradiction", params, other.place)

    if first.kind != other.kind:
        yield _declared_twice(first, other)
        return
    if first.absent != other.absent:
        here, there = ("absent", "present") if other.absent else ("present", "absent")
        yield contradiction(f"is {here}", f"is {there}")
        return
    if None not in (first.force, other.force) and first.force != other.force:
        here, there = (str(each.force).lower() for each in (other, first))
        yield contradiction(f"has force: {here}", f"has force: {there}")
    if first.declares_end and other.declares_end and first.expires != other.expires:
        here, there = (
            f"expires on {each.expires.text}" if each.expires else "never expires"
            for each in (other, first)
        )
        yield contradiction(here, there)
    first.force = other.force if first.force is None else first.force
    first.expires = first.expires or other.expires
    first.members = {**other.members, **first.members}
    if other.aliases is not None:
        first.aliases = dict(first.aliases or {})
        for key, alias in other.aliases.items():
            known = first.aliases.setdefault(key, alias)
            if known is not alias:
                yield from _merge(known, alias)


def _check(
    objects: Collection[_Declaration], now: datetime, *, has_all_members: bool
) -> Iterator[Problem]:
    """Yield problems with addresses, domains, members and loops across all objects.

    :param has_all_members: whether all entries of forwarders were valid
    """
    present = [e for e in objects if e.kind != Domain.kind and e.why_absent(now) is None]
    owners = {each.name.key: each for each in present}
    for owner in present:
        for key, alias in (owner.aliases or {}).items():
            if key == owner.name.key:
                params = {"address": alias.name, "kind": owner.kind}
                yield Problem("own_alias", params, alias.place)
            elif alias.why_absent(now) is None:
                first = owners.setdefault(key, owner)
                if first is not owner:
                    code = "alias_is_primary" if first.name.key == key else "alias_of_two"
                    params = {"address": alias.name, "kind": first.kind, "owner": first.name}
                    params["place"] = first.place_of(key).seen_from(alias.place)
                    yield Problem(code, params, alias.place)
    absent_domains = {e.name.key: e for e in objects if e.kind == Domain.kind and e.absent}
    for address, owner in owners.items() if absent_domains else ():
        domain = absent_domains.get(address.rpartition("@")[2])
        if domain is not None:
            place = owner.place_of(address)
            at = domain.place.seen_from(place)
            params = {"address": address, "domain": domain.name, "place": at}
            yield Problem("domain_absent", params, place)
    forwarders = {each.name: each for each in present if each.kind == Forwarder.kind}
    for forwarder in forwarders.values():
        if has_all_members and not forwarder.members:
            yield Problem("no_members", {"name": forwarder.name}, forwarder.place)
    yield from _check_loops(forwarders, owners)


def _check_loops(
    forwarders: Mapping[Name, _Declaration], owners: Mapping[str, _Declaration]
) -> Iterator[Problem]:
    """Yield a problem for each member that closes a forwarding loop."""
    graph = {
        name: {owners[key].name for key in each.members if key in owners} & forwarders.keys()
        for name, each in forwarders.items()
    }
    order = {name: number for number, name in enumerate(graph)}
    for _loop in range(_MAX_LOOPS):
        cycle = find_cycle(graph)
        if cycle is None:
            return
        *_middle, last, start = cycle = starting_at(min(cycle, key=order.__getitem__), cycle)
        for key, member in forwarders[last].members.items():
            if key in owners and owners[key].name == start:
                params = {"name": start, "way": describe_cycle(cycle)}
                yield Problem("forwarding_loop", params, member.place)
        graph[last].discard(start)


def _declare(declared: _Declaration, now: datetime) -> Declared:
    name, place = declared.name, declared.place
    if declared.kind == Domain.kind:
        return DeclaredDomain(name, place, declared.absent, bool(declared.force))
    reason = declared.why_absent(now)
    lists: dict[str, Any] = {}
    if reason is not None:
        lists = {"absent": True, "reason": reason}
    elif declared.aliases is not None:
        reasons = {each.name: each.why_absent(now) for each in declared.aliases.values()}
        lists = {
            "aliases": frozenset(alias for alias, why in reasons.items() if why is None),
            "absent_aliases": {alias: why for alias, why in reasons.items() if why is not None},
            "places": {each.name: each.place for each in declared.aliases.values()},
        }
    if declared.kind == Mailbox.kind:
        return DeclaredMailbox(name, place, **lists)
    if reason is None:
        lists["members"] = frozenset(member.name for member in declared.members.values())
    return DeclaredForwarder(name, place, **lists)
