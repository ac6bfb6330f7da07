#!/usr/bin/python
# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: email_mailbox
short_description: Create, change or delete a mailbox
version_added: 0.1.0
description:
  - Creates a mailbox on a registered domain, changes its aliases and passwords, or deletes it.
  - B(Deleting a mailbox permanently deletes the mail that is stored in it.)
  - Fails if a forwarder has the same name. A forwarder is never converted to a mailbox.
author: [Postroom contributors (@postroom)]
extends_documentation_fragment: [postroom.email.api, postroom.email.api.attributes]
options:
  name:
    description: Primary address of the mailbox. It can't be changed later.
    type: str
    required: true
  state:
    description: Whether the mailbox should exist.
    type: str
    choices: [present, absent]
    default: present
  passwords:
    description:
      - Password for IMAP and SMTP, or a list of passwords that are all valid. Required to create a
        mailbox.
      - A string is a single password, even if it contains commas. Values of other types are rejected.
    type: raw
  update_password:
    description:
      - When to set O(passwords), which the service never returns.
      - V(on_create) sets the passwords only when the mailbox is created.
      - V(always) replaces the passwords in each run, and reports a change each time.
      - V(probe), added in version 0.2.0, logs in once to an existing mailbox over IMAP with the
        first of O(passwords), even in check mode. If the server refuses this password, all of
        O(passwords) are set. If the login fails for another reason, the module fails and changes
        nothing. To replace a password other than the first, use V(always).
    type: str
    choices: [on_create, always, probe]
    default: on_create
  imap_host:
    description:
      - IMAP server for O(update_password=probe). O(validate_certs) and O(ca_path) also apply to it.
      - The default is the host in the MX record that the service returns for the domain.
    type: str
    version_added: 0.2.0
  imap_port:
    description: Port of the IMAP server, which must use implicit TLS.
    type: int
    default: 993
    version_added: 0.2.0
  aliases:
    description:
      - Additional addresses, on domains of the tenant, whose mail is delivered to the mailbox.
      - If not set, aliases are not changed.
    type: list
    elements: str
  purge_aliases:
    description: Whether to remove aliases that are not in O(aliases). An empty list removes all
      aliases.
    type: bool
    default: false
seealso:
  - module: postroom.email.email_alias
    description: Manages a single alias, and can move it from another mailbox.
notes:
  - In a loop, iterate over names as in the examples, not over items that contain passwords, because
    Ansible prints loop items.
  - With O(update_password=probe), O(timeout) also limits the login. Don't set it below V(30),
    because mail servers delay the answer to a wrong password, and delay all logins after several
    wrong passwords. For many mailboxes, use M(postroom.email.email_tenant), which stops probing
    after three wrong passwords.
"""

EXAMPLES = r"""
- name: Create a mailbox with two aliases
  postroom.email.email_mailbox:
    name: alice@example.com
    passwords: ["{{ vault_alice_password }}"]
    aliases: [sales@example.com, info@example.com]

- name: Create several mailboxes with passwords from an encrypted map
  postroom.email.email_mailbox:
    name: "{{ item }}"
    passwords: ["{{ vault_passwords[item] }}"]
  loop: [bob@example.com, carol@example.com]

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
from ..module_utils._module import Outcome, Params, addresses, run_module
from ..module_utils._passwords import PASSWORD_OPTIONS, login_probe, mailbox_passwords
from ..module_utils._single_object import ensure_object

ARGUMENT_SPEC: dict[str, Any] = {
    "name": {"type": "str", "required": True},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    # With the type list, a single string would be split at its commas.
    "passwords": {"type": "raw", "no_log": True},
    **PASSWORD_OPTIONS,
    "aliases": {"type": "list", "elements": "str"},
    "purge_aliases": {"type": "bool", "default": False},
}


def ensure_mailbox(client: Client, params: Params, *, check_mode: bool) -> Outcome:
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
    run_module(ensure_mailbox, ARGUMENT_SPEC)


if __name__ == "__main__":
    main()
