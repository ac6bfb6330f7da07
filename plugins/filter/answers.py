# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: answers
short_description: Normalize the variables of a playbook
version_added: 0.2.0
description:
  - Returns the given variables in the form that the playbook expects.
  - For an unanswered question, an AWX survey sends an empty string or V(null). The filter then sets
    the variable to its default. Without a default, it omits the variable.
  - Use M(ansible.builtin.validate_argument_spec) to validate the result. This filter only checks
    that options of type C(str) or C(path) are strings.
author: [Postroom contributors (@postroom)]
options:
  _input: {description: "Values of the variables, keyed by name.", type: dict, required: true}
  options:
    description:
      - Options from an argument file, keyed by name.
      - Leading and trailing whitespace is removed from strings.
      - Paths are made absolute. Relative paths are resolved against the current directory.
      - If a list is expected, a string is split at commas and line breaks.
    type: dict
    required: true
positional: options
seealso:
  - plugin: postroom.email.survey_spec
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Show the members
  ansible.builtin.debug:
    msg: "{{ {'mail_members': 'alice@example.com, bob@example.com'} | postroom.email.answers(options) }}"
    # mail_members: [alice@example.com, bob@example.com]
  vars:
    options:
      mail_members: {type: list, elements: str}
"""

RETURN = r"""
_value: {description: "The normalized values, keyed by name.", type: dict}
"""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..module_utils._api.errors import InvalidInput
from ..plugin_utils._filters import as_filter, decrypted

_ENTRY = re.compile(r"[^,\s](?:[^,\r\n]*[^,\s])?")


@as_filter
def answers(values: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for name, option in options.items():
        value = _normalized(name, option, decrypted(values.get(name)))
        if value is None or (value == [] and option.get("required")):
            value = option.get("default")
        if value is not None:
            found[name] = value
    return found


def _normalized(name: str, option: Mapping[str, Any], value: Any) -> Any:
    """Return a value in the form that playbooks expect, or None if the value is empty."""
    if isinstance(value, str):
        value = value.strip() or None
    if value is None:
        return None
    if option["type"] == "list":
        return _entries(option, value)
    if option["type"] not in ("str", "path"):
        return value
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be a string. Write it in quotes.")
    return _absolute(value) if option["type"] == "path" else value


def _entries(option: Mapping[str, Any], value: Any) -> Any:
    if isinstance(value, str):
        value = _ENTRY.findall(value)
    if not isinstance(value, list):
        return value
    if option.get("elements") == "path":
        # Paths may contain commas, so the items of a list of paths are not split.
        return [_absolute(path) if isinstance(path, str) else path for path in value]
    return [
        part
        for entry in value
        for part in (_ENTRY.findall(entry) if isinstance(entry, str) else [entry])
    ]


def _absolute(path: str) -> str:
    # Programs that start Ansible, such as AWX, do not set PWD. Unlike pathlib, expanduser() keeps the
    # tilde of an unknown user.
    return str(Path.cwd() / os.path.expanduser(path))  # noqa: PTH111


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"answers": answers}
