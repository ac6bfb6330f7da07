#!/usr/bin/python
# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: email_alias
short_description: Add an alias to a mailbox or remove it
version_added: 0.1.0
description:
  - Adds an address to a mailbox as an alias, or removes it. Other aliases are not changed.
  - The service replaces whole address lists and cannot lock them. The module reads the list
    immediately before it writes, verifies the list after a delay, and repairs changes that another
    client overwrote. A client that takes longer than this delay (a quarter of a second, or four
    times the duration of the write) can still overwrite the change without being noticed.
author:
  - Postroom contributors (@postroom)
extends_documentation_fragment:
  - postroom.email.api
  - postroom.email.api.attributes
options:
  address:
    description: The alias. Its domain must be registered in the tenant.
    type: str
    required: true
  mailbox:
    description: Primary address of the mailbox.
    type: str
    required: true
  state:
    description:
      - Whether the mailbox has the alias. With V(absent), an alias of another mailbox is not
        changed.
    type: str
    choices: [present, absent]
    default: present
  move:
    description:
      - Take the alias from the mailbox or forwarder that has it now. If the second step fails, the
        alias is restored, which may take up to 10 seconds beyond O(timeout). Between the two steps
        the service rejects mail to the alias.
      - If V(false), the module fails and names the owner. A primary address is never moved.
    type: bool
    default: false
seealso:
  - module: postroom.email.email_mailbox
    description: Manages all aliases of a mailbox in one task.
"""

EXAMPLES = r"""
- name: Deliver mail for sales@ to Alice
  postroom.email.email_alias:
    address: sales@example.com
    mailbox: alice@example.com

- name: Move sales@ to Bob
  postroom.email.email_alias:
    address: sales@example.com
    mailbox: bob@example.com
    move: true

- name: Remove the alias
  postroom.email.email_alias:
    address: sales@example.com
    mailbox: bob@example.com
    state: absent
"""

RETURN = r"""
mailbox:
  description: The mailbox after the task, or in check mode as it would be; null if it is absent.
  returned: success
  type: dict
  contains:
    name:
      description: Primary address.
      type: str
      returned: always
      sample: alice@example.com
    aliases:
      description: Further addresses that deliver to the mailbox.
      type: list
      elements: str
      returned: always
      sample: [sales@example.com]
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
    DeclaredMailbox,
)
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.messages import (
    DECLARED_ABSENT,
)
from ansible_collections.postroom.email.plugins.module_utils._module import (
    Outcome,
    Params,
    run_module,
)
from ansible_collections.postroom.email.plugins.module_utils._object import ensure_object

ARGUMENT_SPEC: dict[str, Any] = {
    "address": {"type": "str", "required": True},
    "mailbox": {"type": "str", "required": True},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "move": {"type": "bool", "default": False},
}


def ensure_alias(client: Client, params: Params, *, check_mode: bool) -> Outcome:
    """Add the alias or remove it."""
    address = parse_address(params["address"], "address")
    mailbox = parse_address(params["mailbox"], "mailbox")
    if params["state"] == "present":
        declared = DeclaredMailbox(
            mailbox, aliases=frozenset({address}), may_create=False, move=params["move"]
        )
    else:
        absent = {address: DECLARED_ABSENT}
        declared = DeclaredMailbox(mailbox, absent_aliases=absent, may_create=False)
    return ensure_object(client, declared, check_mode=check_mode)


def main() -> None:
    """Run the module."""
    run_module(ensure_alias, ARGUMENT_SPEC)


if __name__ == "__main__":
    main()
