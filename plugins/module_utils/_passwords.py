# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The options for passwords and the login probe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ._api.client.client import Client
from ._api.errors import InvalidInput
from ._api.models import password_flaw
from ._api.names import Name, parse_address
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
            "Set one, or omit update_password."
        )
    return Passwords({name: tuple(values)}, replaces_passwords(params))


def read_passwords(
    raw: Mapping[Any, Any], option: str = "passwords"
) -> dict[Name, tuple[str, ...]]:
    """Parse a mapping from addresses to a string or a list of strings.

    :param option: the option or variable to name in errors
    :raises InvalidInput: if an address or a password is invalid; the message contains no password
    """
    found: dict[Name, tuple[str, ...]] = {}
    for key, value in raw.items():
        if not isinstance(key, str):
            raise InvalidInput(f"{option}: A key is not a string. Write an email address instead.")
        try:
            name = parse_address(key)
        except InvalidInput:
            # If the address and the password are swapped, the key is a password.
            raise InvalidInput(
                f"{option}: A key is not an email address. Write each entry as address: password. "
                "The key is not shown, because it may be a password."
            ) from None
        if name in found:
            first = next(each for each in found if each == name)
            raise InvalidInput(f"{option}: {name} is the same as {first}. Keep one of the two.")
        found[name] = tuple(value) if isinstance(value, (list, tuple)) else (value,)
        if not found[name]:
            raise InvalidInput(
                f"{option}: The list for {name} is empty. Add a password, or remove the list."
            )
        for text in found[name]:
            if not isinstance(text, str):
                raise InvalidInput(
                    f"{option}: The password of {name} is not a string. Write a string in "
                    "quotes, or a list of strings."
                )
            flaw = password_flaw(text)
            if flaw:
                raise InvalidInput(f"{option}: The password of {name} {flaw}")
    return found


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
