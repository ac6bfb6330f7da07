#!/usr/bin/python
# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: email_domain
short_description: Register or delete a mail domain
version_added: 0.1.0
description:
  - Registers one of your domains with the email service, or deletes it from the service.
  - B(Deleting a domain can't be undone.) With O(force=true), the module also deletes the domain's
    mailboxes with all stored mail, its forwarders, and the aliases on this domain that belong to
    mailboxes and forwarders on other domains.
author: [Postroom contributors (@postroom)]
extends_documentation_fragment: [postroom.email.api, postroom.email.api.attributes]
options:
  name:
    description: Domain name, such as V(example.com). You can write internationalized names in Unicode.
    type: str
    required: true
  state:
    description: Whether the domain should be registered.
    type: str
    choices: [present, absent]
    default: present
  force:
    description:
      - With O(state=absent), whether to delete a domain that is not empty. RV(changes) lists
        everything that was deleted with it.
      - If V(false), the module fails and lists the contents of the domain.
    type: bool
    default: false
seealso:
  - module: postroom.email.email_dns_records
    description: Retrieves and publishes the DNS records of the domain.
"""

EXAMPLES = r"""
- name: Register a domain
  postroom.email.email_domain:
    name: example.com

- name: Delete an empty domain
  postroom.email.email_domain:
    name: example.com
    state: absent
"""

RETURN = r"""
domain:
  description: The domain after the task, or null if it does not exist. In check mode, this is the
    expected state.
  returned: success
  type: dict
  contains:
    name: {description: Name of the domain., returned: always, type: str}
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
    code: {description: "Code of the first reason, such as V(missing).", returned: always, type: str}
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
from ..module_utils._api.names import parse_domain
from ..module_utils._api.tenant.declared import DeclaredDomain
from ..module_utils._module import Outcome, Params, run_module
from ..module_utils._single_object import ensure_object

ARGUMENT_SPEC: dict[str, Any] = {
    "name": {"type": "str", "required": True},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "force": {"type": "bool", "default": False},
}


def ensure_domain(client: Client, params: Params, *, check_mode: bool) -> Outcome:
    declared = DeclaredDomain(
        parse_domain(params["name"]), absent=params["state"] == "absent", force=params["force"]
    )
    return ensure_object(client, declared, check_mode=check_mode)


def main() -> None:
    run_module(ensure_domain, ARGUMENT_SPEC)


if __name__ == "__main__":
    main()
