# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: records_for
short_description: Convert record sets to the format of a DNS provider
version_added: 0.1.0
description:
  - Returns a list of mappings, each with the options of one call of a provider's module, so that
    a task with a loop publishes the records. Add the credentials in the task.
author:
  - Postroom contributors (@postroom)
positional: provider, zone
options:
  _input:
    description:
      - Record sets to write, from P(postroom.email.record_sets#filter). Those with the C(action)
        V(none) are left out. Those without C(action) are refused, because writing them would replace
        records of others.
    type: list
    elements: dict
    required: true
  provider:
    description:
      - V(route53) is for M(amazon.aws.route53).
      - V(cloudflare) is for M(community.general.cloudflare_dns), which writes one record per call. New
        records come before removals, so that no record is lost if a call fails. A loop of a module
        continues after a failure, so loop over M(ansible.builtin.include_tasks) as the role
        P(postroom.email.dns#role) does.
      - V(hetzner) is for M(hetzner.hcloud.zone_rrset).
      - V(powerdns) is for C(rrsets) in the body of
        C(PATCH /api/v1/servers/localhost/zones/example.com.) of the PowerDNS HTTP API.
    type: str
    choices: [route53, cloudflare, hetzner, powerdns]
    required: true
  zone:
    description:
      - Name of the zone, which must contain the names. It is added to the options, except with
        V(powerdns). Required with V(cloudflare) and V(hetzner).
    type: str
seealso:
  - plugin: postroom.email.record_sets
    plugin_type: filter
  - module: amazon.aws.route53
  - module: community.general.cloudflare_dns
  - module: hetzner.hcloud.zone_rrset
"""

EXAMPLES = r"""
- name: Verify the records
  postroom.email.email_dns_records:
    domain: example.com
    state: verified
  register: dns

- name: Publish the records at Route 53
  amazon.aws.route53:
    zone: "{{ item.zone }}"
    record: "{{ item.record }}"
    type: "{{ item.type }}"
    ttl: "{{ item.ttl | default(omit) }}"
    value: "{{ item.value | default(omit) }}"
    overwrite: "{{ item.overwrite | default(omit) }}"
    state: "{{ item.state }}"
  loop: "{{ sets | postroom.email.records_for('route53', zone='example.com') }}"
  vars:
    sets: "{{ dns.records | postroom.email.record_sets(dns.current) }}"
"""

RETURN = r"""
_value:
  description: The options of each call, in the order of the calls.
  type: list
  elements: dict
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.postroom.email.plugins.module_utils._api.dns import providers
from ansible_collections.postroom.email.plugins.plugin_utils._filters import as_filter


@as_filter
def records_for(record_sets: Any, provider: Any, zone: Any = None) -> list[providers.Options]:
    return providers.records_for(record_sets, provider, zone)


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"records_for": records_for}
