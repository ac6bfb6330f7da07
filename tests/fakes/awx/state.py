# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the controller stores, and how its API shows and filters it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .kinds import KINDS, UNIFIED
from .surveys import ENCRYPTED
from .web import PREFIX

Row = dict[str, Any]
#: The fields that hold secrets among others.
WITH_SECRETS = {
    "credentials": "inputs",
    "notification_templates": "notification_configuration",
}


class BadQuery(Exception):
    """A filter names a field that does not exist."""


@dataclass
class Role:
    """A role on one resource, and the ids of its holders."""

    id: int
    resource: int
    name: str
    holders: dict[str, list[int]] = field(default_factory=lambda: {"users": [], "teams": []})


@dataclass
class State:
    """The resources. No id is used twice, not even by different kinds.

    :param rows: the resources' fields, by kind and id, with secrets in plain text
    :param links: the ids of associated resources, by id and name of the association
    :param surveys: by the template's id
    :param playbooks: what a repository or a folder contains, by its address or local path
    :param fetched: what a project found in its repository at its last update, by id
    """

    rows: dict[str, dict[int, Row]] = field(default_factory=lambda: {kind: {} for kind in KINDS})
    links: dict[tuple[int, str], list[int]] = field(default_factory=dict)
    surveys: dict[int, dict[str, Any]] = field(default_factory=dict)
    roles: dict[int, Role] = field(default_factory=dict)
    playbooks: dict[str, frozenset[str]] = field(default_factory=dict)
    fetched: dict[int, frozenset[str]] = field(default_factory=dict)
    _last: int = 0

    def new_id(self) -> int:
        """Return a new id."""
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

    def all_of(self, kind: str) -> list[tuple[str, Row]]:
        """Return the resources of a kind, each with its own kind, by id."""
        kinds = UNIFIED if kind == "unified_job_templates" else (kind,)
        found = [(one, row) for one in kinds for row in self.rows[one].values()]
        return sorted(found, key=lambda pair: pair[1]["id"])

    def get(self, kind: str, number: int | None) -> Row | None:
        """Return the resource with an id."""
        return next((row for _kind, row in self.all_of(kind) if row["id"] == number), None)

    def asked(self, template: Row) -> dict[str, Any]:
        """Return the survey that a launch answers; it is empty if it is not enabled."""
        enabled = template.get("survey_enabled", False)
        return self.surveys.get(template["id"], {}) if enabled else {}

    def update(self, project: Row) -> None:
        """Have a project read its repository, which is done immediately."""
        project["update"] = self.new_id()
        self.fetched[project["id"]] = self.playbooks.get(project["scm_url"], frozenset())

    def playbooks_of(self, project: Row) -> frozenset[str]:
        """Return the playbooks that AWX knows; a manual project's folder is always up to date."""
        if project["scm_type"]:
            return self.fetched[project["id"]]
        return self.playbooks.get(project["local_path"], frozenset())

    def linked(self, number: int, name: str) -> list[int]:
        """Return the ids that are associated with a resource; the list may be changed."""
        return self.links.setdefault((number, name), [])

    def roles_of(self, number: int) -> Iterator[Role]:
        """Yield the roles on a resource."""
        return (role for role in self.roles.values() if role.resource == number)

    def role(self, number: int, name: str) -> Role:
        """Return a role on a resource."""
        return next(role for role in self.roles_of(number) if role.name == name)

    def holds(self, user: int, number: int, name: str | None = None) -> bool:
        """Return True if a user has a role on a resource, themselves or through a team."""
        teams = {
            role.resource
            for role in self.roles.values()
            if role.resource in self.rows["teams"]
            and role.name in ("member", "admin")
            and user in role.holders["users"]
        }
        return any(
            user in role.holders["users"] or teams & set(role.holders["teams"])
            for role in self.roles_of(number)
            if name in (None, role.name)
        )

    def show(self, kind: str, row: Row) -> dict[str, Any]:
        """Return a resource as a response shows it, with its secrets encrypted."""
        fields = KINDS[kind].fields
        shown = {name: one.default for name, one in fields.items()} | row
        if kind == "users":
            shown["password"] = ENCRYPTED
        if kind in WITH_SECRETS:
            secret = self._secrets_of(kind, row)
            shown[WITH_SECRETS[kind]] = {
                key: ENCRYPTED if key in secret else value
                for key, value in row[WITH_SECRETS[kind]].items()
            }
        return {
            **shown,
            "type": KINDS[kind].type,
            "url": _url(kind, row["id"]),
            "related": self._related(kind, row),
            "summary_fields": self._summary(kind, row),
        }

    def _secrets_of(self, kind: str, row: Row) -> set[str]:
        if kind == "notification_templates":
            return {"token", "password"}
        inputs = self.rows["credential_types"][row["credential_type"]]["inputs"]
        return {one["id"] for one in inputs.get("fields", ()) if one.get("secret")}

    def _related(self, kind: str, row: Row) -> dict[str, str]:
        below = list(KINDS[kind].links)
        if "survey_enabled" in KINDS[kind].fields:
            below.append("survey_spec")
        if kind == "projects":
            below.append("update")
        related = {name: _url(kind, row["id"], name) for name in below}
        for name, one in KINDS[kind].fields.items():
            if one.type == "ref" and row.get(name):
                others = (of for of, other in self.all_of(one.to) if other["id"] == row[name])
                related[name] = _url(next(others), row[name])
        return related

    def _summary(self, kind: str, row: Row) -> dict[str, Any]:
        roles = {
            f"{role.name}_role": {
                "id": role.id,
                "type": "role",
                "name": role.name,
                "url": _url("roles", role.id),
            }
            for role in self.roles_of(row["id"])
        }
        summary: dict[str, Any] = {"object_roles": roles} if roles else {}
        if kind == "projects" and row["scm_type"] and row.get("update"):
            summary["current_update"] = {"id": row["update"]}
        return summary

    def selected(
        self, rows: Sequence[tuple[str, Row]], query: Mapping[str, str]
    ) -> list[tuple[str, Row]]:
        """Return the resources that match a query's filters.

        :raises BadQuery: a filter is for a field that does not exist
        """
        filters = {key: query[key] for key in query.keys() - {"page", "page_size"}}
        return [
            (kind, row)
            for kind, row in rows
            if all(self._fits(kind, row, *one) for one in filters.items())
        ]

    def _fits(self, kind: str, row: Row, key: str, value: str) -> bool:
        name, _joint, rest = key.partition("__")
        one = KINDS[kind].fields.get(name)
        if (one is None and name not in row) or (rest and (one is None or not one.to)):
            raise BadQuery(f"{KINDS[kind].type} has no field named '{key}'")
        if not rest or one is None:
            return str(row.get(name)) == value
        other = self.get(one.to, row.get(name))
        return other is not None and self._fits(one.to, other, rest, value)


def _url(kind: str, number: int, *below: str) -> str:
    return f"{PREFIX}{'/'.join((kind, str(number), *below))}/"
