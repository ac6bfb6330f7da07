# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The kinds of AWX resources with their roles, references, secrets and defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]

#: AWX's singular name for each kind, keyed by the kind's path in the API.
KINDS = {
    "organizations": "organization",
    "credential_types": "credential_type",
    "credentials": "credential",
    "projects": "project",
    "execution_environments": "execution_environment",
    "instance_groups": "instance_group",
    "inventories": "inventory",
    "inventory_sources": "inventory_source",
    "job_templates": "job_template",
    "labels": "label",
    "workflow_job_templates": "workflow_job_template",
    "workflow_job_template_nodes": "workflow_job_template_node",
    "workflow_approval_templates": "workflow_approval_template",
    "schedules": "schedule",
    "notification_templates": "notification_template",
    "teams": "team",
    "users": "user",
}
ROLES = {
    "organizations": ("member",),
    "job_templates": ("execute", "read"),
    "workflow_job_templates": ("execute", "approval", "read"),
    "teams": ("member", "read"),
}
UNIFIED = (
    "job_templates",
    "workflow_job_templates",
    "projects",
    "inventory_sources",
    "workflow_approval_templates",
)
#: Fields that refer to another resource, with the kind of that resource. A response contains the
#: resource's name in `summary_fields`.
REFERENCES = {
    "credential": "credentials",
    "execution_environment": "execution_environments",
    "inventory": "inventories",
    "project": "projects",
    "source_project": "projects",
}
#: Fields that contain secrets among other values.
WITH_SECRETS = {
    "credentials": "inputs",
    "notification_templates": "notification_configuration",
}
#: The prompts of all templates, and those that only job templates have.
_PROMPTS = ("inventory", "labels", "limit", "scm_branch", "skip_tags", "tags", "variables")
_JOB_PROMPTS = (
    "credential",
    "diff_mode",
    "execution_environment",
    "forks",
    "instance_groups",
    "job_slice_count",
    "job_type",
    "timeout",
    "verbosity",
)
#: Fields of a launch whose prompt has a different name.
_LAUNCH_FIELDS = {"credentials": "credential", "extra_vars": "variables", "job_tags": "tags"}


def ask(name: str) -> str:
    """Return the field of a template that enables a prompt."""
    return f"ask_{_LAUNCH_FIELDS.get(name, name)}_on_launch"


#: The defaults of fields that a request to create a resource omits.
DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "projects": {
        "allow_override": False,
        "credential": None,
        "scm_branch": "",
        "scm_revision": "",
        "scm_url": "",
        "status": "successful",
    },
    "execution_environments": {"credential": None},
    "inventory_sources": {"execution_environment": None},
    "job_templates": {
        "execution_environment": None,
        **dict.fromkeys(("job_tags", "limit", "scm_branch", "skip_tags"), ""),
        "verbosity": 0,
        **{ask(name): False for name in (*_PROMPTS, *_JOB_PROMPTS)},
    },
    "workflow_job_templates": {
        **dict.fromkeys(("job_tags", "limit", "scm_branch", "skip_tags")),
        "extra_vars": "",
        **{ask(name): False for name in _PROMPTS},
    },
}


@dataclass
class Role:
    """A role on a resource, and the IDs of its holders."""

    id: int
    resource: int
    name: str
    holders: dict[str, list[int]] = field(default_factory=lambda: {"users": [], "teams": []})


def name_of(row: Row) -> str:
    """Return a resource's name."""
    return str(row.get("username") or row["name"])


def fields_of(credential_type: Row) -> dict[str, bool]:
    """Return the fields of a credential type, and whether each one is secret."""
    fields = credential_type.get("inputs", {}).get("fields", ())
    return {one["id"]: one.get("secret", False) for one in fields}
