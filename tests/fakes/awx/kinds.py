# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The kinds of the controller's resources, by their place in its interface."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ansible_collections.postroom.email.tests.fakes.awx.fields import (
    Field,
    fixed,
    flag,
    mapping,
    named,
    number,
    ref,
    text,
)


class Kind(NamedTuple):
    """A kind.

    :param type: AWX's word for one of them
    :param key: the fields that no two have the same; the first is the name
    :param links: other kinds that it can be associated with, by the association's name
    :param roles: the roles that somebody can have on one
    """

    type: str
    fields: Mapping[str, Field]
    key: tuple[str, ...] = ("name",)
    links: Mapping[str, str] = {}
    roles: tuple[str, ...] = ()


_NOTICES = {
    f"notification_templates_{event}": "notification_templates"
    for event in ("started", "success", "error")
}
_APPROVALS = {"notification_templates_approvals": "notification_templates"}
_PROMPTED = {"credentials": "credentials"}
_OWNED = ("name", "organization")
_BASE = {"name": named(), "description": text()}
_VERBOSITY = number(0, (0, 1, 2, 3, 4, 5))

#: What somebody may be asked at launch: the prompt's name, and the field that it asks for.
PROMPTS = {
    "diff_mode": Field("bool"),
    "execution_environment": ref("execution_environments"),
    "forks": Field("int"),
    "inventory": ref("inventories"),
    "job_slice_count": Field("int"),
    "job_tags": text(),
    "job_type": text(choices=("run", "check")),
    "limit": text(),
    "scm_branch": text(),
    "skip_tags": text(),
    "timeout": Field("int"),
    "verbosity": Field("int", choices=(0, 1, 2, 3, 4, 5)),
}
_ASKED_AS = {"job_tags": "tags"}
_ASKS = {f"ask_{_ASKED_AS.get(name, name)}_on_launch": flag() for name in PROMPTS}


def prompt_of(field: str) -> str:
    """Return the switch of a template that lets a field be given at launch."""
    return f"ask_{_ASKED_AS.get(field, field)}_on_launch"


_ORGANIZATIONS = Kind(
    "organization",
    {**_BASE, "max_hosts": number(), "default_environment": ref("execution_environments")},
    links={"galaxy_credentials": "credentials", **_NOTICES, **_APPROVALS},
    roles=("admin", "member", "read", "execute", "auditor", "approval"),
)
_CREDENTIAL_TYPES = Kind(
    "credential_type",
    {
        **_BASE,
        "kind": text(needed=True, choices=("cloud", "net")),
        "inputs": mapping(),
        "injectors": mapping(),
        "managed": fixed(False),
    },
)
_CREDENTIALS = Kind(
    "credential",
    {
        **_BASE,
        "organization": ref("organizations"),
        "credential_type": ref("credential_types", needed=True),
        "inputs": mapping(),
        "user": ref("users", hidden=True),
        "team": ref("teams", hidden=True),
    },
    key=("name", "organization", "credential_type"),
    roles=("admin", "use", "read"),
)
_PROJECTS = Kind(
    "project",
    {
        **_BASE,
        "organization": ref("organizations"),
        "scm_type": text(choices=("git", "svn", "insights", "archive")),
        **{name: text() for name in ("scm_url", "scm_branch", "scm_refspec", "local_path")},
        "scm_clean": flag(),
        "scm_delete_on_update": flag(),
        "scm_track_submodules": flag(),
        "scm_update_on_launch": flag(),
        "scm_update_cache_timeout": number(),
        "allow_override": flag(),
        "timeout": number(),
        "credential": ref("credentials"),
        "default_environment": ref("execution_environments"),
        "scm_revision": fixed(""),
    },
    key=_OWNED,
    links=_NOTICES,
    roles=("admin", "use", "update", "read"),
)
_EXECUTION_ENVIRONMENTS = Kind(
    "execution_environment",
    {
        **_BASE,
        "image": text(needed=True),
        "organization": ref("organizations"),
        "credential": ref("credentials"),
        "pull": text(choices=("always", "missing", "never")),
    },
)
_INVENTORIES = Kind(
    "inventory",
    {
        **_BASE,
        "organization": ref("organizations", needed=True),
        "kind": text(choices=("smart", "constructed")),
        "host_filter": Field("str"),
        "variables": text(),
        "prevent_instance_group_fallback": flag(),
    },
    key=_OWNED,
    roles=("admin", "use", "adhoc", "update", "read"),
)
_INVENTORY_SOURCES = Kind(
    "inventory_source",
    {
        **_BASE,
        "inventory": ref("inventories", needed=True),
        "source": text(needed=True, choices=("scm", "ec2", "gce", "controller", "openstack")),
        **{name: text() for name in ("source_path", "source_vars", "scm_branch", "limit")},
        **{name: text() for name in ("enabled_var", "enabled_value", "host_filter")},
        "credential": ref("credentials"),
        "execution_environment": ref("execution_environments"),
        "source_project": ref("projects"),
        "overwrite": flag(),
        "overwrite_vars": flag(),
        "update_on_launch": flag(),
        "update_cache_timeout": number(),
        "timeout": number(),
        "verbosity": number(1, (0, 1, 2)),
        "organization": fixed(to="organizations"),
    },
    key=("name", "inventory"),
    links=_NOTICES,
)
_JOB_TEMPLATES = Kind(
    "job_template",
    {
        **_BASE,
        **PROMPTS,
        **_ASKS,
        "job_type": text("run", choices=("run", "check")),
        "diff_mode": flag(),
        "forks": number(),
        "job_slice_count": number(1),
        "timeout": number(),
        "verbosity": _VERBOSITY,
        "project": ref("projects"),
        "playbook": text(),
        "extra_vars": text(),
        "survey_enabled": flag(),
        "become_enabled": flag(),
        "allow_simultaneous": flag(),
        "use_fact_cache": flag(),
        "ask_variables_on_launch": flag(),
        "ask_credential_on_launch": flag(),
        # It is the project's.
        "organization": fixed(to="organizations"),
    },
    key=_OWNED,
    links={**_PROMPTED, **_NOTICES},
    roles=("admin", "execute", "read"),
)
_WORKFLOWS = Kind(
    "workflow_job_template",
    {
        **_BASE,
        "organization": ref("organizations"),
        "extra_vars": text(),
        "survey_enabled": flag(),
        "allow_simultaneous": flag(),
        "ask_variables_on_launch": flag(),
        "inventory": ref("inventories"),
        "limit": text(),
    },
    key=_OWNED,
    links={**_NOTICES, **_APPROVALS},
    roles=("admin", "execute", "approval", "read"),
)
_NODES = Kind(
    "workflow_job_template_node",
    {
        **PROMPTS,
        "type": fixed(),
        "identifier": text(),
        "workflow_job_template": ref("workflow_job_templates", needed=True),
        "unified_job_template": ref("unified_job_templates"),
        "extra_data": mapping(),
        "all_parents_must_converge": flag(),
    },
    key=("identifier", "workflow_job_template"),
    links={
        **{f"{when}_nodes": "workflow_job_template_nodes" for when in ("success", "failure")},
        "always_nodes": "workflow_job_template_nodes",
        **_PROMPTED,
    },
)
_APPROVAL_TEMPLATES = Kind(
    "workflow_approval_template",
    {**_BASE, "timeout": number(), "organization": fixed()},
    key=("id",),
)
_SCHEDULES = Kind(
    "schedule",
    {
        **_BASE,
        **PROMPTS,
        "rrule": text(needed=True),
        "unified_job_template": ref("unified_job_templates", needed=True),
        "enabled": flag(default=True),
        "extra_data": mapping(),
    },
    key=("name", "unified_job_template"),
    links=_PROMPTED,
)
_NOTIFICATION_TEMPLATES = Kind(
    "notification_template",
    {
        **_BASE,
        "organization": ref("organizations", needed=True),
        "notification_type": text(needed=True, choices=("email", "slack", "webhook")),
        "notification_configuration": mapping(),
        "messages": mapping(),
    },
    key=_OWNED,
)
_TEAMS = Kind(
    "team",
    {**_BASE, "organization": ref("organizations", needed=True)},
    key=_OWNED,
    roles=("admin", "member", "read"),
)
_USERS = Kind(
    "user",
    {
        "username": Field("str", is_needed=True, longest=150),
        **{name: text() for name in ("first_name", "last_name", "email", "password")},
        "is_superuser": flag(),
        "is_system_auditor": flag(),
    },
    key=("username",),
)

KINDS: Mapping[str, Kind] = {
    "organizations": _ORGANIZATIONS,
    "credential_types": _CREDENTIAL_TYPES,
    "credentials": _CREDENTIALS,
    "projects": _PROJECTS,
    "execution_environments": _EXECUTION_ENVIRONMENTS,
    "inventories": _INVENTORIES,
    "inventory_sources": _INVENTORY_SOURCES,
    "job_templates": _JOB_TEMPLATES,
    "workflow_job_templates": _WORKFLOWS,
    "workflow_job_template_nodes": _NODES,
    "workflow_approval_templates": _APPROVAL_TEMPLATES,
    "schedules": _SCHEDULES,
    "notification_templates": _NOTIFICATION_TEMPLATES,
    "teams": _TEAMS,
    "users": _USERS,
}

#: What can be launched, scheduled or be a node of a workflow. They have one room for their names.
UNIFIED = (
    "job_templates",
    "workflow_job_templates",
    "projects",
    "inventory_sources",
    "workflow_approval_templates",
)
