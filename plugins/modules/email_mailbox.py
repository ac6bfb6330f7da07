#!/usr/bin/python
# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: email_mailbox
short_description: Create a mailbox, change it or delete it
version_added: 0.1.0
description:
  - Creates a mailbox on a registered domain, changes its aliases and passwords, or deletes it.
  - B(Deleting a mailbox permanently deletes the mail that is stored in it.)
  - A forwarder of the same name is an error and is never converted.
author:
  - Postroom contributors (@postroom)
extends_documentation_fragment:
  - postroom.email.api
  - postroom.email.api.attributes
options:
  name:
    description: Primary address of the mailbox. It can't be changed later.
    type: str
    required: true
  state:
    description: Whether the mailbox exists.
    type: str
    choices: [present, absent]
    default: present
  passwords:
    description:
      - Password for IMAP and SMTP, or a list of several, each of which is valid. A mailbox can't be
        created without one.
      - A string is a single password, even if it contains commas. Values of other types are rejected.
      - The service never returns passwords, so only a login can show whether one differs; see
        O(update_password).
    type: raw
  update_password:
    description:
      - When to set O(passwords). With V(on_create) they are set when the mailbox is created and
        not changed afterwards.
      - With V(always) they are replaced in each run, which then reports a change each time.
      - With V(probe), which was added in version 0.2.0, the module logs in to an existing mailbox
        by IMAP with the first of O(passwords), once, also in check mode. If the login works, the
        passwords are left alone. If the server refuses the password, all of O(passwords) are set.
        If the login fails for another reason, the module fails and changes nothing.
      - Only the first password is probed. To replace another one, use V(always).
    type: str
    choices: [on_create, always, probe]
    default: on_create
  imap_host:
    description:
      - IMAP server for O(update_password=probe). O(validate_certs) and O(ca_path) apply to it as
        well.
      - By default it is the host in the MX record that the service returns for the domain of the
        mailbox.
    type: str
    version_added: 0.2.0
  imap_port:
    description: Port of the IMAP server, with TLS from the start.
    type: int
    default: 993
    version_added: 0.2.0
  aliases:
    description:
      - Further addresses that deliver to the mailbox. Their domains must be registered in the tenant.
      - If not set, aliases are not changed.
    type: list
    elements: str
  purge_aliases:
    description:
      - Whether to remove aliases that are not in O(aliases). An empty list removes all.
    type: bool
    default: false
seealso:
  - module: postroom.email.email_alias
    description: Manages a single alias, and can move it from another mailbox.
notes:
  - Loop over names and look up the password of each, as in the examples. Ansible prints loop items,
    including passwords in them.
  - With O(update_password=probe), O(timeout) limits the login, too. Mail servers delay the answer to
    a wrong password, and all logins after several of them, so don't set it below V(30). For many
    mailboxes use M(postroom.email.email_tenant), which stops probing after three wrong passwords
    in a row.
"""

EXAMPLES = r"""
- name: Create a mailbox with two aliases
  postroom.email.email_mailbox:
    name: alice@example.com
    passwords: ["{{ vault_alice_password }}"]
    aliases:
      - sales@example.com
      - info@example.com

- name: Create several mailboxes with passwords from an encrypted map
  postroom.email.email_mailbox:
    name: "{{ item }}"
    passwords: ["{{ vault_passwords[item] }}"]
  loop:
    - bob@example.com
    - carol@example.com

- name: Set a new password
  postroom.email.email_mailbox:
    name: alice@example.com
    passwords: ["{{ vault_alice_password }}"]
    update_password: always

- name: Create a mailbox, and set its password in later runs if it no longer works
  postroom.email.email_mailbox:
    name: dora@example.com
    passwords: ["{{ vault_dora_password }}"]
    update_password: probe
    imap_host: imap.example.net

- name: Remove all aliases
  postroom.email.email_mailbox:
    name: alice@example.com
    aliases: []
    purge_aliases: true

- name: Delete the mailbox and its mail
  postroom.email.email_mailbox:
    name: alice@example.com
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
from ansible_collections.postroom.email.plugins.module_utils._module import (
    Outcome,
    Params,
    addresses,
    run_module,
)
from ansible_collections.postroom.email.plugins.module_utils._object import ensure_object
from ansible_collections.postroom.email.plugins.module_utils._passwords import (
    PASSWORD_OPTIONS,
    login_probe,
    mailbox_passwords,
)

ARGUMENT_SPEC: dict[str, Any] = {
    "name": {"type": "str", "required": True},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    # Raw, for a list of strings would cut a single string at its commas.
    "passwords": {"type": "raw", "no_log": True},
    **PASSWORD_OPTIONS,
    "aliases": {"type": "list", "elements": "str"},
    "purge_aliases": {"type": "bool", "default": False},
}


def ensure_mailbox(client: Client, params: Params, *, check_mode: bool) -> Outcome:
    """Create the mailbox, change it or delete it."""
    name = parse_address(params["name"])
    if params["state"] == "absent":
        declared = DeclaredMailbox(name, absent=True)
        return ensure_object(client, declared, check_mode=check_mode)
    passwords = mailbox_passwords(params, name)
    declared = DeclaredMailbox(
        name, aliases=addresses(params, "aliases"), purge_aliases=params["purge_aliases"]
    )
    return ensure_object(
        client,
        declared,
        check_mode=check_mode,
        passwords=passwords,
        probe=login_probe(params, lambda: client),
    )


def main() -> None:
    """Run the module."""
    run_module(ensure_mailbox, ARGUMENT_SPEC)


if __name__ == "__main__":
    main()
