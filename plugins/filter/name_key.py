# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: name_key
short_description: Normalize a domain or an address for comparison
version_added: 0.1.0
description:
  - Returns a name in lower case, with an internationalized domain converted to its ASCII form. The
    service and the modules compare names in this form.
author: [Postroom contributors (@postroom)]
options:
  _input: {description: A domain or an address., type: str, required: true}
seealso:
  - module: postroom.email.email_info
"""

EXAMPLES = r"""
- name: Show an address in the form that the service uses
  ansible.builtin.debug:
    msg: "{{ 'Alice@B\u00fccher.example' | postroom.email.name_key }}"
    # alice@xn--bcher-kva.example
"""

RETURN = r"""
_value: {description: The normalized name., type: str}
"""

from collections.abc import Callable
from typing import Any

from ..module_utils._api.errors import InvalidInput
from ..module_utils._api.names import read_name
from ..plugin_utils._filters import as_filter


@as_filter
def name_key(name: Any) -> str:
    if not isinstance(name, str):
        raise InvalidInput("name_key: the name must be a string. Pass a domain or an address.")
    return read_name(name).key


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"name_key": name_key}
