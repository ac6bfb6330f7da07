# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the controller holds: resources, how they are associated, and who has which role on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.postroom.email.tests.fakes.awx.kinds import KINDS, UNIFIED

Row = dict[str, Any]
#: Roles on a team by which somebody has what the team has.
_OF_A_TEAM = ("member", "admin")


@dataclass
class Role:
    """A role on one resource, and the numbers of those who have it."""

    id: int
    resource: int
    name: str
    holders: dict[str, list[int]] = field(default_factory=lambda: {"users": [], "teams": []})


@dataclass
class State:
    """All of it. Numbers are given once, so that one can't be taken for that of another kind.

    :param rows: the resources' fields, by kind and number, secrets in plain
    :param links: numbers of associated resources, by number and name of the association
    :param surveys: by the template's number
    :param playbooks: what a repository or a folder has, by its address or local path
    :param fetched: what a project got out of its repository at its last update, by number
    """

    rows: dict[str, dict[int, Row]] = field(default_factory=lambda: {kind: {} for kind in KINDS})
    links: dict[tuple[int, str], list[int]] = field(default_factory=dict)
    surveys: dict[int, dict[str, Any]] = field(default_factory=dict)
    roles: dict[int, Role] = field(default_factory=dict)
    playbooks: dict[str, frozenset[str]] = field(default_factory=dict)
    fetched: dict[int, frozenset[str]] = field(default_factory=dict)
    _last: int = 0

    def new_id(self) -> int:
        """Return a number that nothing has."""
        self._last += 1
        return self._last

    def add(self, kind: str, fields: Mapping[str, Any]) -> Row:
        """Add a resource, with its roles."""
        row = {"id": self.new_id(), **fields}
        self.rows[kind][row["id"]] = row
        for name in KINDS[kind].roles:
            role = Role(self.new_id(), row["id"], name)
            self.roles[role.id] = role
        return row

    def remove(self, kind: str, number: int) -> None:
        """Remove a resource, and what was associated with it."""
        del self.rows[kind][number]
        self.links = {
            (owner, name): [one for one in linked if one != number]
            for (owner, name), linked in self.links.items()
            if owner != number
        }
        self.roles = {id_: role for id_, role in self.roles.items() if role.resource != number}

    def all_of(self, kind: str) -> list[tuple[str, Row]]:
        """Return the resources of a kind, each with its own kind, in the order they were made."""
        kinds = UNIFIED if kind == "unified_job_templates" else (kind,)
        found = [(one, row) for one in kinds for row in self.rows[one].values()]
        return sorted(found, key=lambda pair: pair[1]["id"])

    def get(self, kind: str, number: int | None) -> Row | None:
        """Return the resource of that number."""
        return next((row for _kind, row in self.all_of(kind) if row["id"] == number), None)

    def exists(self, kind: str, number: int) -> bool:
        """Tell whether there is a resource of that number."""
        return self.get(kind, number) is not None

    def asked(self, template: Row) -> dict[str, Any]:
        """Return the survey that whoever launches a template answers; empty where none is asked."""
        enabled = template.get("survey_enabled", False)
        return self.surveys.get(template["id"], {}) if enabled else {}

    def update(self, project: Row) -> None:
        """Have a project look into its repository, which it does at once, and well."""
        project["update"] = self.new_id()
        self.fetched[project["id"]] = self.playbooks.get(project["scm_url"], frozenset())

    def playbooks_of(self, project: Row) -> frozenset[str]:
        """Return what a project is known to have; a folder is looked into each time."""
        if project["scm_type"]:
            return self.fetched[project["id"]]
        return self.playbooks.get(project["local_path"], frozenset())

    def linked(self, number: int, name: str) -> list[int]:
        """Return the numbers that are associated with a resource; the list itself, to change."""
        return self.links.setdefault((number, name), [])

    def roles_of(self, number: int) -> Iterator[Role]:
        """Yield the roles that there are on a resource."""
        return (role for role in self.roles.values() if role.resource == number)

    def holds(self, user: int, number: int, name: str | None = None) -> bool:
        """Tell whether a user has that role on a resource, or any, by itself or by its team."""
        teams = {
            role.resource
            for role in self.roles.values()
            if role.resource in self.rows["teams"]
            and role.name in _OF_A_TEAM
            and user in role.holders["users"]
        }
        return any(
            user in role.holders["users"] or teams & set(role.holders["teams"])
            for role in self.roles_of(number)
            if name in (None, role.name)
        )
