# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: zone_text
short_description: Write DNS records as lines of a zone file
version_added: 0.1.0
description:
  - Returns MX and TXT records as lines of a zone file, with absolute names and quoted strings.
author: [Postroom contributors (@postroom)]
options:
  _input:
    description: Records from M(postroom.email.email_dns_records), or record sets from
      P(postroom.email.record_sets#filter). Items of other types are ignored.
    type: list
    elements: dict
    required: true
  ttl:
    description: Time to live in seconds for records that do not specify it.
    type: int
    default: 3600
seealso:
  - module: postroom.email.email_dns_records
  - plugin: postroom.email.record_sets
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Get the records
  postroom.email.email_dns_records:
    domain: example.com
  register: dns

- name: Show the MX records as lines for a zone file
  ansible.builtin.debug:
    msg: "{{ dns.records | selectattr('type', 'eq', 'MX') | postroom.email.zone_text }}"
    # "example.com. 3600 IN MX 10 mail.example.net.\n"
"""

RETURN = r"""
_value: {description: "The lines, each ending with a line break.", type: str}
"""

from collections.abc import Callable
from typing import Any

from ..module_utils._api.dns import notations
from ..module_utils._api.dns.read_record_sets import DEFAULT_TTL, read_record_sets, read_ttl
from ..plugin_utils._filters import as_filter


@as_filter
def zone_text(records: Any, ttl: Any = DEFAULT_TTL) -> str:
    seconds = read_ttl(ttl, "option ttl")
    found = read_record_sets(records, DEFAULT_TTL if seconds is None else seconds)
    return notations.zone_text(found.sets.values())


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"zone_text": zone_text}
