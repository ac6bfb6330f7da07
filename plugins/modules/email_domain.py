#!/usr/bin/python
# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: email_domain
short_description: Register a mail domain or delete it
version_added: 0.1.0
description:
  - Registers a domain that you own with the email service, or deletes it there.
  - B(Deleting a domain can't be undone.) It deletes the mailboxes of the domain with all stored
    mail, its forwarders, and the aliases on it that belong to mailboxes of other domains. The
    module deletes a domain with contents only with O(force=true).
author:
  - Postroom contributors (@postroom)
extends_documentation_fragment:
  - postroom.email.api
  - postroom.email.api.attributes
options:
  name:
    description:
      - Fully qualified domain name, such as V(example.com). Internationalized names may be written
        in Unicode.
    type: str
    required: true
  state:
    description: Whether the domain is registered.
    type: str
    choices: [present, absent]
    default: present
  force:
    description:
      - With O(state=absent), delete a domain that is not empty, with everything on it. Each object is
        deleted by name before the domain, and listed in RV(changes).
      - If V(false), the module fails and lists the contents of the domain.
    type: bool
    default: false
seealso:
  - module: postroom.email.email_dns_records
    description: The DNS records to publish for the domain.
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
  description: The domain after the task, or in check mode as it would be; null if it is absent.
  returned: success
  type: dict
  contains:
    name:
      description: Name of the domain.
      type: str
      returned: always
      sample: example.com
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
from ansible_collections.postroom.email.plugins.module_utils._api.names import parse_domain
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.definition import (
    DeclaredDomain,
)
from ansible_collections.postroom.email.plugins.module_utils._module import (
    Outcome,
    Params,
    run_module,
)
from ansible_collections.postroom.email.plugins.module_utils._object import ensure_object

ARGUMENT_SPEC: dict[str, Any] = {
    "name": {"type": "str", "required": True},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "force": {"type": "bool", "default": False},
}


def ensure_domain(client: Client, params: Params, *, check_mode: bool) -> Outcome:
    """Register the domain or delete it."""
    declared = DeclaredDomain(
        parse_domain(params["name"]), absent=params["state"] == "absent", force=params["force"]
    )
    return ensure_object(client, declared, check_mode=check_mode)


def main() -> None:
    """Run the module."""
    run_module(ensure_domain, ARGUMENT_SPEC)


if __name__ == "__main__":
    main()
