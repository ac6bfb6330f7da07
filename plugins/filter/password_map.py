# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: password_map
short_description: Read the passwords of mailboxes, and never show one
version_added: 0.1.0
description:
  - Takes passwords by address, as a dictionary or as a text in YAML or JSON, and returns them as a
    dictionary of lists.
  - What can't be used is told without showing any of it, for it may be a password. Ansible's own
    C(from_yaml) shows what it can't read.
author:
  - Postroom contributors (@postroom)
options:
  _input:
    description:
      - Addresses of mailboxes, each with a password or with a list of several that are all valid.
      - In a text, all passwords are taken as they are written, those too that look like numbers.
      - A text without anything in it, and V(null), hold no passwords.
    type: raw
    required: true
seealso:
  - module: postroom.email.email_tenant
"""

EXAMPLES = r"""
- name: Set the passwords of a file, which may be encrypted with ansible-vault
  postroom.email.email_tenant:
    mailboxes: [alice@example.com, bob@example.com]
    passwords: "{{ lookup('ansible.builtin.file', 'passwords.yml') | postroom.email.password_map }}"
    update_password: always
"""

RETURN = r"""
_value:
  description: Lists of passwords by address, addresses as P(postroom.email.name_key#filter) spells
    them.
  type: dict
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.postroom.email.plugins.module_utils._api.errors import InvalidInput
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.read_definition import (
    read_passwords,
)
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.yaml_events import (
    Builder,
    Malformed,
    RepeatedKey,
)
from ansible_collections.postroom.email.plugins.plugin_utils._filtering import as_filter

_REMEDY = "Write a line address: password for each mailbox, with the password in quotes"


@as_filter
def password_map(given: Any) -> dict[str, list[str]]:
    # All of it may have been encrypted as one text.
    given = _plain(given)
    data = _parsed(given) if isinstance(given, str) else given
    if data is None:
        return {}
    if not isinstance(data, Mapping):
        raise InvalidInput(f"passwords: They are no map of addresses to passwords. {_REMEDY}.")
    found = read_passwords({key: _plain(value) for key, value in data.items()})
    return {name.key: list(texts) for name, texts in found.items()}


def _parsed(text: str) -> Any:
    try:
        # Ansible's texts are of types of its own, which YAML's reader in C does not take.
        return Builder(str.__str__(text), with_lines=True).build()
    except RepeatedKey as error:
        # Where the two were interchanged, the key is a password.
        raise InvalidInput(
            f"passwords: A key is given twice, on lines {error.first} and {error.line}. Keep one."
        ) from None
    except Malformed as error:
        # Its words may show some of the text.
        where = "" if error.line is None else f", because of line {error.line}"
        raise InvalidInput(
            f"passwords: They can't be read as YAML{where}. {_REMEDY}, and encrypt the file as a "
            "whole or not at all."
        ) from None


def _plain(value: Any) -> Any:
    """Return what was encrypted by itself as text, which up to core 2.18 is no text."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return str(value) if getattr(value, "__ENCRYPTED__", False) else value


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"password_map": password_map}
