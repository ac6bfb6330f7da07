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
  - Returns the domains, mailboxes and forwarders of a tenant, as facts or as a definition. The module
    changes nothing, and the service does not return passwords.
author:
  - Postroom contributors (@postroom)
extends_documentation_fragment:
  - postroom.email.api
  - postroom.email.api.read_only
options:
  name:
    description:
      - Return only the object of this name, a domain or an address. The object may be absent.
      - An alias is not a name. The examples show how to find its owner.
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
      - Form of the result. V(facts) returns one list for each kind.
      - V(definition) returns RV(definition), which declares the current state. Objects that a
        definition cannot express are omitted and listed in a warning.
    type: str
    choices: [facts, definition]
    default: facts
"""

EXAMPLES = r"""
- name: List the tenant
  postroom.email.email_info:
  register: tenant

- name: Which mailboxes does example.com have?
  postroom.email.email_info:
    domains: [example.com]
    kinds: [mailbox]
  register: found

- name: Does this address exist?
  postroom.email.email_info:
    name: alice@example.com
  register: alice

- name: List the mailboxes
  postroom.email.email_info:
    kinds: [mailbox]
  register: tenant

- name: Which mailbox has this alias? None, if the list is empty
  ansible.builtin.debug:
    msg: >-
      {{ tenant.mailboxes | selectattr('aliases', 'contains', 'sales@example.com')
      | map(attribute='name') | list }}

- name: Read the tenant as a definition
  postroom.email.email_info:
    as: definition
  register: tenant

- name: Show it as a file would hold it
  ansible.builtin.debug:
    msg: "{{ tenant.definition | to_nice_yaml }}"
"""

RETURN = r"""
domains:
  description: The domains, by name.
  returned: when O(as=facts)
  type: list
  elements: dict
  contains:
    name:
      description: Name of the domain.
      type: str
      returned: always
      sample: example.com
mailboxes:
  description: The mailboxes, by name.
  returned: when O(as=facts)
  type: list
  elements: dict
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
forwarders:
  description: The forwarders, by name.
  returned: when O(as=facts)
  type: list
  elements: dict
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
definition:
  description: What was found, in the shape of a definition file. A kind that was not asked for has
    no list.
  returned: when O(as=definition)
  type: dict
  contains:
    domains:
      description: Names of domains.
      type: list
      elements: str
      returned: when O(kinds) has V(domain)
      sample: [example.com]
    mailboxes:
      description: Mailboxes, each with all of its aliases.
      type: list
      elements: dict
      returned: when O(kinds) has V(mailbox)
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
    forwarders:
      description: Forwarders, each with all of its members and aliases.
      type: list
      elements: dict
      returned: when O(kinds) has V(forwarder)
      contains:
        name:
          description: Address that is forwarded.
          type: str
          returned: always
          sample: team@example.com
        members:
          description: Addresses that the mail goes to.
          type: list
          elements: str
          returned: always
          sample: [alice@example.com, partner@example.net]
        aliases:
          description: Further addresses that are forwarded to the same members.
          type: list
          elements: str
          returned: always
          sample: []
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
from ansible_collections.postroom.email.plugins.module_utils._api.models import Principal
from ansible_collections.postroom.email.plugins.module_utils._api.names import (
    Name,
    parse_address,
    parse_domain,
)
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.export import (
    SECTIONS,
    export,
    facts,
)
from ansible_collections.postroom.email.plugins.module_utils._module import (
    Outcome,
    Params,
    run_module,
)

KINDS = list(SECTIONS)

ARGUMENT_SPEC: dict[str, Any] = {
    "name": {"type": "str"},
    "domains": {"type": "list", "elements": "str"},
    "kinds": {"type": "list", "elements": "str", "choices": KINDS, "default": KINDS},
    "as": {"type": "str", "choices": ["facts", "definition"], "default": "facts"},
}


def gather_info(client: Client, params: Params, *, check_mode: bool) -> Outcome:  # noqa: ARG001
    """Return what the tenant holds, as far as it was asked for."""
    domains = {parse_domain(text, "domains") for text in params["domains"] or ()}
    name = None if params["name"] is None else _parse_name(params["name"])
    found = _look(client, name)
    if params["as"] == "definition" and name is None:
        # What is missing here would look as if nobody had it, to whoever purges by the definition.
        client.check_list({principal.name for principal in found})
    if params["domains"] is not None:
        found = [principal for principal in found if principal.name.domain in domains]
    if params["as"] == "definition":
        definition, warnings = export(found, params["kinds"])
        return Outcome(values={"definition": definition}, warnings=warnings)
    return Outcome(values=facts(found, params["kinds"]))


def _parse_name(text: str) -> Name:
    return parse_address(text) if "@" in text else parse_domain(text)


def _look(client: Client, name: Name | None) -> list[Principal]:
    if name is None:
        return client.list_principals()
    principal = client.find(name)
    if principal is not None:
        return [principal]
    client.check_api()
    return []


def main() -> None:
    """Run the module."""
    run_module(gather_info, ARGUMENT_SPEC)


if __name__ == "__main__":
    main()
