# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The kinds of AWX's resources, by their path in the API.

A kind has the fields that `playbooks/awx.yml` sends, and those that the rules and awx.awx's modules
read. Before a task sends another field, add it here. The fields of a kind are words:

- `name` is a text, `inputs:dict` has another type, `enabled:true` is a flag that is on by default
- `project>projects` is the id of a resource of another kind
- `name!` is required; `=managed` is set by AWX, which ignores what is sent
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

#: `null` is a text that is null by default.
_DEFAULTS: Mapping[str, Any] = {
    "str": "",
    "int": 0,
    "bool": False,
    "dict": {},
    "null": None,
    "true": True,
}


class Field(NamedTuple):
    """A field.

    :param type: `str`, `int`, `bool`, `dict`, or `ref` for the id of a resource of kind `to`
    :param is_fixed: AWX sets it and ignores what is sent
    """

    type: str
    default: Any = None
    is_needed: bool = False
    to: str = ""
    is_fixed: bool = False


class Kind(NamedTuple):
    """A kind.

    :param type: AWX's name of one resource
    :param key: the fields that are unique together; the first one is the name
    :param links: the kinds that can be associated, by the association's name
    :param roles: the roles on one resource
    """

    type: str
    fields: Mapping[str, Field]
    key: tuple[str, ...] = ("name",)
    links: Mapping[str, str] = {}
    roles: tuple[str, ...] = ()


def _field(word: str) -> tuple[str, Field]:
    is_needed, is_fixed = word.endswith("!"), word.startswith("=")
    name, _arrow, to = word.strip("=!").partition(">")
    name, _colon, kind = name.partition(":")
    if to:
        return name, Field("ref", None, is_needed, to, is_fixed)
    default = _DEFAULTS[kind or "str"]
    kind = {"": "str", "null": "str", "true": "bool"}.get(kind, kind)
    return name, Field(kind, default, is_needed, to, is_fixed)


def _kind(type_: str, words: str, key: str = "name", roles: str = "", **links: str) -> Kind:
    fields = dict(map(_field, words.split()))
    return Kind(type_, fields, tuple(key.split()), links, tuple(roles.split()))


_NAMED = "name! description "
_OWNED = f"{_NAMED} organization>organizations "
_IN_ONE = f"{_NAMED} organization>organizations! "
#: AWX derives the organization, from the project for instance.
_DERIVED = f"{_NAMED} =organization>organizations "
_PROMPTS = "inventory>inventories job_type limit "
_NOTICES = {
    f"notification_templates_{event}": "notification_templates"
    for event in ("started", "success", "error")
}
_APPROVALS = {"notification_templates_approvals": "notification_templates"}
_NODES = {
    f"{when}_nodes": "workflow_job_template_nodes" for when in ("success", "failure", "always")
}
_IN_ORGANIZATION = "name organization"

#: The fields that a job template may ask for at launch.
PROMPTS: Mapping[str, Field] = dict(map(_field, _PROMPTS.split()))

KINDS: Mapping[str, Kind] = {
    "organizations": _kind(
        "organization",
        f"{_NAMED} max_hosts:int",
        roles="admin member read execute auditor approval",
        galaxy_credentials="credentials",
        **_NOTICES,
        **_APPROVALS,
    ),
    "credential_types": _kind(
        "credential_type", f"{_NAMED} kind! inputs:dict injectors:dict =managed:bool"
    ),
    "credentials": _kind(
        "credential",
        f"{_OWNED} credential_type>credential_types! inputs:dict",
        "name organization credential_type",
        "admin use read",
    ),
    "projects": _kind(
        "project",
        f"{_OWNED} scm_type scm_url scm_branch local_path scm_update_on_launch:bool =scm_revision",
        _IN_ORGANIZATION,
        "admin use update read",
        **_NOTICES,
    ),
    "execution_environments": _kind("execution_environment", f"{_OWNED} image! pull"),
    "inventories": _kind(
        "inventory",
        f"{_IN_ONE} kind host_filter:null",
        _IN_ORGANIZATION,
        "admin use adhoc update read",
    ),
    "inventory_sources": _kind(
        "inventory_source",
        f"{_DERIVED} source! source_path overwrite:bool update_on_launch:bool"
        " update_cache_timeout:int inventory>inventories! source_project>projects"
        " credential>credentials execution_environment>execution_environments",
        "name inventory",
        **_NOTICES,
    ),
    "job_templates": _kind(
        "job_template",
        f"{_DERIVED} {_PROMPTS} project>projects playbook extra_vars timeout:int diff_mode:bool"
        " survey_enabled:bool allow_simultaneous:bool ask_variables_on_launch:bool"
        " ask_inventory_on_launch:bool ask_job_type_on_launch:bool ask_limit_on_launch:bool"
        " execution_environment>execution_environments",
        _IN_ORGANIZATION,
        "admin execute read",
        credentials="credentials",
        **_NOTICES,
    ),
    "workflow_job_templates": _kind(
        "workflow_job_template",
        f"{_OWNED} extra_vars survey_enabled:bool ask_variables_on_launch:bool",
        _IN_ORGANIZATION,
        "admin execute approval read",
        **_NOTICES,
        **_APPROVALS,
    ),
    "workflow_job_template_nodes": _kind(
        "workflow_job_template_node",
        f"{_PROMPTS} identifier extra_data:dict =type:null"
        " workflow_job_template>workflow_job_templates! unified_job_template>unified_job_templates",
        "identifier workflow_job_template",
        **_NODES,
    ),
    "workflow_approval_templates": _kind(
        "workflow_approval_template", f"{_DERIVED} timeout:int", "id"
    ),
    "schedules": _kind(
        "schedule",
        f"{_NAMED} {_PROMPTS} extra_data:dict rrule! enabled:true"
        " unified_job_template>unified_job_templates!",
        "name unified_job_template",
    ),
    "notification_templates": _kind(
        "notification_template",
        f"{_IN_ONE} notification_type! notification_configuration:dict",
        _IN_ORGANIZATION,
    ),
    "teams": _kind("team", _IN_ONE, _IN_ORGANIZATION, "admin member read"),
    "users": _kind("user", "username! password is_superuser:bool", "username"),
}

#: The kinds that can be launched, scheduled or be a node of a workflow.
UNIFIED = (
    "job_templates",
    "workflow_job_templates",
    "projects",
    "inventory_sources",
    "workflow_approval_templates",
)
