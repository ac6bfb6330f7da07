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

#: More than so many are first looked for by their beginnings, all in one go.
_MANY = 50
_BEGINNING = 6


def held(text: str, secrets: Collection[str]) -> Iterator[str]:
    """Yield the secrets that a text holds, or may come to hold while others are removed."""
    beginnings = None
    if len(secrets) > _MANY:
        beginnings = {text[at : at + _BEGINNING] for at in range(len(text))}
    for one in secrets:
        is_likely = beginnings is None or len(one) < _BEGINNING or one[:_BEGINNING] in beginnings
        # Where one is replaced, a secret that holds asterisks may come to be.
        if "*" in one or (is_likely and one in text):
            yield one


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
