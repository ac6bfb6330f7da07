# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Parse and validate the passwords of a tenant's mailboxes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import InvalidInput
from ..models import password_flaw
from ..names import Name, parse_address


def read_passwords(raw: Mapping[Any, Any]) -> dict[Name, tuple[str, ...]]:
    """Parse the option ``passwords``, a mapping from addresses to a string or a list of strings.

    :raises InvalidInput: if an address or a password is invalid; the message contains no password
    """
    found: dict[Name, tuple[str, ...]] = {}
    for key, value in raw.items():
        if not isinstance(key, str):
            raise InvalidInput("passwords: A key is not a string. Write an email address instead.")
        try:
            name = parse_address(key)
        except InvalidInput:
            # If the address and the password are swapped, the key is a password.
            raise InvalidInput(
                "passwords: A key is not an email address. Write address: password. The key is "
                "not shown, because it may be a password."
            ) from None
        if name in found:
            first = next(each for each in found if each == name)
            raise InvalidInput(f"passwords: {name} is the same as {first}. Keep one of the two.")
        found[name] = tuple(value) if isinstance(value, (list, tuple)) else (value,)
        if not found[name]:
            raise InvalidInput(
                f"passwords: The list for {name} is empty. Add a password, or remove the list."
            )
        for text in found[name]:
            if not isinstance(text, str):
                raise InvalidInput(
                    f"passwords: The password of {name} is not a string. Write a string in "
                    "quotes, or a list of strings."
                )
            flaw = password_flaw(text)
            if flaw:
                raise InvalidInput(f"passwords: The password of {name} {flaw}")
    return found
