# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""AWX's validation of resources: each field by itself, and the fields together."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from . import surveys
from .kinds import KINDS, PROMPTS, Field
from .state import Row, State

#: Messages by field, the body of a response with status 400.
Errors = dict[str, list[str]]

_TYPES: Mapping[str, type] = {"str": str, "int": int, "bool": bool, "dict": dict}


def check_fields(state: State, kind: str, sent: Mapping[str, Any], *, is_new: bool) -> Errors:
    """Return what is invalid in each field.

    AWX ignores unknown fields. Here they are errors, so that a test notices what has no effect.
    """
    fields = KINDS[kind].fields
    found = {name: ["Unknown field."] for name in sent if name not in fields}
    for name, field in fields.items():
        problem = None
        if field.is_fixed:
            continue
        if name in sent:
            problem = _problem(state, field, sent[name])
        elif is_new and field.is_needed:
            problem = "This field is required."
        if problem is not None:
            found[name] = [problem]
    return found


def _problem(state: State, field: Field, value: Any) -> str | None:
    is_nothing = value is None or value == ""
    if is_nothing and field.is_needed:
        return f"This field may not be {'null' if value is None else 'blank'}."
    if is_nothing and (field.type in ("str", "ref") or value is field.default):
        return None
    if field.type == "ref":
        if isinstance(value, bool) or not isinstance(value, int):
            return f"Incorrect type. Expected pk value, received {type(value).__name__}."
        exists = state.get(field.to, value) is not None
        return None if exists else f'Invalid pk "{value}" - object does not exist.'
    # AWX converts some texts to numbers; the playbook should send numbers.
    expected = _TYPES[field.type]
    if not isinstance(value, expected) or isinstance(value, bool) != (expected is bool):
        return f"Expected {field.type}, received {type(value).__name__}."
    return None


def check(state: State, kind: str, row: Row) -> Errors:
    """Return what is invalid in a resource as a whole."""
    key = KINDS[kind].key
    twins = [
        other
        for other in state.rows[kind].values()
        if other["id"] != row.get("id") and all(other.get(name) == row.get(name) for name in key)
    ]
    if twins and row.get(key[0]):
        return {"__all__": [f"{KINDS[kind].type} with this {' and '.join(key)} already exists."]}
    rule = _RULES.get(kind)
    return rule(state, row) if rule else {}


def check_link(state: State, row: Row, name: str, number: int) -> str | None:
    """Return why a resource cannot be associated with another, or None."""
    if name == "credentials" and "playbook" in row:
        types = {one["id"]: one["credential_type"] for one in state.rows["credentials"].values()}
        if types[number] in {types[one] for one in state.linked(row["id"], name)}:
            return "Cannot assign multiple credentials of the same type."
    return None


def _credential(state: State, row: Row) -> Errors:
    if not row["organization"]:
        return {"detail": ["Missing 'user', 'team', or 'organization'."]}
    fields = state.rows["credential_types"][row["credential_type"]]["inputs"].get("fields", ())
    known = {one["id"] for one in fields}
    for key, value in row["inputs"].items():
        if key not in known:
            return {"inputs": [f"Additional properties are not allowed ('{key}')"]}
        if not isinstance(value, str):
            return {"inputs": [f"{value} is not of type 'string'"]}
    return {}


def _job_template(state: State, row: Row) -> Errors:
    project = state.get("projects", row["project"])
    if project is None:
        return {"project": ["This field is required."]}
    if row["playbook"] not in state.playbooks_of(project):
        return {"playbook": ["Playbook not found for project."]}
    if not row["inventory"] and not row["ask_inventory_on_launch"]:
        return {"inventory": ["Job Template must provide 'inventory' or allow prompting for it."]}
    return {}


def _schedule(state: State, row: Row) -> Errors:
    rules = re.findall(r"RULE:\S*", row["rrule"])
    if not re.search(r"DTSTART(:[0-9T]+Z|;TZID=[^:]+:[0-9T]+)\b", row["rrule"]):
        return {"rrule": ["Valid DTSTART required in rrule."]}
    if not rules:
        return {"rrule": ["One or more rule required in rrule."]}
    if without := [rule for rule in rules if "INTERVAL" not in rule]:
        return {"rrule": [f"INTERVAL required in rrule: {without[0]}"]}
    template = state.get("unified_job_templates", row["unified_job_template"])
    survey = state.asked(template) if template else {}
    if missing := surveys.problems_of_answers(survey, row["extra_data"]):
        return {"variables_needed_to_start": missing}
    return _unpromptable(state, row)


def _unpromptable(state: State, row: Row) -> Errors:
    """Return the fields that a template does not let anyone give at launch."""
    template = state.get("unified_job_templates", row["unified_job_template"])
    if template is None:
        return {}
    found = {
        name: ["Field is not configured to prompt on launch."]
        for name in PROMPTS
        if row[name] not in (None, "") and not template.get(f"ask_{name}_on_launch")
    }
    asked = {one["variable"] for one in state.asked(template).get("spec", ())}
    extra = set(row["extra_data"]) - asked
    if extra and not template.get("ask_variables_on_launch"):
        found["extra_data"] = [f"Variables {', '.join(sorted(extra))} are not allowed on launch."]
    return found


_RULES: Mapping[str, Callable[[State, Row], Errors]] = {
    "credentials": _credential,
    "job_templates": _job_template,
    "workflow_job_template_nodes": _unpromptable,
    "schedules": _schedule,
}
