# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""DKIM keys as they are published (RFC 6376, 3.2 and 3.6.1), compared by what they say.

Spaces, the order of tags and tags that change nothing do not matter. Where a key is not the one
that is wanted, the comparison says what became of it on its way into DNS.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

_VERSION = "DKIM1"
_LONGEST_SHOWN = 40
_TAG = re.compile(r"[ \t\r\n]*([A-Za-z][A-Za-z0-9_]*)[ \t\r\n]*=([\t\r\n -:<-~]*)")
_SPACE = re.compile(r"[ \t\r\n]+")
_BROKEN_KEY = re.compile(r"(?:^|;)(?:v=dkim|k=(?:rsa|ed25519);)", re.IGNORECASE)
_SIGNS = re.compile(r'["\\]')
_LONG_KEY = re.compile(r"(\bp=[A-Za-z0-9+/]{20})[A-Za-z0-9+/]{20,}=*")
# Every RSA key of one length begins alike, so only beyond that two keys have something in common.
_COMMON_BEGINNING = 60


class DkimVerdict(NamedTuple):
    """What became of a key.

    :param detail: a clause, without a full stop
    :param remedy: one sentence; empty for ``match``
    """

    status: Literal["match", "missing", "conflict"]
    detail: str
    remedy: str = ""
    advice: tuple[str, ...] = ()


class _Problem(NamedTuple):
    detail: str
    remedy: str


_REPLACE = "Replace the record by the one that the service asks for."


def parse_tags(text: str) -> dict[str, str] | None:
    """Return the tags of a list in their order, without spaces around; None where it is no list.

    A tag that is there twice makes the whole list invalid (RFC 6376, 3.2).
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
    """Tell whether a text is meant to be a DKIM key, well formed or not."""
    clean = _SIGNS.sub("", text)
    tags = parse_tags(clean)
    if tags is None:
        return _BROKEN_KEY.search(_SPACE.sub("", clean)) is not None
    return tags["v"].upper().startswith("DKIM") if "v" in tags else "p" in tags


def same_key(one: str, other: str) -> bool:
    """Tell whether two texts hold the same key, whatever else they say of it."""
    first, second = parse_tags(one), parse_tags(other)
    if first is None or second is None:
        return one == other
    return _key(first) == _key(second) and _type(first) == _type(second)


def abridged(text: str) -> str:
    """Return a text with only the beginnings of the keys in it, for messages."""
    return _LONG_KEY.sub(r"\1...", text)


def compare(wanted: str, found: Sequence[str]) -> DkimVerdict:
    """Say whether a key is published.

    :param wanted: the record that the service asks for
    :param found: all TXT records at the name; those that are not keys do not matter
    """
    keys = [text for text in found if text == wanted or is_key(text)]
    if not keys:
        return DkimVerdict(
            "missing",
            "there is no DKIM key at the name",
            "Add the record that the service asks for.",
        )
    if len(keys) > 1:
        return _several(wanted, keys)
    problem = _problem(wanted, keys[0])
    if problem:
        return DkimVerdict("conflict", *problem)
    return DkimVerdict("match", "the key is there", advice=_advice(wanted, keys[0]))


def _several(wanted: str, keys: Sequence[str]) -> DkimVerdict:
    detail = f"there are {len(keys)} DKIM keys, and receivers may take any of them"
    if any(_problem(wanted, text) is None for text in keys):
        return DkimVerdict("conflict", detail, "Leave only the one that the service asks for.")
    return DkimVerdict("conflict", detail, "Replace them by the one that the service asks for.")


def _advice(wanted: str, text: str) -> tuple[str, ...]:
    asked, tags = parse_tags(wanted) or {}, parse_tags(text) or {}
    if "y" not in _listed(tags, "t") or "y" in _listed(asked, "t"):
        return ()
    return (
        "The DKIM key has t=y, which says that signatures are only being tested. Remove y from t.",
    )


def _problem(wanted: str, text: str) -> _Problem | None:
    """Return what keeps a record from being the wanted one, the likeliest cause first."""
    if text == wanted:
        return None
    asked, tags = parse_tags(wanted), parse_tags(text)
    if asked is None:
        return _Problem("another text is published", _REPLACE)
    if tags is None:
        return _written_with_signs(text) or _malformed(text)
    problem = _not_a_key(asked, tags) or _other_key(_key(asked), _key(tags)) or _exclusion(tags)
    return problem and (_written_with_signs(text) or problem)


def _written_with_signs(text: str) -> _Problem | None:
    """Return that the notation of a zone file got into the text, where it did."""
    if not _SIGNS.search(text):
        return None
    names = [name for name, sign in (("quotes", '"'), ("backslashes", "\\")) if sign in text]
    return _Problem(
        f"the published text itself holds {' and '.join(names)}, so receivers cannot read the key",
        "Enter the text without them: whoever publishes it adds what DNS needs.",
    )


def _malformed(text: str) -> _Problem:
    names = [part.partition("=")[0].strip() for part in text.split(";")]
    twice = sorted({name for name in names if name.isalnum() and names.count(name) > 1})
    if twice:
        return _Problem(
            f"the published key has the tag {_short(twice[0])} more than once", _REPLACE
        )
    return _Problem(
        "the published key is not a list of tags, as in v=DKIM1; k=rsa; p=KEY", _REPLACE
    )


def _not_a_key(asked: dict[str, str], tags: dict[str, str]) -> _Problem | None:
    """Return why receivers find no usable key of the wanted type in a record."""
    if "v" in tags and next(iter(tags.items())) != ("v", _VERSION):
        return _Problem("the published key does not begin with v=DKIM1", _REPLACE)
    if "p" not in tags:
        return _Problem("the published record has no key, which is its tag p", _REPLACE)
    if not _key(tags) and _key(asked):
        return _Problem("the published key is revoked: its tag p is empty", _REPLACE)
    if _type(tags) != _type(asked):
        kinds = f"{_short(_type(tags))}, not {_short(_type(asked))}"
        return _Problem(f"the published key is of the type {kinds}", _REPLACE)
    return None


def _exclusion(tags: dict[str, str]) -> _Problem | None:
    """Return why signatures of mail are not judged by a key, although it may be the right one."""
    if "h" in tags and "sha256" not in _listed(tags, "h"):
        detail = f"the published key allows only the hashes h={_short(tags['h'])}, not sha256"
        return _Problem(detail, "Add sha256 to the tag h, or remove the tag.")
    if "s" in tags and not {"*", "email"} & set(_listed(tags, "s")):
        detail = f"the published key is only for the services s={_short(tags['s'])}, not for mail"
        return _Problem(detail, "Add email to the tag s, or remove the tag.")
    return None


def _other_key(asked: str, found: str) -> _Problem | None:
    """Return how a key differs from the wanted one."""
    if found == asked:
        return None
    if asked.startswith(found):
        return _Problem(
            f"the published key was cut after {len(found)} of {len(asked)} characters",
            "Enter the whole text, in strings of at most 255 characters where it takes no longer.",
        )
    common = _common(asked, found)
    if common < _COMMON_BEGINNING:
        return _Problem("another key is published", _REPLACE)
    return _Problem(
        f"the published key is the wanted one up to character {common} and differs from there on",
        "Enter the whole text again: its strings belong together in their order, with nothing "
        "between.",
    )


def _common(one: str, other: str) -> int:
    """Return how many characters two texts have in common at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    differing = (place for place, (first, second) in pairs if first != second)
    return next(differing, min(len(one), len(other)))


def _key(tags: dict[str, str]) -> str:
    return _SPACE.sub("", tags.get("p", ""))


def _type(tags: dict[str, str]) -> str:
    return tags.get("k", "rsa")


def _short(value: str) -> str:
    """Return what is published as it fits a sentence."""
    value = _SPACE.sub(" ", value)
    return value if len(value) <= _LONGEST_SHOWN else f"{value[:_LONGEST_SHOWN]}..."


def _listed(tags: dict[str, str], name: str) -> list[str]:
    """Return the elements of a tag that lists several, between colons."""
    return [_SPACE.sub("", element) for element in tags.get(name, "").split(":")]
