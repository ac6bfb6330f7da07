# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: records_for
short_description: Turn record sets into what a DNS provider takes
version_added: 0.1.0
description:
  - Returns a list of mappings, each of them the options of one call of a provider's module, so that
    a task with a loop publishes the records. Credentials are added in the task.
  - TXT values are written so that they arrive whole, DKIM keys of 4096 bits included.
author:
  - Postroom contributors (@postroom)
positional: provider, zone
options:
  _input:
    description:
      - Record sets to write, as P(postroom.email.record_sets#filter) returns them. Those with
        the C(action) V(none) are left out, and those without one are refused, for they would be
        written over what others have there.
    type: list
    elements: dict
    required: true
  provider:
    description:
      - V(nsupdate) is for M(community.general.nsupdate) and V(route53) for M(amazon.aws.route53).
        Bytes beyond ASCII are escaped for each in its way.
      - V(cloudflare) is for M(community.general.cloudflare_dns), which takes one record a call. What
        is new comes before what goes, so that a failure between loses nothing of others. As a loop
        of the module goes on after a failure, loop over M(ansible.builtin.include_tasks) with a
        file of tasks that holds it, as the role P(postroom.email.dns#role) does.
      - V(hetzner) is for M(hetzner.hcloud.zone_rrset), so for zones in Hetzner's Console.
      - V(community_dns) is for M(community.dns.hosttech_dns_record_set), and for
        M(community.dns.hetzner_dns_record_set), whose service Hetzner has ended.
      - V(powerdns) is for PowerDNS's HTTP API. The list is what C(rrsets) is to be in the body of
        C(PATCH /api/v1/servers/localhost/zones/example.com.), sent with M(ansible.builtin.uri).
    type: str
    choices: [nsupdate, route53, cloudflare, hetzner, community_dns, powerdns]
    required: true
  zone:
    description:
      - Name of the zone, in any spelling. The options then have it as well, but for V(powerdns).
        Required with V(cloudflare) and V(hetzner).
      - The names have to lie in it.
    type: str
seealso:
  - plugin: postroom.email.record_sets
    plugin_type: filter
  - module: community.general.nsupdate
  - module: amazon.aws.route53
  - module: community.general.cloudflare_dns
  - module: hetzner.hcloud.zone_rrset
  - module: community.dns.hosttech_dns_record_set
"""

EXAMPLES = r"""
- name: Get the records, and what is there
  postroom.email.email_dns_records:
    domain: example.com
    state: verified
  register: dns

- name: Publish them at Route 53
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
  description: Options of one call each, in the order in which to make the calls.
  type: list
  elements: dict
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.postroom.email.plugins.module_utils._api.dns import providers as shapes
from ansible_collections.postroom.email.plugins.plugin_utils._filtering import as_filter


@as_filter
def records_for(record_sets: Any, provider: Any, zone: Any = None) -> list[shapes.Options]:
    return shapes.records_for(record_sets, provider, zone)


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"records_for": records_for}
