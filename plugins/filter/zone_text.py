# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: zone_text
short_description: Write DNS records as lines of a zone file
version_added: 0.1.0
description:
  - Returns MX and TXT records as lines of a zone file, with absolute names, and with TXT values in
    quotes and cut into strings.
author:
  - Postroom contributors (@postroom)
options:
  _input:
    description:
      - Records as M(postroom.email.email_dns_records) returns them, or record sets as
        P(postroom.email.record_sets#filter) takes and returns them.
      - Items of other types are left out.
    type: list
    elements: dict
    required: true
  ttl:
    description: Time to live of the records that do not say theirs, in seconds.
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

- name: Show those of the MX type as lines for a zone file
  ansible.builtin.debug:
    msg: "{{ dns.records | selectattr('type', 'eq', 'MX') | postroom.email.zone_text }}"
    # "example.com. 3600 IN MX 10 mail.example.net.\n"
"""

RETURN = r"""
_value:
  description: The lines, each with an end of line.
  type: str
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.postroom.email.plugins.module_utils._api.dns.record_input import (
    DEFAULT_TTL,
    read_found,
    read_ttl,
)
from ansible_collections.postroom.email.plugins.module_utils._api.dns.rrset import as_lines
from ansible_collections.postroom.email.plugins.plugin_utils._filtering import as_filter


@as_filter
def zone_text(records: Any, ttl: Any = DEFAULT_TTL) -> str:
    seconds = read_ttl(ttl, "option ttl")
    found = read_found(records, DEFAULT_TTL if seconds is None else seconds)
    return as_lines(found.sets.values())


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"zone_text": zone_text}
