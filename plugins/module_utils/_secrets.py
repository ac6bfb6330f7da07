# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Finding out which of many secrets a result holds, in time that does not grow with their product.

ansible-core looks for each secret in each value: with thousands of passwords, and a row for each
mailbox, that takes longer than to create the mailboxes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

#: So many and fewer ansible-core may look for by itself.
_FEW = 50
#: Of pieces this short a long text has few different ones, and hardly any password has only those.
_PIECE = 3


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
