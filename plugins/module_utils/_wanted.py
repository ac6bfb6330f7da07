# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""From the options of a task to what is wanted of a whole tenant."""

from __future__ import annotations

from datetime import datetime, timezone

from ._api.errors import InvalidInput
from ._api.gc_pause import without_collection
from ._api.tenant.converge import Wanted
from ._api.tenant.definition import Source
from ._api.tenant.definition_file import load
from ._api.tenant.desired import Passwords
from ._api.tenant.purge import PurgeRules
from ._api.tenant.read_definition import read_definition, read_passwords
from ._module import Params
from ._passwords import replaces_passwords

#: The options that hold a part of a definition.
PARTS = ("domains", "mailboxes", "forwarders")


@without_collection()
def wanted_tenant(params: Params) -> Wanted:
    """Return what the options of ``email_tenant`` ask for.

    :raises InvalidInput: something in them is wrong; nothing was sent
    """
    rules = PurgeRules(
        frozenset(params["purge"]),
        tuple(params["scope"]),
        tuple(params["ignore"]),
        params["max_deletions"],
        params["max_delete_percent"],
    )
    passwords = read_passwords(params["passwords"] or {})
    return Wanted(
        read_definition(_sources(params), datetime.now(timezone.utc)),
        Passwords(passwords, replaces_passwords(params)),
        rules,
        params["expected_plan"],
        params["concurrency"],
    )


def _sources(params: Params) -> list[Source]:
    inline = {part: params[part] for part in PARTS if params[part] is not None}
    files = params["definition_files"] or ()
    if not inline and not files:
        raise InvalidInput(
            "definition_files: nothing is declared. Name at least one file, or give domains, "
            "mailboxes or forwarders."
        )
    try:
        return [*map(load, files), Source(None, inline)]
    except ImportError:
        raise InvalidInput(
            "definition_files: reading YAML needs the Python package PyYAML where the module "
            "runs. Install it, or give the definition as JSON, in a file named *.json."
        ) from None
