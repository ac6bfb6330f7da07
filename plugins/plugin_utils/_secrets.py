# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Removing secrets from a result, as AnsibleModule does it, in time that many secrets allow."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from ansible.module_utils.common.parameters import remove_values

#: More than so many are first looked for by their beginnings, all in one go.
_MANY = 50
_BEGINNING = 6
_HIDDEN = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"


def without(value: Any, secrets: Collection[str]) -> Any:
    """Return a result with every secret in it replaced.

    What ansible-core makes of a value costs as much as there are secrets, for each value. Nearly
    all values are a secret as a whole or hold none, and so few secrets are left to look for.
    """
    known = frozenset(secrets)
    text = "\n".join(str(leaf) for leaf in _leaves(value) if not _is_in(leaf, known))
    # The longest first, or what is left of one would show after another within it.
    return _replaced(value, known, sorted(_held(text, known), key=len, reverse=True))


def _held(text: str, known: frozenset[str]) -> Iterator[str]:
    """Yield the secrets that a text holds."""
    beginnings = None
    if len(known) > _MANY:
        beginnings = {text[at : at + _BEGINNING] for at in range(len(text))}
    for one in known:
        is_likely = beginnings is None or len(one) < _BEGINNING or one[:_BEGINNING] in beginnings
        # Where one is replaced, a secret that holds asterisks may come to be.
        if "*" in one or (is_likely and one in text):
            yield one


def _leaves(value: Any) -> Iterator[Any]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            waiting.extend(one.values())
        elif _is_list(one):
            waiting.extend(one)
        else:
            yield one


def _replaced(value: Any, known: frozenset[str], held: list[str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _replaced(one, known, held) for key, one in value.items()}
    if _is_list(value):
        return [_replaced(one, known, held) for one in value]
    if _is_in(value, known):
        return _HIDDEN
    return remove_values(value, held) if held else value


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _is_in(value: Any, known: frozenset[str]) -> bool:
    return isinstance(value, str) and value in known
