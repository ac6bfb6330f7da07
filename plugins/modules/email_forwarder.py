#!/usr/bin/python
# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: email_forwarder
short_description: Create a forwarder, change it or delete it
version_added: 0.1.0
description:
  - Creates, changes or deletes a forwarder. Its mail is not stored but sent to every member.
  - A mailbox of the same name is an error and is never converted. Forwarding loops are refused,
    over the whole tenant.
author:
  - Postroom contributors (@postroom)
extends_documentation_fragment:
  - postroom.email.api
  - postroom.email.api.attributes
options:
  name:
    description: Address of the forwarder. It can't be changed later.
    type: str
    required: true
  state:
    description: Whether the forwarder exists.
    type: str
    choices: [present, absent]
    default: present
  members:
    description:
      - Addresses that the mail goes to, on any domain. A new forwarder needs at least one.
      - If not set, members are not changed.
    type: list
    elements: str
  purge_members:
    description: Whether to remove members that are not in O(members).
    type: bool
    default: true
  aliases:
    description:
      - Further addresses that are forwarded to the same members. Their domains must be registered in
        the tenant.
      - If not set, aliases are not changed.
    type: list
    elements: str
  purge_aliases:
    description:
      - Whether to remove aliases that are not in O(aliases). An empty list removes all.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Forward team@ to two addresses
  postroom.email.email_forwarder:
    name: team@example.com
    members:
      - alice@example.com
      - partner@example.net

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
  description: The forwarder after the task, or in check mode as it would be; null if it is absent.
  returned: success
  type: dict
  contains:
    name:
      description: Address that is forwarded.
      type: str
      returned: always
      sample: team@example.com
    aliases:
      description: Further addresses that are forwarded to the same members.
      type: list
      elements: str
      returned: always
      sample: []
    members:
      description: Addresses that the mail goes to.
      type: list
      elements: str
      returned: always
      sample: [alice@example.com, partner@example.net]
changes:
  description:
    - The changes in order. In check mode, the changes that would be made.
    - After a failure, the changes that were made before it and were kept.
  returned: success or failure
  type: list
  elements: dict
  contains:
    action:
      description: The action. One of V(create), V(update) and V(delete).
      type: str
      returned: always
      sample: update
    kind:
      description: Kind of the object. One of V(domain), V(mailbox) and V(forwarder).
      type: str
      returned: always
      sample: mailbox
    name:
      description: Name of the object.
      type: str
      returned: always
      sample: alice@example.com
    reason:
      description: Why it is needed.
      type: str
      returned: always
      sample: missing alias sales@example.com
    code:
      description:
        - The reason as a code, the first one if there are several.
        - One of V(missing), V(declared_absent), V(expired), V(undeclared), V(domain_deleted),
          V(add_alias), V(remove_alias), V(add_member), V(remove_member), V(replace_passwords).
      type: str
      returned: always
      sample: add_alias
failure:
  description: Details of the request that failed, or the reason why no request was sent.
  returned: failure
  type: dict
  contains:
    code:
      description:
        - Stable identifier of the failure, such as V(unauthorized), V(unreachable) or V(refused).
        - Test this in conditions, because messages may change.
      type: str
      returned: always
      sample: unauthorized
    kind:
      description: Class of the failure, such as V(Unauthorized), V(Unreachable) or V(Refused).
      type: str
      returned: always
      sample: Unauthorized
    status:
      description: HTTP status of the response; null if no response was received.
      type: int
      returned: when a request failed
      sample: 401
    method:
      description: HTTP method of the request.
      type: str
      returned: when a request failed
      sample: GET
    path:
      description: Path of the request.
      type: str
      returned: when a request failed
      sample: /api/principal
    detail:
      description: Error message of the service, without secrets.
      type: str
      returned: when a request failed
      sample: The token is not known.
"""

from typing import Any

from ansible_collections.postroom.email.plugins.module_utils._api.client.client import Client
from ansible_collections.postroom.email.plugins.module_utils._api.names import parse_address
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.definition import (
    DeclaredForwarder,
)
from ansible_collections.postroom.email.plugins.module_utils._module import (
    Outcome,
    Params,
    addresses,
    run_module,
)
from ansible_collections.postroom.email.plugins.module_utils._object import ensure_object

ARGUMENT_SPEC: dict[str, Any] = {
    "name": {"type": "str", "required": True},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "members": {"type": "list", "elements": "str"},
    "purge_members": {"type": "bool", "default": True},
    "aliases": {"type": "list", "elements": "str"},
    "purge_aliases": {"type": "bool", "default": False},
}


def ensure_forwarder(client: Client, params: Params, *, check_mode: bool) -> Outcome:
    """Create the forwarder, change it or delete it."""
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
    """Run the module."""
    run_module(ensure_forwarder, ARGUMENT_SPEC)


if __name__ == "__main__":
    main()
