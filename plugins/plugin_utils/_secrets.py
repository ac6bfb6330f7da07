# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Removing secrets from a result, as AnsibleModule does it, in time that many secrets allow."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ansible.module_utils.common.parameters import remove_values

from ansible_collections.postroom.email.plugins.module_utils._secrets import (
    held,
    is_list,
    leaves,
)

_HIDDEN = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"


def without(value: Any, secrets: Collection[str]) -> Any:
    """Return a result with every secret in it replaced.

    What ansible-core makes of a value costs as much as there are secrets, for each value. Nearly
    all values are a secret as a whole or hold none, and so few secrets are left to look for.
    """
    known = frozenset(secrets)
    text = "\n".join(str(leaf) for leaf in leaves(value) if not _is_in(leaf, known))
    # The longest first, or what is left of one would show after another within it.
    return _replaced(value, known, sorted(held(text, known), key=len, reverse=True))


def _replaced(value: Any, known: frozenset[str], found: list[str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _replaced(one, known, found) for key, one in value.items()}
    if is_list(value):
        return [_replaced(one, known, found) for one in value]
    if _is_in(value, known):
        return _HIDDEN
    return remove_values(value, found) if found else value


def _is_in(value: Any, known: frozenset[str]) -> bool:
    return isinstance(value, str) and value in known
