# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Resources as the controller shows them: secrets hidden, with the addresses of what belongs."""

from __future__ import annotations

from typing import Any

from ansible_collections.postroom.email.tests.fakes.awx.kinds import KINDS
from ansible_collections.postroom.email.tests.fakes.awx.state import Role, Row, State
from ansible_collections.postroom.email.tests.fakes.awx.surveys import ENCRYPTED
from ansible_collections.postroom.email.tests.fakes.awx.web import PREFIX

_WITH_SURVEY = ("job_templates", "workflow_job_templates")


def url_of(kind: str, number: int, *below: str) -> str:
    """Return the address of a resource, or of what is below it."""
    return f"{PREFIX}{'/'.join((kind, str(number), *below))}/"


def show(state: State, kind: str, row: Row) -> dict[str, Any]:
    """Return a resource as it is answered."""
    fields = KINDS[kind].fields
    plain = {key: value for key, value in row.items() if not _is_hidden(kind, key)}
    return {
        **{name: field.default for name, field in fields.items() if not field.is_hidden},
        **plain,
        **_encrypted(state, kind, row),
        "type": KINDS[kind].type,
        "url": url_of(kind, row["id"]),
        "related": _related(state, kind, row),
        "summary_fields": _summary(state, kind, row),
    }


def show_role(role: Role) -> dict[str, Any]:
    """Return a role as it is answered."""
    return {"id": role.id, "type": "role", "name": role.name, "url": url_of("roles", role.id)}


def secrets_of(state: State, kind: str, row: Row) -> set[str]:
    """Return which inputs of a credential, or settings of a notification, are secret."""
    if kind == "notification_templates":
        return {"token", "password"}
    fields = state.rows["credential_types"][row["credential_type"]]["inputs"].get("fields", ())
    return {one["id"] for one in fields if one.get("secret")}


def _is_hidden(kind: str, key: str) -> bool:
    field = KINDS[kind].fields.get(key)
    return field is not None and field.is_hidden


def _encrypted(state: State, kind: str, row: Row) -> dict[str, Any]:
    if kind == "users":
        return {"password": ENCRYPTED}
    field = {"credentials": "inputs", "notification_templates": "notification_configuration"}
    if kind not in field:
        return {}
    name = field[kind]
    secret = secrets_of(state, kind, row)
    shown = {key: ENCRYPTED if key in secret else value for key, value in row[name].items()}
    return {name: shown}


def _related(state: State, kind: str, row: Row) -> dict[str, str]:
    related = {name: url_of(kind, row["id"], name) for name in KINDS[kind].links}
    if kind in _WITH_SURVEY:
        related["survey_spec"] = url_of(kind, row["id"], "survey_spec")
    if kind == "projects":
        related["update"] = url_of(kind, row["id"], "update")
    for name, field in KINDS[kind].fields.items():
        if field.type == "ref" and row.get(name):
            others = (one for one, other in state.all_of(field.to) if other["id"] == row[name])
            related[name] = url_of(next(others), row[name])
    return related


def _summary(state: State, kind: str, row: Row) -> dict[str, Any]:
    roles = {f"{role.name}_role": show_role(role) for role in state.roles_of(row["id"])}
    summary: dict[str, Any] = {"object_roles": roles} if roles else {}
    if kind == "projects" and row["scm_type"] and row.get("update"):
        summary["current_update"] = {"id": row["update"]}
    return summary
