# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: txt_strings
short_description: Split text into the strings of a TXT record
version_added: 0.1.0
description:
  - A TXT record consists of strings of at most 255 bytes. Longer texts, such as 2048-bit DKIM keys,
    must be split, and many providers and tools do not split them.
author: [Postroom contributors (@postroom)]
options:
  _input:
    description:
      - Plain text without quotes, or strings in double quotes, which are joined and split again.
    type: str
    required: true
seealso:
  - module: postroom.email.email_dns_records
    description: Returns the strings of each TXT record as RV(postroom.email.email_dns_records#module:records[].strings).
"""

EXAMPLES = r"""
- name: Show a long text as a line of a zone file
  ansible.builtin.debug:
    msg: >-
      note.example.com. 3600 IN TXT
      "{{ text | postroom.email.txt_strings | join('" "') }}"
  vars:
    text: "{{ 'letters and spaces ' * 20 }}"
"""

RETURN = r"""
_value: {description: The strings in order., type: list, elements: str}
"""

from collections.abc import Callable
from typing import Any

from ..module_utils._api.dns import record_types
from ..module_utils._api.dns.read_record_sets import read_text
from ..plugin_utils._filters import as_filter


@as_filter
def txt_strings(text: Any) -> list[str]:
    return record_types.txt_strings(read_text(text, "input"))


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"txt_strings": txt_strings}
