# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: name_key
short_description: Spell a domain or an address so that it can be compared
version_added: 0.1.0
description:
  - Returns the name in the one spelling that all of its spellings have in common. The service and
    the modules compare names so.
  - Letters are lower case, and a domain that is not ASCII is in its encoded form.
author:
  - Postroom contributors (@postroom)
options:
  _input:
    description: A domain or an address, in any spelling.
    type: str
    required: true
seealso:
  - module: postroom.email.email_info
"""

EXAMPLES = r"""
- name: Look at the tenant
  postroom.email.email_info:
  register: tenant

- name: Which forwarders have Alice as a member, however she is written there?
  ansible.builtin.debug:
    msg: "{{ item.name }}"
  loop: "{{ tenant.forwarders }}"
  loop_control:
    label: "{{ item.name }}"
  when: >-
    'Alice@Example.com' | postroom.email.name_key
    in item.members | map('postroom.email.name_key')
"""

RETURN = r"""
_value:
  description: The name as it is compared.
  type: str
  sample: alice@xn--bcher-kva.example
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.postroom.email.plugins.module_utils._api.errors import InvalidInput
from ansible_collections.postroom.email.plugins.module_utils._api.names import read_name
from ansible_collections.postroom.email.plugins.plugin_utils._filtering import as_filter


@as_filter
def name_key(name: Any) -> str:
    if not isinstance(name, str):
        raise InvalidInput("name_key: a name has to be text. Give a domain or an address.")
    return read_name(name).key


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"name_key": name_key}
