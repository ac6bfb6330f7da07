# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Short forms for tenants, definitions and plans, used in the tests of tenant planning.

Names without an @ or a dot are addresses on example.com.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from ansible_collections.postroom.email.plugins.module_utils._api.models import (
    Domain,
    Forwarder,
    Mailbox,
    Principal,
    UnmanagedPrincipal,
)
from ansible_collections.postroom.email.plugins.module_utils._api.names import Name, read_name
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.declared import (
    Definition,
    Passwords,
)
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.plan import Plan
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.planner import plan_tenant
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.problems import Source
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.purge import (
    Purge,
)
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.read_definition import (
    read_definition,
)
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.state import TenantState

NOW = datetime(2027, 1, 15, 12, tzinfo=timezone.utc)
PASSWORD = "pw-8Kd!q0-Zebra"
FAR = "far@away.example"
STAGES = ("register", "free", "keep", "delete", "deregister")

Parts = dict[str, list[Any]]
LEAVING: Parts = {"domains": [{"name": "old.example", "state": "absent"}]}
FORCED: Parts = {"domains": [{"name": "old.example", "state": "absent", "force": True}]}


def named(text: str) -> Name:
    """Return a full name. If the text contains no domain, the name is on example.com."""
    return read_name(text if "@" in text or "." in text else f"{text}@example.com")


def names(texts: Iterable[str]) -> frozenset[Name]:
    """Return a set of full names."""
    return frozenset(map(named, texts))


def domain(text: str = "example.com") -> Domain:
    """Return the current state of a domain."""
    return Domain(named(text))


def box(text: str, *aliases: str) -> Mailbox:
    """Return the current state of a mailbox."""
    return Mailbox(named(text), names(aliases))


def team(text: str, *members: str, aliases: Iterable[str] = ()) -> Forwarder:
    """Return the current state of a forwarder."""
    return Forwarder(named(text), names(aliases), names(members))


def foreign(text: str, *addresses: str, kind: str = "group") -> UnmanagedPrincipal:
    """Return the current state of a principal of an unmanaged kind."""
    return UnmanagedPrincipal(named(text), kind, names(addresses))


def mail(name: str, *aliases: Any, **more: Any) -> dict[str, Any]:
    """Return the declaration of a mailbox, with the full addresses of its aliases."""
    written = [a if isinstance(a, dict) or "@" in a else f"{a}@example.com" for a in aliases]
    return {"name": f"{name}@example.com", "aliases": written, **more}


def forward(name: str, *members: str, **more: Any) -> dict[str, Any]:
    """Return the declaration of a forwarder."""
    written = [member if "@" in member else f"{member}@example.com" for member in members]
    return {"name": f"{name}@example.com", "members": written, **more}


def gone(name: str) -> dict[str, Any]:
    """Return the declaration of an absent mailbox or forwarder."""
    return {"name": f"{name}@example.com", "state": "absent"}


def no_alias(name: str, **more: Any) -> dict[str, Any]:
    """Return the declaration of an alias, which is absent by default."""
    return {"address": f"{name}@example.com", **(more or {"state": "absent"})}


def declare(parts: Mapping[str, Any], file: str | None = None) -> Definition:
    """Read a definition from the contents of a file, or of a task if `file` is None."""
    return read_definition([Source(file, parts)], NOW)


def plan(
    principals: Sequence[Principal],
    parts: Mapping[str, Any],
    *,
    passwords: Iterable[str] = (),
    replace: bool = False,
    purge: Iterable[str] = (),
    **rules: Any,
) -> Plan:
    """Return the plan that makes a tenant match a definition.

    :param passwords: the mailboxes for which a password is given
    """
    return plan_tenant(
        TenantState(principals=principals),
        declare(parts),
        Purge(frozenset(purge), **rules),
        Passwords({named(text): (PASSWORD,) for text in passwords}, replace),
    )


def steps(planned: Plan) -> list[str]:
    """Return each change as text: its stage, action, subject, reasons and dependencies."""
    return [
        f"{STAGES[change.stage]}: {change.action} {change.subject.kind} {change.subject.name}, "
        + " ".join(dict.fromkeys(reason.code for reason in change.reasons))
        + (f" (needs {', '.join(map(str, change.needs))})" if change.needs else "")
        for change in planned.changes
    ]


def problems(planned: Plan) -> list[str]:
    """Return each problem's place, code and parameters as text, with * if check mode only warns."""
    return [
        f"{'* ' if each.prerequisite else ''}{f'{each.place}: ' if each.place else ''}{each.code} "
        + " ".join(f"{key}={value}" for key, value in sorted(each.params.items()))
        for each in planned.problems
    ]
