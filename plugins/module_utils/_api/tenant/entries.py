# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What one source declares, each entry by itself: shapes, keys, names, states and times."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from ..errors import InvalidInput, names_secret
from ..models import Domain, Forwarder, Mailbox
from ..names import Name, parse_address, parse_domain
from .definition import Finding, Place, Source
from .definition_values import Expiry, listed, nearest, parse_expiry, quoted, shape, shown, twice
from .messages import DECLARED_ABSENT, Reason

_STATES = ("present", "absent")
_LONGEST_NAME = 500
#: What follows an address may be a password.
_ADDRESS_AND_MORE = re.compile(r"[^@]*@[^\s:]*[\s:]")


class Alias(NamedTuple):
    """An alias as one source declares it."""

    name: Name
    place: Place
    absent: bool = False
    expires: Expiry | None = None

    def why_gone(self, now: datetime) -> Reason | None:
        """Return why it is declared absent, or None."""
        if self.absent:
            return DECLARED_ABSENT
        return self.expires.reason(now) if self.expires else None


@dataclass(slots=True)
class Entry:
    """A domain, mailbox or forwarder as one source declares it, or several sources together.

    :param aliases: by their keys, in the order of the file; None where the list is not given
    :param members: where each of them is declared
    :param flawed: something in it could not be read, so that it may lack what it seems to lack
    """

    kind: str
    name: Name
    place: Place
    absent: bool = False
    force: bool | None = None
    expires: Expiry | None = None
    aliases: dict[str, Alias] | None = None
    members: dict[Name, Place] = field(default_factory=dict)
    flawed: bool = False

    def why_gone(self, now: datetime) -> Reason | None:
        """Return why it is declared absent, or None."""
        if self.absent:
            return DECLARED_ABSENT
        return self.expires.reason(now) if self.expires else None


class _Sort(NamedTuple):
    """How one sort of entries is written."""

    section: str
    kind: str
    keys: tuple[str, ...]
    needed: str
    example: str
    parse: Callable[[str], Name]


_ADDRESS = ("An email address", "alice@example.com", parse_address)
_DOMAINS = _Sort(
    "domains",
    Domain.kind,
    ("name", "state", "force"),
    "A domain name",
    "example.com",
    parse_domain,
)
_MAILBOXES = _Sort("mailboxes", Mailbox.kind, ("name", "state", "aliases"), *_ADDRESS)
_FORWARDERS = _Sort(
    "forwarders", Forwarder.kind, ("name", "state", "members", "aliases", "expires"), *_ADDRESS
)
_ALIASES = _Sort("aliases", "alias", ("address", "state", "expires"), *_ADDRESS)
_SORTS = (_DOMAINS, _MAILBOXES, _FORWARDERS)
_SECTIONS = tuple(sort.section for sort in _SORTS)


def read_entries(source: Source, findings: list[Finding]) -> list[Entry]:
    """Return what a source declares, in its order, and add what is wrong to ``findings``."""
    return list(_Reader(source, findings).entries())


class _Reader:
    """Reads one source. What is wrong is noted, and left out of what is read."""

    def __init__(self, source: Source, findings: list[Finding]) -> None:
        self._source = source
        self._findings = findings

    def entries(self) -> Iterator[Entry]:
        """Yield the entries of all lists."""
        data = self._source.data
        top = Place(self._source, ())
        if not isinstance(data, Mapping):
            self._note(f"A mapping with lists is needed here, not {shape(data)}.", top)
            return
        self._check_keys(data, _SECTIONS, top, ignored="$schema")
        for sort in _SORTS:
            # An option that is not given is null; a key of a file that has nothing is a slip.
            if self._source.file is None and data.get(sort.section) is None:
                continue
            for raw, place in self._items(data, sort.section, top) or ():
                entry = self._entry(sort, raw, place)
                if entry is not None:
                    yield entry

    def _note(self, text: str, place: Place) -> None:
        self._findings.append(Finding(text, place))

    def _entry(self, sort: _Sort, raw: object, place: Place) -> Entry | None:
        noted = len(self._findings)
        if isinstance(raw, str):
            name = self._name(sort, raw, place)
            return None if name is None else Entry(sort.kind, name, place)
        if not isinstance(raw, Mapping):
            self._note_no_entry(sort, raw, place)
            return None
        slips = self._check_keys(raw, sort.keys, place)
        name = self._named(sort, raw, place, slips)
        absent = self._absent(raw, place)
        force = self._force(sort, raw, place, absent=absent)
        expires = self._expires(sort, raw, place, absent=absent)
        aliases = self._aliases(sort, raw, place)
        members = self._members(sort, raw, place)
        if absent:
            self._refuse_parts(sort, aliases, members, place)
        if name is None:
            return None
        flawed = len(self._findings) > noted
        return Entry(sort.kind, name, place, absent, force, expires, aliases, members, flawed)

    def _note_no_entry(self, sort: _Sort, raw: object, place: Place) -> None:
        article = "An" if sort is _ALIASES else "A"
        self._note(
            f"{article} {sort.kind} is needed here, not {shape(raw)}. Write {sort.example}, or a "
            f"mapping with the key {sort.keys[0]}.",
            place,
        )

    def _check_keys(
        self,
        raw: Mapping[Any, Any],
        known: tuple[str, ...],
        place: Place,
        ignored: str | None = None,
    ) -> set[str]:
        """Note unknown keys, never with their values. Return the keys that they may stand for."""
        slips: set[str] = set()
        for key in raw:
            if key in known or key == ignored:
                continue
            at = place / shown(str(key))
            if names_secret(key):
                self._note(
                    "A definition holds no secrets. Drop this key, and give passwords with the "
                    "option passwords.",
                    at,
                )
                continue
            meant = nearest(str(key), known)
            hint = f"Did you mean {meant}?" if meant else f"Known here are {listed(known)}."
            self._note(f"This key is not known. {hint}", at)
            slips.add(meant or "")
        return slips

    def _named(
        self, sort: _Sort, raw: Mapping[str, Any], place: Place, slips: set[str]
    ) -> Name | None:
        key = sort.keys[0]
        if key in raw:
            return self._name(sort, raw[key], place / key)
        # One slip is one finding.
        if key not in slips:
            self._note(f"The {sort.kind} has no {key}. Add {key}: {sort.example}.", place)
        return None

    def _name(self, sort: _Sort, raw: object, place: Place) -> Name | None:
        if not isinstance(raw, str):
            self._note(
                f"{sort.needed} is needed here, not {shape(raw)}. Write it as text, such as "
                f"{sort.example}.",
                place,
            )
            return None
        if len(raw) > _LONGEST_NAME:
            self._note(f"{sort.needed} has no {len(raw)} characters. Shorten it.", place)
            return None
        if _ADDRESS_AND_MORE.match(raw.strip()):
            self._note(
                f"{sort.needed} is needed here and nothing after it. Write it alone, such as "
                f"{sort.example}; passwords are given with the option passwords.",
                place,
            )
            return None
        try:
            return sort.parse(raw)
        except InvalidInput as error:
            # The place says what the name of an option would say.
            self._note(str(error).partition(": ")[2], place)
            return None

    def _absent(self, raw: Mapping[str, Any], place: Place) -> bool:
        state = raw.get("state", "present")
        if state not in _STATES:
            found = quoted(state) if isinstance(state, str) else shape(state)
            self._note(
                f"A state is needed here, not {found}. Write present or absent.", place / "state"
            )
        return bool(state == "absent")

    def _force(
        self, sort: _Sort, raw: Mapping[str, Any], place: Place, *, absent: bool
    ) -> bool | None:
        if "force" not in raw or "force" not in sort.keys:
            return None
        force: object = raw["force"]
        if not isinstance(force, bool):
            found = shape(force)
            self._note(f"true or false is needed here, not {found}.", place / "force")
            return None
        if force and not absent:
            self._note(
                "Only what is to be absent can be forced. Drop force, or add state: absent.",
                place / "force",
            )
        return force

    def _expires(
        self, sort: _Sort, raw: Mapping[str, Any], place: Place, *, absent: bool
    ) -> Expiry | None:
        if "expires" not in raw or "expires" not in sort.keys:
            return None
        at = place / "expires"
        if absent:
            self._note("What is absent can't expire. Drop expires, or state: absent.", at)
            return None
        try:
            return parse_expiry(raw["expires"])
        except ValueError as error:
            self._note(str(error), at)
            return None

    def _aliases(
        self, sort: _Sort, raw: Mapping[str, Any], place: Place
    ) -> dict[str, Alias] | None:
        if "aliases" not in raw or "aliases" not in sort.keys:
            return None
        items = self._items(raw, "aliases", place)
        if items is None:
            return None
        aliases: dict[str, Alias] = {}
        for item, at in items:
            alias = self._alias(item, at)
            if alias is None:
                continue
            first = aliases.setdefault(alias.name.key, alias)
            if first is not alias:
                self._findings.append(twice(alias.name, at, first.name, first.place))
        return aliases

    def _alias(self, raw: object, place: Place) -> Alias | None:
        if isinstance(raw, str):
            name = self._name(_ALIASES, raw, place)
            return None if name is None else Alias(name, place)
        if not isinstance(raw, Mapping):
            self._note_no_entry(_ALIASES, raw, place)
            return None
        slips = self._check_keys(raw, _ALIASES.keys, place)
        name = self._named(_ALIASES, raw, place, slips)
        absent = self._absent(raw, place)
        expires = self._expires(_ALIASES, raw, place, absent=absent)
        return None if name is None else Alias(name, place, absent, expires)

    def _members(self, sort: _Sort, raw: Mapping[str, Any], place: Place) -> dict[Name, Place]:
        members: dict[Name, Place] = {}
        if "members" not in raw or "members" not in sort.keys:
            return members
        spelled: dict[Name, Name] = {}
        for item, at in self._items(raw, "members", place) or ():
            name = self._name(sort, item, at)
            if name is None:
                continue
            if name in members:
                self._findings.append(twice(name, at, spelled[name], members[name]))
                continue
            members[name] = at
            spelled[name] = name
        return members

    def _items(
        self, raw: Mapping[str, Any], key: str, place: Place
    ) -> Iterator[tuple[Any, Place]] | None:
        """Return the entries of a list, or nothing where there is none."""
        if key not in raw:
            return None
        value = raw[key]
        if isinstance(value, (list, tuple)):
            at = (*place.path, key)
            return ((item, Place(self._source, (*at, number))) for number, item in enumerate(value))
        remedy = (
            "Write [] for an empty list, or drop the key."
            if value is None
            else "Write each entry in a line of its own, after a hyphen."
        )
        self._note(f"A list is needed here, not {shape(value)}. {remedy}", place / key)
        return None

    def _refuse_parts(
        self,
        sort: _Sort,
        aliases: Mapping[str, Alias] | None,
        members: Mapping[Name, Place],
        place: Place,
    ) -> None:
        if any(not alias.absent for alias in (aliases or {}).values()):
            self._note_part("aliases", sort, place)
        if members:
            self._note_part("members", sort, place)

    def _note_part(self, part: str, sort: _Sort, place: Place) -> None:
        self._note(
            f"The {sort.kind} is to be absent and can't have {part}. Drop them, or state: absent.",
            place / part,
        )
