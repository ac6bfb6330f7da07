# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: spf_merge
short_description: Merge an SPF record into another
version_added: 0.1.0
description:
  - Returns the SPF record to publish for a domain that already has an SPF record. A second SPF
    record can't be added, because receivers ignore SPF if there are two records.
  - The mechanisms of the wanted record are inserted before V(all). Everything else is unchanged.
  - Fails if the domain's owner has to decide what to do, for example if there are several SPF
    records.
author: [Postroom contributors (@postroom)]
positional: wanted
options:
  _input:
    description:
      - The current TXT records at the domain's own name, as a list or a string. Records other than
        SPF are ignored.
      - Each record is either plain text without quotes, or strings in double quotes, as in a zone
        file.
    type: list
    elements: str
    required: true
  wanted: {description: SPF record that the service requires., type: str, required: true}
seealso:
  - module: postroom.email.email_dns_records
  - plugin: postroom.email.record_sets
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Show the SPF record to publish
  ansible.builtin.debug:
    msg: "{{ current | postroom.email.spf_merge('v=spf1 include:_spf.example.net ~all') }}"
    # "v=spf1 mx include:_spf.example.net -all"
  vars:
    current:
      - site-verification=abc
      - v=spf1 mx -all
"""

RETURN = r"""
_value: {description: "The SPF record to publish, without quotes.", type: str}
"""

from collections.abc import Callable
from typing import Any

from ..module_utils._api.dns import spf
from ..module_utils._api.dns.read_record_sets import as_list, read_text
from ..plugin_utils._filters import as_filter


@as_filter
def spf_merge(current: Any, wanted: Any) -> str:
    given = enumerate(as_list(current, "input"), 1)
    texts = [read_text(text, f"input, item {number}") for number, text in given]
    return spf.merge(texts, read_text(wanted, "wanted"))


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"spf_merge": spf_merge}
