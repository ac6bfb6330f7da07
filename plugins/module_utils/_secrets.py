# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Find and remove secrets in a result quickly, even if there are thousands of them.

ansible-core before 2.22 searches each value for each secret. With thousands of passwords and a row
for each mailbox, that takes longer than creating the mailboxes. Newer releases leave secrets in the
result and only mask them in the controller's output.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from ansible.module_utils.common.collections import is_sequence

HIDDEN = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"
#: Up to this number of secrets, ansible-core's own search is fast enough.
FEW = 50
#: Passwords are divided into substrings of this length. Few passwords consist only of substrings
#: that also occur in the text.
_PIECE = 3


def remove_secrets(value: Any, secrets: Collection[str]) -> Any:
    """Return a value with all secrets replaced, as ansible-core before 2.22 does.

    Nearly every string either is a secret or contains no secret, so few searches are needed.
    """
    known = frozenset(secrets)
    text = "\n".join(str(leaf) for leaf in leaves(value) if not _is_in(leaf, known))
    # Replace the longest secrets first, because a secret may contain a shorter secret.
    return _replaced(value, known, sorted(find_secrets(text, known), key=len, reverse=True))


def _replaced(value: Any, known: frozenset[str], found: list[str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _replaced(inner, known, found) for key, inner in value.items()}
    if is_sequence(value):
        return [_replaced(inner, known, found) for inner in value]
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


def find_secrets(text: str, secrets: Collection[str]) -> Collection[str]:
    """Return the secrets that a text contains, or may contain after other secrets are replaced.

    If there are at most ``FEW`` secrets, return all of them.
    """
    if len(secrets) <= FEW:
        return secrets
    known = set(_pieces(text))
    # Replacing a secret with asterisks can create another secret that contains asterisks.
    return [s for s in secrets if "*" in s or (known.issuperset(_pieces(s)) and s in text)]


def _pieces(text: str) -> Iterator[str]:
    return (text[at : at + _PIECE] for at in range(len(text) - _PIECE + 1))


def leaves(value: Any) -> Iterator[Any]:
    """Yield the values at any depth that are neither mappings nor lists."""
    pending = [value]
    while pending:
        inner = pending.pop()
        if isinstance(inner, Mapping):
            pending.extend(inner.values())
        elif is_sequence(inner):
            pending.extend(inner)
        else:
            yield inner
