# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Run the task of a module that manages one object."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ._api.client.client import Client
from ._api.models import Principal
from ._api.names import Name
from ._api.tenant.converge_object import converge_object
from ._api.tenant.declared import Declared, Passwords
from ._api.tenant.plan import Probe, as_diff
from ._module import Outcome


def ensure_object(
    client: Client,
    declared: Declared,
    *,
    check_mode: bool,
    passwords: Passwords = Passwords(),  # noqa: B008 - it is frozen
    probe: Probe | None = None,
) -> Outcome:
    """Make one object match its declaration, and return it under a key such as ``mailbox``."""
    converged = converge_object(
        client, declared, dry_run=check_mode, passwords=passwords, probe=probe
    )
    principal = converged.principal
    shown = None if principal is None else _respelled(principal, declared).as_dict()
    changes = [change.as_dict() for change in converged.changes]
    values = {declared.kind: shown, "changes": changes}
    return Outcome(bool(changes), values, as_diff(converged.changes), converged.warnings)


def _respelled(principal: Principal, declared: Declared) -> Principal:
    """Return a principal with its names spelled as declared. A service may change their case."""
    names: dict[Name, Name] = {}
    lists: dict[str, Any] = {}
    # The declared name comes last, so that its spelling takes precedence.
    for key in ("members", "aliases"):
        names |= {name: name for name in getattr(declared, key, None) or ()}
    names[declared.name] = declared.name
    for key in ("aliases", "members"):
        if hasattr(principal, key):
            lists[key] = frozenset(names.get(name, name) for name in getattr(principal, key))
    return replace(principal, name=names.get(principal.name, principal.name), **lists)
