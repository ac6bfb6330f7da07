# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What AWX checks of a resource as a whole: what its fields have to do with each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import TemplateSyntaxError
from jinja2.sandbox import SandboxedEnvironment

from ansible_collections.postroom.email.tests.fakes.awx import (
    injectors,
    schedules,
    surveys,
)
from ansible_collections.postroom.email.tests.fakes.awx.fields import Errors
from ansible_collections.postroom.email.tests.fakes.awx.kinds import (
    KINDS,
    PROMPTS,
    prompt_of,
)
from ansible_collections.postroom.email.tests.fakes.awx.state import Row, State

_EVENTS = {"started", "success", "error", "workflow_approval"}
_SETTINGS: Mapping[str, Mapping[str, type]] = {"slack": {"token": str, "channels": list}}
#: Kinds of credentials that a job template may have.
_OF_JOBS = ("ssh", "vault", "cloud", "net", "kubernetes")


class BrokenTemplate(Exception):
    """The body of a message is no template. AWX has no answer to that but status 500."""


def check(state: State, kind: str, row: Row) -> Errors:
    """Return what is wrong with a resource as it would be."""
    key = KINDS[kind].key
    twins = [
        other
        for other in state.rows[kind].values()
        if other["id"] != row.get("id") and all(other.get(name) == row.get(name) for name in key)
    ]
    if twins and row.get(key[0]):
        words = " and ".join(name.replace("_", " ").capitalize() for name in key)
        singular = KINDS[kind].type.replace("_", " ").capitalize()
        return {"__all__": [f"{singular} with this {words} already exists."]}
    rule = _RULES.get(kind)
    return rule(state, row) if rule else {}


def check_credential(state: State, template: int, credential: int) -> str | None:
    """Return why a job template can't have a credential besides those that it has."""
    types = {number: row["credential_type"] for number, row in state.rows["credentials"].items()}
    of_type = state.rows["credential_types"][types[credential]]
    if of_type["kind"] not in _OF_JOBS:
        return f"Cannot assign a Credential of kind `{of_type['kind']}`."
    if types[credential] in {types[one] for one in state.linked(template, "credentials")}:
        return f"Cannot assign multiple {of_type['name']} credentials."
    return None


def _credential_type(_state: State, row: Row) -> Errors:
    problem = injectors.problem_of_inputs(row["inputs"])
    if problem is not None:
        return {"inputs": [problem]}
    problem = injectors.problem_of_injectors(row["inputs"], row["injectors"])
    return {} if problem is None else {"injectors": [problem]}


def _credential(state: State, row: Row) -> Errors:
    if not any(row.get(owner) for owner in ("organization", "user", "team")):
        return {"detail": ["Missing 'user', 'team', or 'organization'."]}
    fields = state.rows["credential_types"][row["credential_type"]]["inputs"].get("fields", ())
    known = {one["id"] for one in fields}
    problems = [
        f"Additional properties are not allowed ('{key}' was unexpected)"
        for key in row["inputs"]
        if key not in known
    ]
    problems += [
        f"{value} is not of type 'string'"
        for key, value in row["inputs"].items()
        if key in known and not isinstance(value, str)
    ]
    return {"inputs": problems} if problems else {}


def _project(state: State, row: Row) -> Errors:
    if row["scm_type"]:
        return {} if row["scm_url"] else {"scm_url": ["SCM URL is required."]}
    path = row["local_path"]
    if not path:
        return {"local_path": ["This field is required for manual projects."]}
    if path not in state.playbooks:
        return {"local_path": [f'"{path}" is not a valid choice.']}
    taken = [one for one in state.rows["projects"].values() if one["local_path"] == path]
    if any(one["id"] != row.get("id") for one in taken):
        return {"local_path": ["This path is already being used by another manual project."]}
    switches = ("scm_update_on_launch", "scm_delete_on_update", "scm_clean")
    if any(row[name] for name in switches):
        return {"detail": ["Update options must be set to false for manual projects."]}
    return {}


def _inventory_source(state: State, row: Row) -> Errors:
    if row["source"] != "scm":
        return {}
    project = state.get("projects", row["source_project"])
    if project is None:
        return {"source_project": ["Project required for scm type sources."]}
    if not project["scm_type"]:
        return {"source_project": ["Cannot use manual project for SCM-based inventory."]}
    if not row["source_path"]:
        return {"source_path": ["This field is required."]}
    return {}


def _job_template(state: State, row: Row) -> Errors:
    project = state.get("projects", row["project"])
    if project is None:
        return {"project": ["This field is required."]}
    if not row["playbook"]:
        return {"playbook": ["Must select playbook for project."]}
    if row["playbook"] not in state.playbooks_of(project):
        return {"playbook": ["Playbook not found for project."]}
    if not row["inventory"] and not row["ask_inventory_on_launch"]:
        return {"inventory": ["Job Template must provide 'inventory' or allow prompting for it."]}
    return {}


def _schedule(state: State, row: Row) -> Errors:
    problems = schedules.problems_of(row["rrule"])
    if problems:
        return {"rrule": problems}
    template = state.get("unified_job_templates", row["unified_job_template"])
    survey = state.asked(template) if template else {}
    missing = surveys.problems_of_answers(survey, row["extra_data"])
    if missing:
        return {"variables_needed_to_start": missing}
    return _unpromptable(state, row)


def _unpromptable(state: State, row: Row) -> Errors:
    """Return what a template lets nobody give at launch."""
    template = state.get("unified_job_templates", row["unified_job_template"])
    if template is None:
        return {}
    found = {
        name: ["Field is not configured to prompt on launch."]
        for name in PROMPTS
        if row[name] not in (None, "") and not template.get(prompt_of(name))
    }
    asked = {one["variable"] for one in state.asked(template).get("spec", ())}
    extra = set(row["extra_data"]) - asked
    if extra and not template.get("ask_variables_on_launch"):
        found["extra_data"] = [f"Variables {', '.join(sorted(extra))} are not allowed on launch."]
    return found


def _notification_template(_state: State, row: Row) -> Errors:
    given = row["notification_configuration"]
    wanted = _SETTINGS.get(row["notification_type"], {})
    missing = [name for name in wanted if name not in given]
    place = "notification_configuration"
    if missing:
        return {place: [f"Missing required fields for Notification Configuration: {missing}."]}
    problems = [
        f"Configuration field '{name}' incorrect type, expected {expected.__name__}."
        for name, expected in wanted.items()
        if not isinstance(given[name], expected)
    ]
    if problems:
        return {place: problems}
    return _messages(row["messages"])


def _messages(messages: Mapping[str, Any]) -> Errors:
    unknown = sorted(set(messages) - _EVENTS)
    if unknown:
        return {"messages": [f"Unknown message type '{unknown[0]}'."]}
    for message in _each_message(messages):
        if _is_broken(message.get("body") or ""):
            raise BrokenTemplate
        if _is_broken(message.get("message") or ""):
            return {"messages": ["Unable to render message: invalid template."]}
    return {}


def _each_message(messages: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    of_approvals = messages.get("workflow_approval") or {}
    others = [value for key, value in messages.items() if key != "workflow_approval"]
    return [one for one in (*others, *of_approvals.values()) if one]


def _is_broken(template: str) -> bool:
    try:
        SandboxedEnvironment().from_string(template)
    except TemplateSyntaxError:
        return True
    return False


_RULES: Mapping[str, Callable[[State, Row], Errors]] = {
    "credential_types": _credential_type,
    "credentials": _credential,
    "projects": _project,
    "inventory_sources": _inventory_source,
    "job_templates": _job_template,
    "workflow_job_template_nodes": _unpromptable,
    "schedules": _schedule,
    "notification_templates": _notification_template,
}
