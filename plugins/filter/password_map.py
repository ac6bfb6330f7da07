# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: password_map
short_description: Parse mailbox passwords without showing them
version_added: 0.1.0
description:
  - Takes a map of addresses to passwords, as a dictionary or as a YAML or JSON string, and returns
    it as a dictionary of lists.
  - Error messages never include any part of the input, because it may be a password. By contrast,
    the P(ansible.builtin.from_yaml#filter) filter shows the lines that it cannot parse.
author: [Postroom contributors (@postroom)]
positional: variable
options:
  _input:
    description:
      - Mailbox addresses, each with one password or a list of passwords that are all valid.
      - In a YAML or JSON string, values that look like numbers are read as strings, exactly as
        written.
      - An empty string or V(null) means that there are no passwords.
    type: raw
    required: true
  variable:
    description: Name of the variable to show in error messages.
    type: str
    default: passwords
    version_added: 1.0.0
seealso:
  - module: postroom.email.email_tenant
"""

EXAMPLES = r"""
- name: Set the passwords from a file, which may be encrypted with ansible-vault
  postroom.email.email_tenant:
    mailboxes: [alice@example.com, bob@example.com]
    passwords: "{{ lookup('ansible.builtin.file', 'passwords.yml') | postroom.email.password_map }}"
    update_password: always
"""

RETURN = r"""
_value:
  description: Lists of passwords, keyed by address. Addresses are normalized as by
    the P(postroom.email.name_key#filter) filter.
  type: dict
"""

from collections.abc import Callable, Mapping
from typing import Any

from ..module_utils._api.errors import InvalidInput
from ..module_utils._api.yaml_reader import Malformed, RepeatedKey, parse_yaml
from ..module_utils._passwords import read_passwords
from ..plugin_utils._filters import as_filter, decrypted

_REMEDY = "For each mailbox, write a line such as alice@example.com: 'password'"


@as_filter
def password_map(given: Any, variable: str = "passwords") -> dict[str, list[str]]:
    # The whole map may be one inline vault string.
    given = decrypted(given)
    data = _parsed(given, variable) if isinstance(given, str) else given
    if data is None:
        return {}
    if not isinstance(data, Mapping):
        raise InvalidInput(f"{variable}: This must be a map of addresses to passwords. {_REMEDY}.")
    found = read_passwords({key: decrypted(value) for key, value in data.items()}, variable)
    return {name.key: list(texts) for name, texts in found.items()}


def _parsed(text: str, variable: str) -> Any:
    try:
        # PyYAML's C parser does not accept Ansible's subclasses of str.
        return parse_yaml(str.__str__(text))
    except RepeatedKey as error:
        # The key is not shown, because it is a password if the address and the password are
        # swapped.
        raise InvalidInput(
            f"{variable}: A key occurs twice, on lines {error.first} and {error.line}. Keep one."
        ) from None
    except Malformed as error:
        # The parser's message may include parts of the text.
        where = "" if error.line is None else f" (see line {error.line})"
        raise InvalidInput(
            f"{variable}: This is not valid YAML{where}. {_REMEDY}. With ansible-vault, encrypt the "
            "whole file, not single values."
        ) from None


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"password_map": password_map}
