# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""DKIM keys as they are published (RFC 6376, 3.2 and 3.6.1), compared by their meaning.

Spaces, the order of tags and tags without effect do not matter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from . import messages

Problem = tuple[str, Mapping[str, object]]

_VERSION = "DKIM1"
_LONGEST_SHOWN = 40
_TAG = re.compile(r"[ \t\r\n]*([A-Za-z][A-Za-z0-9_]*)[ \t\r\n]*=([\t\r\n -:<-~]*)")
_SPACE = re.compile(r"[ \t\r\n]+")
_BROKEN_KEY = re.compile(r"(?:^|;)(?:v=dkim|k=(?:rsa|ed25519);)", re.IGNORECASE)
_SIGNS = re.compile(r'["\\]')
_LONG_KEY = re.compile(r"(\bp=[A-Za-z0-9+/]{20})[A-Za-z0-9+/]{20,}=*")
# Every RSA key of one length begins alike, so only beyond that two keys have something in common.
_COMMON_BEGINNING = 60


def parse_tags(text: str) -> dict[str, str] | None:
    """Return the tags of a list in their order, without spaces around; None for another text.

    A repeated tag makes the whole list invalid (RFC 6376, 3.2).
    """
    parts = text.split(";")
    if len(parts) > 1 and not _SPACE.sub("", parts[-1]):
        parts.pop()
    tags: dict[str, str] = {}
    for part in parts:
        tag = _TAG.fullmatch(part)
        if not tag or tag[1] in tags:
            return None
        tags[tag[1]] = tag[2].strip(" \t\r\n")
    return tags


def is_key(text: str) -> bool:
    """Return whether a text is meant to be a DKIM key, well formed or not."""
    clean = _SIGNS.sub("", text)
    tags = parse_tags(clean)
    if tags is None:
        return _BROKEN_KEY.search(_SPACE.sub("", clean)) is not None
    return tags["v"].upper().startswith("DKIM") if "v" in tags else "p" in tags


def same_key(one: str, other: str) -> bool:
    """Return whether two texts have the same key; their other tags may differ."""
    first, second = parse_tags(one), parse_tags(other)
    if first is None or second is None:
        return one == other
    return _key(first) == _key(second) and _type(first) == _type(second)


def abridged(text: str) -> str:
    """Return a text with only the beginnings of the keys in it, for messages."""
    return _LONG_KEY.sub(r"\1...", text)


def problem(wanted: str, text: str) -> Problem | None:
    """Return what keeps a published text from being the wanted key, the likeliest cause first.

    :param wanted: the record that the service asks for
    :returns: a code of ``messages`` and what its text needs; None if it is the key
    """
    if text == wanted:
        return None
    asked, tags = parse_tags(wanted), parse_tags(text)
    if asked is None:
        return "dkim_other_text", {}
    found = _malformed(text) if tags is None else _difference(asked, tags)
    # Quotes and backslashes come from a zone file's notation that was entered as it is.
    signs = [name for name, sign in (("quotes", '"'), ("backslashes", "\\")) if sign in text]
    if found and signs:
        return "dkim_quoted", {"signs": " and ".join(signs)}
    return found


def advice(wanted: str, text: str) -> tuple[str, ...]:
    """Return advice on a published key that is the wanted one."""
    asked, tags = parse_tags(wanted) or {}, parse_tags(text) or {}
    if "y" not in _listed(tags, "t") or "y" in _listed(asked, "t"):
        return ()
    return (messages.text("dkim_testing"),)


def _malformed(text: str) -> Problem:
    names = [part.partition("=")[0].strip() for part in text.split(";")]
    twice = sorted({name for name in names if name.isalnum() and names.count(name) > 1})
    return ("dkim_repeated_tag", {"tag": _short(twice[0])}) if twice else ("dkim_malformed", {})


def _difference(  # noqa: PLR0911 - one for each problem
    asked: dict[str, str], tags: dict[str, str]
) -> Problem | None:
    """Return why receivers can't verify the service's signatures with a key."""
    wanted, found = _key(asked), _key(tags)
    if "v" in tags and next(iter(tags.items())) != ("v", _VERSION):
        return "dkim_version", {}
    if "p" not in tags:
        return "dkim_no_key", {}
    if wanted and not found:
        return "dkim_revoked", {}
    if _type(tags) != _type(asked):
        return "dkim_type", {"found": _short(_type(tags)), "wanted": _short(_type(asked))}
    if found != wanted:
        pairs = enumerate(zip(wanted, found, strict=False))
        shorter = min(len(wanted), len(found))
        common = next((place for place, (one, other) in pairs if one != other), shorter)
        if common == len(found):
            return "dkim_truncated", {"found": common, "wanted": len(wanted)}
        if common < _COMMON_BEGINNING:
            return "dkim_other_key", {}
        return "dkim_altered", {"found": common}
    if "h" in tags and "sha256" not in _listed(tags, "h"):
        return "dkim_hash", {"found": _short(tags["h"])}
    if "s" in tags and not {"*", "email"} & set(_listed(tags, "s")):
        return "dkim_service", {"found": _short(tags["s"])}
    return None


def _key(tags: dict[str, str]) -> str:
    return _SPACE.sub("", tags.get("p", ""))


def _type(tags: dict[str, str]) -> str:
    return tags.get("k", "rsa")


def _short(value: str) -> str:
    """Shorten a published value for a message."""
    value = _SPACE.sub(" ", value)
    return value if len(value) <= _LONGEST_SHOWN else f"{value[:_LONGEST_SHOWN]}..."


def _listed(tags: dict[str, str], name: str) -> list[str]:
    """Return the elements of a tag that lists several, between colons."""
    return [_SPACE.sub("", element) for element in tags.get(name, "").split(":")]
