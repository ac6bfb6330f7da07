# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: email_domains
short_description: The domains of a tenant as hosts
version_added: 0.1.0
description:
  - Makes a host of each domain that is registered with the email service, in the group
    C(email_domains), so that a play can go over all domains or over a slice of them.
  - The name of its file has to end in C(email_domains.yml) or C(email_domains.yaml).
  - The service is only read. Tasks of such a host run on the machine of Ansible and on its Python,
    for each host has C(ansible_connection) and C(ansible_python_interpreter) so.
  - Each host has these variables, which O(compose), O(groups) and O(keyed_groups) can use.
  - C(email_domain) is the name of the domain, which is the host's name, too. It is in lower case,
    and as A-labels if it is international.
  - C(email_mailboxes), C(email_forwarders) and C(email_aliases) are how many there are at the
    domain. An alias counts where it is, whichever domain its mailbox or forwarder has. They are
    numbers rather than lists, for what a play needs to know in full it asks with
    M(postroom.email.email_info), and inventories get into caches and databases.
  - With O(stage), C(email_stage) is how far the domain has come, one of C(created), C(published),
    C(active) and C(unknown), as RV(postroom.email.email_dns_records#module:stage) explains. If it is
    C(unknown), C(email_stage_reason) is C(no_records) if the service gave no records for the domain,
    C(no_name_servers) if its name servers were not found, C(no_answer) if they gave no answer, or
    C(timed_out) if O(stage_timeout) was over.
author:
  - Postroom contributors (@postroom)
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
    description:
      - Address of the email service, with its scheme, such as V(https://mail.example.com). It may be
        a template, of extra variables or lookups.
      - Required, here or in the environment.
    type: str
    env:
      - name: POSTROOM_API_URL
  api_token:
    description:
      - Bearer token of the tenant. It may be a template, of extra variables or lookups, or encrypted
        by Ansible Vault. It is in no variable of a host and in no cache.
      - Required, here or in the environment.
    type: str
    env:
      - name: POSTROOM_API_TOKEN
  validate_certs:
    description:
      - Whether to verify the certificate of the service.
      - Leave this on outside of tests. To trust an authority of your own, set O(ca_path).
    type: bool
    default: true
  ca_path:
    description:
      - File with the certificates of the authorities to trust, in PEM form. A relative path starts
        where you are.
      - By default those of the system are trusted.
    type: path
  timeout:
    description:
      - Seconds that reading the list of the tenant may take, with all of its requests and retries.
      - With O(stage) the records of each domain may take as long again.
    type: float
    default: 30.0
  retries:
    description:
      - How often a request may be repeated after a failure that passes, such as a refused
        connection, throttling, or a gateway without backend.
    type: int
    default: 4
  domains:
    description: Shell-style patterns. Only domains that match one become hosts.
    type: list
    elements: str
    default: ["*"]
  exclude:
    description: Shell-style patterns. Domains that match one become no hosts.
    type: list
    elements: str
    default: []
  stage:
    description:
      - Whether to find out how far each domain has come. That asks the name servers of every domain
        that becomes a host, several domains at a time, which takes some seconds.
    type: bool
    default: false
  stage_timeout:
    description:
      - With O(stage), the seconds for all domains together. Domains that are not looked up by then have
        the stage C(unknown).
    type: float
    default: 300.0
  nameservers:
    description:
      - With O(stage), the authoritative name servers to ask, each a name or an address, such as
        V(ns1.example.net), V(192.0.2.1), V(192.0.2.1:5353) or V([2001:db8::1]:53).
      - If not set, they are found by the NS records of each domain's zone.
    type: list
    elements: str
    default: []
  resolvers:
    description:
      - With O(stage), recursive resolvers, each an address, such as V(192.0.2.1). They find name
        servers, and tell whether a published domain is seen everywhere.
      - If not set, those of the system, unless O(nameservers) is set.
    type: list
    elements: str
    default: []
notes:
  - A cache is used only by whoever has the same address, the same token, and the same options that
    decide what is read. O(compose), O(groups) and O(keyed_groups) work on what the cache holds.
requirements:
  - dnspython >= 2.6.1 (with O(stage))
  - httpx >= 0.27
  - idna >= 3.7 (for names that are not ASCII)
seealso:
  - module: postroom.email.email_info
  - module: postroom.email.email_dns_records
"""

EXAMPLES = r"""
# email_domains.yml: every domain, with address and token from the environment.
plugin: postroom.email.email_domains
---
# example.email_domains.yml: domains of one kind, in groups by how far they have come, such as
# stage_created and stage_active, in groups by their last label, such as tld_com, and in a group of
# those that nobody has an address at.
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

from ansible_collections.postroom.email.plugins.module_utils._api.client.client import Client
from ansible_collections.postroom.email.plugins.module_utils._api.errors import (
    InvalidInput,
    PostroomError,
)
from ansible_collections.postroom.email.plugins.module_utils._module import Params, connect
from ansible_collections.postroom.email.plugins.plugin_utils._domain_facts import (
    Facts,
    gather,
    is_gathered,
)

GROUP = "email_domains"
SUFFIXES = ("email_domains.yml", "email_domains.yaml")
#: A domain is no machine: its tasks run where Ansible does, as those of localhost.
HERE = {
    "ansible_connection": "local",
    "ansible_python_interpreter": "{{ ansible_playbook_python }}",
}
_PLAIN = ("validate_certs", "ca_path", "timeout", "retries")
_LISTS = ("domains", "exclude", "nameservers", "resolvers")
_SHAPING = ("stage", "stage_timeout", *_LISTS)
_ROUNDS = 100_000


class InventoryModule(BaseInventoryPlugin, Constructable, Cacheable):  # type: ignore[misc]
    NAME = "postroom.email.email_domains"
    # From ansible-core 2.19 on: of what comes from the service, only checked names are used.
    trusted_by_default = True

    def verify_file(self, path: str) -> bool:
        return bool(super().verify_file(path)) and path.endswith(SUFFIXES)

    def parse(
        self,
        inventory: Any,
        loader: Any,
        path: str,
        cache: bool = True,  # noqa: FBT001, FBT002 - Ansible calls it so
    ) -> None:
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        try:
            domains = self._domains(path, may_read_cache=cache)
        except PostroomError as error:
            raise AnsibleParserError(str(error)) from None
        except ImportError as error:
            raise AnsibleParserError(missing_required_lib(error.name or str(error))) from None
        self.inventory.add_group(GROUP)
        for name, facts in domains.items():
            self._add(name, facts)

    def _domains(self, path: str, *, may_read_cache: bool) -> dict[str, Facts]:
        """Return the domains, from the cache if it has them, and have it keep them otherwise."""
        params = self._params(path)
        if not self.get_option("cache"):
            return self._read(params)
        key = f"{self.get_cache_key(path)}_{_digest(params)}"
        if may_read_cache and key in self._cache and is_gathered(self._cache[key]):
            return dict(self._cache[key])
        self._cache[key] = self._read(params)
        return dict(self._cache[key])

    def _params(self, path: str) -> Params:
        """Return the options that decide what is read.

        :raises InvalidInput: address or token is missing, or there is no text where one has to be
        """
        access = {name: self._text(name, path) for name in ("api_url", "api_token")}
        options = {name: self.get_option(name) for name in (*_PLAIN, *_SHAPING)}
        for name in _LISTS:
            _see_texts(name, options[name])
        return {**access, **options}

    def _text(self, name: str, path: str) -> str:
        # So that a template may take them from the file of variables that playbooks are given.
        self.templar.available_variables = self._vars
        text = str(self.templar.template(self.get_option(name)) or "")
        if not text:
            raise InvalidInput(
                f"{name}: it is not set. Set it in {path}, or set POSTROOM_{name.upper()} in the "
                "environment."
            )
        return text

    def _read(self, params: Params) -> dict[str, Facts]:
        with closing(connect(params)) as sender:
            client = Client(sender, timeout=params["timeout"], retries=params["retries"])
            domains, warnings = gather(client, {name: params[name] for name in _SHAPING})
        for warning in warnings:
            self.display.warning(warning)
        return domains

    def _add(self, name: str, facts: Facts) -> None:
        self.inventory.add_host(name, group=GROUP)
        variables = {"email_domain": name, **facts}
        for key, value in {**HERE, **variables}.items():
            self.inventory.set_variable(name, key, value)
        strict = self.get_option("strict")
        self._set_composite_vars(self.get_option("compose"), variables, name, strict=strict)
        self._add_host_to_composed_groups(self.get_option("groups"), variables, name, strict=strict)
        self._add_host_to_keyed_groups(
            self.get_option("keyed_groups"), variables, name, strict=strict
        )


def _see_texts(name: str, values: list[Any]) -> None:
    """See that a list holds texts only, for Ansible does not look at the elements of plugins' lists.

    :raises InvalidInput: it holds something else
    """
    for value in values:
        if not isinstance(value, str):
            raise InvalidInput(f"{name}: {value} is not a text. Put it in quotes, or correct it.")


def _digest(params: Params) -> str:
    """Return what tells a tenant and a choice of domains from others.

    It names a file, and a token that people chose could be guessed from a quick digest.
    """
    shaping = {name: params[name] for name in ("api_url", *_SHAPING)}
    salt = json.dumps(shaping, sort_keys=True).encode()
    return pbkdf2_hmac("sha256", params["api_token"].encode(), salt, _ROUNDS, 8).hex()
