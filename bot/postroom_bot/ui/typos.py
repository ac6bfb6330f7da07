# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What somebody may have meant whose words begin like nothing that can be typed.

No answer holds what was typed: it is made of the catalogue alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from postroom_bot.ui import commands

#: How alike two texts have to be, from 0 to 1: "alias" alone is like no entry, "alias ad" is.
_ALIKE = 0.8
_PASSWORD = "password"  # noqa: S105 - a word to type
#: Other words for those that entries begin with.
_MEANT = {
    "aliases": "alias",
    "forwards": "forward",
    "forwarder": "forward",
    "forwarders": "forward",
    "forwarding": "forward",
    "create": "add",
    "new": "add",
    "delete": "remove",
    "del": "remove",
    "rm": "remove",
    "show": "list",
    "ls": "list",
}


def is_password(word: str) -> bool:
    """Whether a word is "password", in this spelling or another: a real one may follow."""
    plain = word.casefold()
    return plain.startswith("passw") or bool(get_close_matches(plain, [_PASSWORD], cutoff=_ALIKE))


def hint(words: Sequence[str]) -> str:
    """Return how to write what was probably meant, or where to look."""
    pair = [_MEANT.get(word.casefold(), word.casefold()) for word in words[:2]]
    if meant := _entry(pair):
        return f"Did you mean `{meant}`? {commands.like(meant)}"
    forms = [entry.usage for entry in commands.ENTRIES if pair[0] in entry.words.split()]
    if forms:
        return f"Write one of these: {', '.join(f'`{commands.COMMAND} {one}`' for one in forms)}."
    return f"I do not know that command. `{commands.COMMAND} help` shows what you can type."


def _entry(pair: Sequence[str]) -> str | None:
    """Return the words of an entry that two words are, turned round or nearly."""
    for known in commands.BY_WORDS:
        if sorted(known.split()) == sorted(pair):
            return known
    for typed in (" ".join(pair), pair[0]):
        for close in get_close_matches(typed, commands.BY_WORDS, n=1, cutoff=_ALIKE):
            return close
    return None
