# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Parse published DKIM keys (RFC 6376, 3.2 and 3.6.1) and compare them by meaning."""

from __future__ import annotations

import re

_TAG = re.compile(r"[ \t\r\n]*([A-Za-z][A-Za-z0-9_]*)[ \t\r\n]*=([\t\r\n -:<-~]*)")
_SPACE = re.compile(r"[ \t\r\n]+")
_BROKEN_KEY = re.compile(r"(?:^|;)(?:v=dkim|k=(?:rsa|ed25519);)", re.IGNORECASE)
_LONG_KEY = re.compile(r"(\bp=[A-Za-z0-9+/]{20})[A-Za-z0-9+/]{20,}=*")


def parse_tags(text: str) -> dict[str, str] | None:
    """Return the tags of a tag list in order, stripped of spaces, or None if it is invalid.

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
    """Return whether a text is intended to be a DKIM key, even if it is malformed."""
    clean = re.sub(r'["\\]', "", text)
    tags = parse_tags(clean)
    if tags is None:
        return _BROKEN_KEY.search(_SPACE.sub("", clean)) is not None
    return tags["v"].upper().startswith("DKIM") if "v" in tags else "p" in tags


def same_key(one: str, other: str) -> bool:
    """Return whether two texts contain the same key. Their other tags may differ."""
    first, second = parse_tags(one), parse_tags(other)
    if first is None or second is None:
        return one == other
    return _key(first) == _key(second) and _type(first) == _type(second)


def problem(wanted: str, text: str) -> tuple[str, dict[str, object]] | None:
    """Return the reason why a published text is not the wanted key.

    Spaces, tag order and tags without effect are ignored.

    :returns: a code in ``messages`` and its parameters, or None if the text is the key
    """
    asked, tags = parse_tags(wanted) or {}, parse_tags(text)
    if text == wanted or (tags and same_key(wanted, text) and _applies_to_mail(tags)):
        return None
    if '"' in text or "\\" in text:
        return "dkim_quoted", {}
    ours, found = _key(asked), _key(tags or {})
    if tags and "p" in tags and not found and ours:
        return "dkim_revoked", {}
    if tags and found and len(found) < len(ours) and ours.startswith(found):
        return "dkim_truncated", {"found": len(found), "expected": len(ours)}
    return "dkim_other_key", {}


def abridged(text: str) -> str:
    """Return a text with truncated keys, for use in messages."""
    return _LONG_KEY.sub(r"\1...", text)


def _applies_to_mail(tags: dict[str, str]) -> bool:
    """Return whether receivers use a key for mail signed with SHA-256."""
    is_dkim = "v" not in tags or next(iter(tags.items())) == ("v", "DKIM1")
    hashes = [_SPACE.sub("", each) for each in tags.get("h", "sha256").split(":")]
    services = {_SPACE.sub("", each) for each in tags.get("s", "*").split(":")}
    return is_dkim and "sha256" in hashes and bool({"*", "email"} & services)


def _key(tags: dict[str, str]) -> str:
    return _SPACE.sub("", tags.get("p", ""))


def _type(tags: dict[str, str]) -> str:
    return tags.get("k", "rsa")
