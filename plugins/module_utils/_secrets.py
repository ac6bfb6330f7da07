# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Find and remove the secrets in a result, in time that does not grow with their product.

ansible-core before 2.22 searches each value for each secret: with thousands of passwords, and a row
for each mailbox, that takes longer than creating the mailboxes. Newer releases leave secrets in the
result and mask only what the controller prints.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

HIDDEN = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"
#: So many and fewer ansible-core may look for by itself.
_FEW = 50
#: Of pieces this short a long text has few different ones, and hardly any password has only those.
_PIECE = 3


def without(value: Any, secrets: Collection[str]) -> Any:
    """Return a value with every secret in it replaced, as ansible-core before 2.22 does it.

    Nearly all texts are a secret as a whole or hold none, so few secrets are left to search for.
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
        return HIDDEN
    if isinstance(value, str):
        for secret in found:
            value = value.replace(secret, "********")
        return value
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return HIDDEN if is_number and any(secret in str(value) for secret in found) else value


def _is_in(value: Any, known: frozenset[str]) -> bool:
    return isinstance(value, str) and value in known


def held(text: str, secrets: Collection[str]) -> Collection[str]:
    """Return the secrets that a text holds, or may come to hold while others are removed.

    Where they are few, all of them are returned.
    """
    if len(secrets) <= _FEW:
        return secrets
    known = set(_pieces(text))
    # Where one is replaced, a secret that holds asterisks may come to be.
    return [s for s in secrets if "*" in s or (known.issuperset(_pieces(s)) and s in text)]


def _pieces(text: str) -> Iterator[str]:
    return (text[at : at + _PIECE] for at in range(len(text) - _PIECE + 1))


def leaves(value: Any) -> Iterator[Any]:
    """Yield whatever is in a value at any depth and is no container."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            waiting.extend(one.values())
        elif is_list(one):
            waiting.extend(one)
        else:
            yield one


def is_list(value: Any) -> bool:
    """Tell whether a value is a list, and no text."""
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))
