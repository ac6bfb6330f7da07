#!/usr/bin/python
# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: email_info
short_description: Return the domains, mailboxes and forwarders of a tenant
version_added: 0.1.0
description:
  - Returns the domains, mailboxes and forwarders of a tenant, as facts or as a definition. The
    service does not return passwords.
author: [Postroom contributors (@postroom)]
extends_documentation_fragment: [postroom.email.api, postroom.email.api.read_only]
options:
  name:
    description:
      - Return only the object with this domain name or primary address, if it exists.
      - To find the owner of an alias, see the examples.
    type: str
  domains:
    description: Return only these domains and the mailboxes and forwarders on them.
    type: list
    elements: str
  kinds:
    description: Return only objects of these kinds. The lists of other kinds are empty.
    type: list
    elements: str
    choices: [domain, mailbox, forwarder]
    default: [domain, mailbox, forwarder]
  as:
    description:
      - Format of the result. V(facts) returns one list for each kind.
      - V(definition) returns RV(definition), which declares the current state. Objects that a
        definition cannot express are omitted and listed in a warning.
    type: str
    choices: [facts, definition]
    default: facts
"""

EXAMPLES = r"""
- name: List all objects of the tenant
  postroom.email.email_info:
  register: tenant

- name: Read one mailbox
  postroom.email.email_info:
    name: alice@example.com
  register: alice

- name: List the mailboxes of a domain
  postroom.email.email_info:
    domains: [example.com]
    kinds: [mailbox]
  register: tenant

- name: Find the mailbox that has an alias
  ansible.builtin.debug:
    msg: >-
      {{ tenant.mailboxes | selectattr('aliases', 'contains', 'sales@example.com')
      | map(attribute='name') | list }}

- name: Read the tenant as a definition
  postroom.email.email_info:
    as: definition
  register: tenant

- name: Show the definition as YAML
  ansible.builtin.debug:
    msg: "{{ tenant.definition | to_nice_yaml }}"
"""

RETURN = r"""
domains:
  description: The domains, sorted by name.
  returned: when O(as=facts)
  type: list
  elements: dict
  contains:
    name: {description: Name of the domain., returned: always, type: str}
mailboxes:
  description: The mailboxes, sorted by name.
  returned: when O(as=facts)
  type: list
  elements: dict
  contains: &mailbox
    name: {description: Primary address., returned: always, type: str}
    aliases: {description: Additional addresses., returned: always, type: list, elements: str}
forwarders:
  description: The forwarders, sorted by name.
  returned: when O(as=facts)
  type: list
  elements: dict
  contains: &forwarder
    name: {description: Address of the forwarder., returned: always, type: str}
    members: {description: Recipients., returned: always, type: list, elements: str}
    aliases: {description: Additional addresses., returned: always, type: list, elements: str}
definition:
  description: The same objects, in the format of a definition.
  returned: when O(as=definition)
  type: dict
  contains:
    domains: {description: Names of the domains., returned: when O(kinds) includes V(domain), type: list, elements: str}
    mailboxes:
      description: The mailboxes.
      returned: when O(kinds) includes V(mailbox)
      type: list
      elements: dict
      contains: *mailbox
    forwarders:
      description: The forwarders.
      returned: when O(kinds) includes V(forwarder)
      type: list
      elements: dict
      contains: *forwarder
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
from ..module_utils._api.models import SECTIONS
from ..module_utils._api.names import parse_address, parse_domain
from ..module_utils._api.tenant.export import export, facts
from ..module_utils._module import Outcome, Params, run_module

KINDS = list(SECTIONS)

ARGUMENT_SPEC: dict[str, Any] = {
    "name": {"type": "str"},
    "domains": {"type": "list", "elements": "str"},
    "kinds": {"type": "list", "elements": "str", "choices": KINDS, "default": KINDS},
    "as": {"type": "str", "choices": ["facts", "definition"], "default": "facts"},
}


def gather_info(client: Client, params: Params, *, check_mode: bool) -> Outcome:  # noqa: ARG001
    """Return the objects that the options select."""
    domains = {parse_domain(text, "domains") for text in params["domains"] or ()}
    name = params["name"]
    if name is None:
        found = client.list_principals()
        if params["as"] == "definition":
            # If the exported definition were incomplete, a later purge would delete the missing
            # objects.
            client.check_list({principal.name for principal in found})
    else:
        principal = client.find(parse_address(name) if "@" in name else parse_domain(name))
        found = [principal] if principal else []
        if not found:
            client.check_api()
    if params["domains"] is not None:
        found = [principal for principal in found if principal.name.domain in domains]
    if params["as"] == "definition":
        definition, warnings = export(found, params["kinds"])
        return Outcome(values={"definition": definition}, warnings=warnings)
    return Outcome(values=facts(found, params["kinds"]))


def main() -> None:
    run_module(gather_info, ARGUMENT_SPEC)


if __name__ == "__main__":
    main()
