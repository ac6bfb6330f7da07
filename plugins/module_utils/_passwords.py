# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Options for setting passwords, and the login probe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._api.client.client import Client
from ._api.errors import InvalidInput
from ._api.models import password_flaw
from ._api.names import Name
from ._api.tenant.declared import Passwords
from ._api.tenant.plan import Probe
from ._module import Params

ON_CREATE, ALWAYS, PROBE = "on_create", "always", "probe"

PASSWORD_OPTIONS: dict[str, Any] = {
    # The name contains "password", but the value is not a secret.
    "update_password": {
        "type": "str",
        "choices": [ON_CREATE, ALWAYS, PROBE],
        "default": ON_CREATE,
        "no_log": False,
    },
    "imap_host": {"type": "str"},
    "imap_port": {"type": "int", "default": 993},
}


def replaces_passwords(params: Params) -> bool:
    """Return whether the declared passwords are also set for existing mailboxes."""
    return bool(params["update_password"] != ON_CREATE)


def mailbox_passwords(params: Params, name: Name) -> Passwords:
    """Return a mailbox's passwords from the option ``passwords``, a string or a list.

    :raises InvalidInput: if a password is invalid, or if update_password requires passwords and
        none are set
    """
    value = params["passwords"]
    values = value if isinstance(value, list) else [] if value is None else [value]
    for number, password in enumerate(values, 1):
        at = f"passwords: entry {number} of {len(values)}"
        if not isinstance(password, str):
            raise InvalidInput(f"{at} is not a string. Write each password in quotes.")
        flaw = password_flaw(password)
        if flaw:
            raise InvalidInput(f"{at} {flaw}")
    if replaces_passwords(params) and not values:
        raise InvalidInput(
            "passwords: at least one is required if update_password is always or probe. "
            "Set one, or leave update_password out."
        )
    return Passwords({name: tuple(values)}, replaces_passwords(params))


def login_probe(params: Params, give_client: Callable[[], Client]) -> Probe | None:
    """Return a login probe if update_password is ``probe``, else None.

    :param give_client: a function that returns a client whose timeout applies to one login
    :raises InvalidInput: if an option is invalid
    """
    if params["update_password"] != PROBE:
        return None
    # Import this only here, because other tasks don't need it.
    from ._api.tenant.login_probe import LoginProbe  # noqa: PLC0415

    return LoginProbe(
        give_client,
        params["imap_host"],
        params["imap_port"],
        ca_path=params["ca_path"],
        verify=params["validate_certs"],
    ).working
