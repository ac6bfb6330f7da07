#!/usr/bin/python
# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: email_forwarder
short_description: Create, change or delete a forwarder
version_added: 0.1.0
description:
  - Creates, changes or deletes a forwarder, which sends its mail to every member.
  - Fails if a mailbox has the same name, or if the change would create a forwarding loop.
author: [Postroom contributors (@postroom)]
extends_documentation_fragment: [postroom.email.api, postroom.email.api.attributes]
options:
  name:
    description: Address of the forwarder. It can't be changed later.
    type: str
    required: true
  state:
    description: Whether the forwarder should exist.
    type: str
    choices: [present, absent]
    default: present
  members:
    description:
      - Addresses of the recipients, on any domain. A new forwarder needs at least one recipient.
      - If not set, members are not changed.
    type: list
    elements: str
  purge_members:
    description: Whether to remove members that are not in O(members).
    type: bool
    default: true
  aliases:
    description:
      - Additional addresses, on domains of the tenant, whose mail is forwarded to the same members.
      - If not set, aliases are not changed.
    type: list
    elements: str
  purge_aliases:
    description: Whether to remove aliases that are not in O(aliases). An empty list removes all
      aliases.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Forward team@ to two addresses
  postroom.email.email_forwarder:
    name: team@example.com
    members: [alice@example.com, partner@example.net]

- name: Add a member and keep the others
  postroom.email.email_forwarder:
    name: team@example.com
    members: [bob@example.com]
    purge_members: false

- name: Stop forwarding
  postroom.email.email_forwarder:
    name: team@example.com
    state: absent
"""

RETURN = r"""
forwarder:
  description: The forwarder after the task, or null if it does not exist. In check mode, this is
    the expected state.
  returned: success
  type: dict
  contains:
    name: {description: Address of the forwarder., returned: always, type: str}
    members: {description: Recipients., returned: always, type: list, elements: str}
    aliases: {description: Additional addresses., returned: always, type: list, elements: str}
changes:
  description: The changes in order. In check mode, these are the planned changes; after a failure, they
    are the changes made before the failure.
  returned: success or failure
  type: list
  elements: dict
  contains:
    action: {description: "V(create), V(update) or V(delete).", returned: always, type: str}
    kind: {description: "V(domain), V(mailbox) or V(forwarder).", returned: always, type: str}
    name: {description: Name of the object., returned: always, type: str}
    reason: {description: Reasons for the change., returned: always, type: str}
    code: {description: "Code of the first reason, such as V(add_alias).", returned: always, type: str}
    reasons:
      description: The reasons for the change.
      returned: always
      type: list
      elements: dict
      contains:
        code: {description: Code of the reason., returned: always, type: str}
        text: {description: The reason., returned: always, type: str}
failure:
  description: Details of the failure.
  returned: failure
  type: dict
  contains:
    code: {description: "Stable identifier to use in conditions, such as V(unauthorized).", returned: always, type: str}
    kind: {description: "Class of the error, such as V(Unauthorized).", returned: always, type: str}
    status: {description: HTTP status; null if there was no response., returned: when a request failed, type: int}
    method: {description: HTTP method., returned: when a request failed, type: str}
    path: {description: Path of the request., returned: when a request failed, type: str}
    detail: {description: "The service's message, without secrets.", returned: when a request failed, type: str}
"""

from typing import Any

from ..module_utils._api.client.client import Client
from ..module_utils._api.names import parse_address
from ..module_utils._api.tenant.declared import DeclaredForwarder
from ..module_utils._module import Outcome, Params, addresses, run_module
from ..module_utils._single_object import ensure_object

ARGUMENT_SPEC: dict[str, Any] = {
    "name": {"type": "str", "required": True},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "members": {"type": "list", "elements": "str"},
    "purge_members": {"type": "bool", "default": True},
    "aliases": {"type": "list", "elements": "str"},
    "purge_aliases": {"type": "bool", "default": False},
}


def ensure_forwarder(client: Client, params: Params, *, check_mode: bool) -> Outcome:
    declared = DeclaredForwarder(
        parse_address(params["name"]),
        absent=params["state"] == "absent",
        members=addresses(params, "members"),
        purge_members=params["purge_members"],
        aliases=addresses(params, "aliases"),
        purge_aliases=params["purge_aliases"],
    )
    return ensure_object(client, declared, check_mode=check_mode)


def main() -> None:
    run_module(ensure_forwarder, ARGUMENT_SPEC)


if __name__ == "__main__":
    main()
