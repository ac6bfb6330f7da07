# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Run the task of a module that manages one object."""

from __future__ import annotations

from ._api.client.client import Client
from ._api.models import respelled
from ._api.names import Name
from ._api.tenant.converge_object import converge_object
from ._api.tenant.declared import Declared, DeclaredForwarder, DeclaredIndividual, Passwords
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
    # A service may change the case of a name.
    shown = None if principal is None else respelled(principal, _names(declared)).as_dict()
    changes = [change.as_dict() for change in converged.changes]
    values = {declared.kind: shown, "changes": changes}
    return Outcome(bool(changes), values, as_diff(converged.changes), converged.warnings)


def _names(declared: Declared) -> list[Name]:
    aliases = declared.aliases if isinstance(declared, DeclaredIndividual) else None
    members = declared.members if isinstance(declared, DeclaredForwarder) else None
    return [*(members or ()), *(aliases or ()), declared.name]
