#!/usr/bin/python
# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: email_alias
short_description: Add or remove an alias of a mailbox
version_added: 0.1.0
description:
  - Adds an address to a mailbox as an alias, or removes it. Other aliases are not changed.
  - The service replaces whole address lists and cannot lock them. The module therefore verifies the
    list after the write, and repairs changes that another client has overwritten. Before this
    check, the module waits 0.25 to 2 seconds, depending on how long the write took. It does not
    detect changes that are overwritten later.
author: [Postroom contributors (@postroom)]
extends_documentation_fragment: [postroom.email.api, postroom.email.api.attributes]
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
    description: Whether the mailbox should have the alias. With V(absent), other mailboxes are not
      changed.
    type: str
    choices: [present, absent]
    default: present
  move:
    description:
      - Whether to take the alias from another mailbox or forwarder. A primary address is never moved.
      - If the alias was removed from its owner but can't be added to the mailbox, the module gives
        it back to the owner, which may take up to 10 seconds beyond O(timeout). Until the alias is
        added or given back, the service rejects mail to it.
      - If V(false) and the alias is in use, the module fails and names the owner.
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
  description: The mailbox after the task, or null if it does not exist. In check mode, this is the
    expected state.
  returned: success
  type: dict
  contains:
    name: {description: Primary address., returned: always, type: str}
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
from ..module_utils._api.tenant.declared import DeclaredMailbox
from ..module_utils._api.tenant.problems import DECLARED_ABSENT
from ..module_utils._module import Outcome, Params, run_module
from ..module_utils._single_object import ensure_object

ARGUMENT_SPEC: dict[str, Any] = {
    "address": {"type": "str", "required": True},
    "mailbox": {"type": "str", "required": True},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "move": {"type": "bool", "default": False},
}


def ensure_alias(client: Client, params: Params, *, check_mode: bool) -> Outcome:
    address = parse_address(params["address"], "address")
    mailbox = parse_address(params["mailbox"], "mailbox")
    if params["state"] == "present":
        declared = DeclaredMailbox(
            mailbox, aliases=frozenset({address}), only_aliases=True, move=params["move"]
        )
    else:
        absent = {address: DECLARED_ABSENT}
        declared = DeclaredMailbox(mailbox, absent_aliases=absent, only_aliases=True)
    return ensure_object(client, declared, check_mode=check_mode)


def main() -> None:
    run_module(ensure_alias, ARGUMENT_SPEC)


if __name__ == "__main__":
    main()
