# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: email_domains
short_description: Use the domains of a tenant as hosts
version_added: 0.1.0
description:
  - Creates a host for each domain that is registered with the email service, in the group
    C(email_domains), so that a play can run for all domains or for some of them.
  - The file name of the inventory must end in C(email_domains.yml) or C(email_domains.yaml).
  - Tasks for these hosts run on the controller with Ansible's own Python.
  - Each host has variables that O(compose), O(groups) and O(keyed_groups) can use. C(email_domain)
    is the domain in its lower-case ASCII form, which is also the name of the host.
    C(email_mailboxes), C(email_forwarders) and C(email_aliases) are the numbers of mailboxes,
    forwarders and aliases on the domain.
  - With O(stage), C(email_stage) is one of C(created), C(published), C(active) and C(unknown), as in
    RV(postroom.email.email_dns_records#module:stage). If it is C(unknown), C(email_stage_reason) is
    C(no_records), C(no_name_servers), C(no_answer) or C(timed_out).
author: [Postroom contributors (@postroom)]
extends_documentation_fragment:
  - constructed
  - inventory_cache
options:
  plugin:
    description: Name of this plugin.
    type: str
    required: true
    choices: [postroom.email.email_domains]
  api_url:
    description: URL of the email service, such as V(https://mail.example.com). The value may be a
      template. Required either here or in the environment.
    type: str
    env: [name: POSTROOM_API_URL]
  api_token:
    description: Bearer token of the tenant. The value may be a template. The token is not stored in
      variables or in the cache. Required either here or in the environment.
    type: str
    env: [name: POSTROOM_API_TOKEN]
  validate_certs:
    description: Whether to verify the certificate of the service. Disable verification only in
      tests.
    type: bool
    default: true
  ca_path:
    description: PEM file with the certificates of the authorities to trust. By default, the
      system's certificate authorities are trusted.
    type: path
  timeout:
    description: Time limit in seconds for listing the tenant's objects, including all retries. With
      O(stage), the same limit applies to reading the records of each domain.
    type: float
    default: 30.0
  retries:
    description: Maximum number of times to retry a request after a transient failure.
    type: int
    default: 4
  domains:
    description: Shell-style patterns. Only matching domains become hosts.
    type: list
    elements: str
    default: ["*"]
  exclude:
    description: Shell-style patterns. Matching domains do not become hosts.
    type: list
    elements: str
    default: []
  stage:
    description:
      - Whether to determine the stage of each domain. To do so, the plugin queries the name servers
        of all domains.
    type: bool
    default: false
  stage_timeout:
    description: With O(stage), the time limit in seconds for determining the stages of all domains.
      The stage of domains that have not been checked by then is C(unknown).
    type: float
    default: 300.0
  nameservers:
    description: With O(stage), names or addresses of the authoritative name servers to query, such
      as V(ns1.example.net) or V(192.0.2.1:5353). By default, the name servers in the NS records of
      each zone are queried.
    type: list
    elements: str
    default: []
  resolvers:
    description: With O(stage), addresses of the resolvers that are used to find name servers and to
      check whether published records are visible. By default, the system's resolvers are used. If
      O(nameservers) is set, the resolvers only look up the addresses of those name servers.
    type: list
    elements: str
    default: []
notes:
  - Cached data is only used if the URL, the token and the options O(domains), O(exclude), O(stage),
    O(stage_timeout), O(nameservers) and O(resolvers) have not changed.
requirements:
  - dnspython >= 2.6.1 (with O(stage))
  - httpx >= 0.27
  - idna >= 3.7 (for internationalized names)
seealso:
  - module: postroom.email.email_info
  - module: postroom.email.email_dns_records
"""

EXAMPLES = r"""
# email_domains.yml: all domains, with URL and token from the environment.
plugin: postroom.email.email_domains
---
# example.email_domains.yml: some domains, grouped by stage, such as stage_active, and by top-level
# domain, such as tld_com. The group unused contains the domains that have no addresses.
plugin: postroom.email.email_domains
api_url: https://mail.example.com
api_token: "{{ lookup('ansible.builtin.env', 'MAIL_TOKEN') }}"
domains: ["*.example", "example.*"]
exclude: ["*.test.example"]
stage: true
compose:
  dns_domains: "[email_domain]"
groups:
  unused: email_mailboxes + email_aliases + email_forwarders == 0
keyed_groups:
  - key: email_stage
    prefix: stage
  - key: email_domain.split('.') | last
    prefix: tld
cache: true
cache_plugin: ansible.builtin.jsonfile
cache_connection: ~/.cache/email-domains
cache_timeout: 3600
"""

import json
from contextlib import closing
from hashlib import pbkdf2_hmac
from typing import Any

from ansible.errors import AnsibleParserError
from ansible.module_utils.basic import missing_required_lib
from ansible.plugins.inventory import BaseInventoryPlugin, Cacheable, Constructable

from ..module_utils._api.client.client import Client
from ..module_utils._api.errors import InvalidInput, PostroomError
from ..module_utils._module import Params, connect
from ..plugin_utils._domain_facts import Facts, gather, is_gathered

GROUP = "email_domains"
SUFFIXES = ("email_domains.yml", "email_domains.yaml")
#: The variables that make tasks for a domain run on the controller, as for localhost.
CONTROLLER = {
    "ansible_connection": "local",
    "ansible_python_interpreter": "{{ ansible_playbook_python }}",
}
_CONNECTION = ("validate_certs", "ca_path", "timeout", "retries")
_LISTS = ("domains", "exclude", "nameservers", "resolvers")
#: The options that determine the hosts and their variables.
_SELECTION = ("stage", "stage_timeout", *_LISTS)


class InventoryModule(BaseInventoryPlugin, Constructable, Cacheable):  # type: ignore[misc]
    NAME = "postroom.email.email_domains"
    # ansible-core 2.19 and newer read this attribute. The only values from the service are
    # validated names.
    trusted_by_default = True

    def verify_file(self, path: str) -> bool:
        return bool(super().verify_file(path)) and path.endswith(SUFFIXES)

    def parse(
        self,
        inventory: Any,
        loader: Any,
        path: str,
        cache: bool = True,  # noqa: FBT001, FBT002 - Ansible passes it by position
    ) -> None:
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        try:
            params = self._params(path)
            if self.get_option("cache"):
                key = f"{self.get_cache_key(path)}_{_digest(params)}"
                if not (cache and key in self._cache and is_gathered(self._cache[key])):
                    self._cache[key] = self._read(params)
                domains = dict(self._cache[key])
            else:
                domains = self._read(params)
        except PostroomError as error:
            raise AnsibleParserError(str(error)) from None
        except ImportError as error:
            raise AnsibleParserError(missing_required_lib(error.name or str(error))) from None
        self.inventory.add_group(GROUP)
        strict = self.get_option("strict")
        for name, facts in domains.items():
            self.inventory.add_host(name, group=GROUP)
            variables = {"email_domain": name, **facts}
            for variable, value in {**CONTROLLER, **variables}.items():
                self.inventory.set_variable(name, variable, value)
            for option, add in (
                ("compose", self._set_composite_vars),
                ("groups", self._add_host_to_composed_groups),
                ("keyed_groups", self._add_host_to_keyed_groups),
            ):
                add(self.get_option(option), variables, name, strict=strict)

    def _params(self, path: str) -> Params:
        """Return the options for reading the tenant."""
        # Options may be templates that use extra variables.
        self.templar.available_variables = self._vars
        params = {name: self.get_option(name) for name in (*_CONNECTION, *_SELECTION)}
        for name in ("api_url", "api_token"):
            params[name] = str(self.templar.template(self.get_option(name)) or "")
            if not params[name]:
                raise InvalidInput(
                    f"{name} is required. Set it in {path}, or set the environment variable "
                    f"POSTROOM_{name.upper()}."
                )
        # Ansible does not validate the items of lists in the options of inventory plugins.
        for name in _LISTS:
            for value in params[name]:
                if not isinstance(value, str):
                    raise InvalidInput(f"{name}: {value} must be a string. Write it in quotes.")
        return params

    def _read(self, params: Params) -> dict[str, Facts]:
        with closing(connect(params)) as transport:
            client = Client(transport, timeout=params["timeout"], retries=params["retries"])
            domains, warnings = gather(client, params)
        for warning in warnings:
            self.display.warning(warning)
        return domains


def _digest(params: Params) -> str:
    """Return a digest of the URL, the token and the selection options, for the cache key.

    The hash function is deliberately slow, to protect a weak token against guessing.
    """
    selection = {name: params[name] for name in ("api_url", *_SELECTION)}
    salt = json.dumps(selection, sort_keys=True).encode()
    return pbkdf2_hmac("sha256", params["api_token"].encode(), salt, 100_000, 8).hex()
