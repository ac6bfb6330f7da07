# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A tenant's life in three definitions, each in several forms, and what must come of each."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.postroom.email.tests.support.site import Site

PASSWORD = "correct-horse/battery#staple"
PASSWORDS = {"new@new.example": PASSWORD, "ann@one.example": [PASSWORD, "second-Quokka%17"]}
PAST, FUTURE = "2001-02-03", "2999-12-31"

Definition = dict[str, Any]
Shapes = dict[str, dict[str, Any]]


def shape(name: str, *aliases: str, members: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the wire's shape of anything."""
    if "@" not in name:
        return {"id": name, "name": name, "type": "domain"}
    row = {"id": name, "name": name, "type": "individual", "emails": frozenset({name, *aliases})}
    return {**row, "members": frozenset(members)} if members else row


@dataclass(frozen=True)
class Operation:
    """A definition, and what must be there after it beside what it found and did not name.

    :param counts: how many objects are created, updated, deleted
    """

    name: str
    definition: Definition
    counts: tuple[int, int, int]
    adds: Shapes = field(default_factory=dict)
    removes: tuple[str, ...] = ()

    def applied_to(self, listing: Shapes) -> Shapes:
        """Return the listing as the task must leave it."""
        kept = {name: row for name, row in listing.items() if name not in self.removes}
        return {**kept, **self.adds}


CREATE = Operation(
    "create",
    {
        "domains": ["new.example", {"name": "one.example"}],
        "mailboxes": [
            "ann@one.example",
            {
                "name": "new@new.example",
                "aliases": [
                    "hi@new.example",
                    {"address": "spring@new.example", "expires": FUTURE},
                    {"address": "autumn@new.example", "expires": PAST},
                ],
            },
        ],
        "forwarders": [
            {
                "name": "all@new.example",
                "members": ["new@new.example", "x@far.example"],
                "aliases": ["everyone@new.example"],
                "expires": FUTURE,
            },
            {"name": "former@new.example", "members": ["x@far.example"], "expires": PAST},
        ],
    },
    (3, 0, 0),
    {
        "new.example": shape("new.example"),
        "new@new.example": shape("new@new.example", "hi@new.example", "spring@new.example"),
        "all@new.example": shape(
            "all@new.example",
            "everyone@new.example",
            members=("new@new.example", "x@far.example"),
        ),
    },
)
#: An alias of one that exists moves to another, one goes, one has expired meanwhile.
MODIFY = Operation(
    "modify",
    {
        "domains": ["new.example"],
        "mailboxes": [
            {"name": "ann@one.example", "aliases": ["ann@two.example"]},
            {
                "name": "new@new.example",
                "aliases": [
                    {"address": "hi@new.example", "state": "absent"},
                    {"address": "spring@new.example", "expires": PAST},
                    "info@one.example",
                ],
            },
        ],
        "forwarders": [
            {"name": "all@new.example", "members": ["ann@one.example", "y@far.example"]},
            {"name": "later@new.example", "members": ["all@new.example"]},
        ],
    },
    (1, 3, 0),
    {
        "ann@one.example": shape("ann@one.example", "ann@two.example"),
        "new@new.example": shape("new@new.example", "info@one.example"),
        "all@new.example": shape(
            "all@new.example", "everyone@new.example", members=("ann@one.example", "y@far.example")
        ),
        "later@new.example": shape("later@new.example", members=("all@new.example",)),
    },
)
DELETE = Operation(
    "delete",
    {
        "domains": [{"name": "new.example", "state": "absent"}],
        "mailboxes": [{"name": "new@new.example", "state": "absent"}],
        "forwarders": [
            {"name": "all@new.example", "members": ["x@far.example"], "expires": PAST},
            {"name": "later@new.example", "state": "absent"},
        ],
    },
    (0, 0, 4),
    removes=("new.example", "new@new.example", "all@new.example", "later@new.example"),
)
LIFE = (CREATE, MODIFY, DELETE)


def inhabit(site: Site) -> None:
    """Let a tenant hold something of each kind, for tasks to leave alone."""
    site.create("one.example", "two.example")
    site.create(
        "ann@one.example", emails=["ann@one.example", "info@one.example", "ann@two.example"]
    )
    site.create("bob@one.example", "cat@two.example")
    site.create("all@two.example", members=["ann@one.example", "cat@two.example"])
    site.recorder.take()


def _inline(definition: Definition, _stem: Path) -> Definition:
    return definition


def _as_yaml(definition: Definition, stem: Path) -> Definition:
    text = "# yaml-language-server: $schema=definition.schema.json\n" + yaml.safe_dump(definition)
    return {"definition_files": [_written(stem, "yml", text)]}


def _as_json(definition: Definition, stem: Path) -> Definition:
    text = json.dumps({"$schema": "definition.schema.json", **definition}, indent=2)
    return {"definition_file": _written(stem, "json", text)}


def _merged(definition: Definition, stem: Path) -> Definition:
    """Return two files of which a program wrote one: sorted, every entry a mapping, all keys."""
    by_hand: Definition = {"domains": definition["domains"], "mailboxes": [], "forwarders": []}
    by_bot: Definition = {"mailboxes": [], "forwarders": []}
    for part in by_bot:
        for number, entry in enumerate(definition[part]):
            row = {"name": entry} if isinstance(entry, str) else dict(entry)
            halves = _halves(row) if number % 2 else (row, None)
            by_hand[part].append(halves[0])
            if halves[1] is not None:
                by_bot[part].append(halves[1])
    text = json.dumps(by_bot, sort_keys=True)
    files = [_written(stem, "yml", yaml.safe_dump(by_hand)), _written(stem, "json", text)]
    return {"definition_files": files}


def _halves(row: Definition) -> tuple[Definition, Definition]:
    """Return two entries of the same object, each with some of its aliases and members."""
    first, second = dict(row), {"state": "present", **row}
    if row.get("state") == "absent" or "expires" in row:
        second = dict(row)
    for key in ("aliases", "members"):
        if key in row:
            first[key], second[key] = row[key][:1], row[key][1:] or row[key]
    if row.get("expires"):
        # The end stands where the members do; a file that only adds aliases is silent of it.
        first["members"] = row["members"]
        second = {key: second[key] for key in second if key not in ("expires", "members")}
    return first, second


def _written(stem: Path, ending: str, text: str) -> str:
    file = stem.with_suffix(f".{ending}")
    file.write_text(text, "utf-8")
    return str(file)


#: Ways to give a definition to a task: from it and a path to write to, the options.
FORMS: dict[str, Callable[[Definition, Path], Definition]] = {
    "inline": _inline,
    "yaml": _as_yaml,
    "json": _as_json,
    "merged": _merged,
}
