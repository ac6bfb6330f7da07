# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Searches for secrets in all common encodings. Uses only the standard library."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus

#: Search for the parts of a secret that have at least this length as well.
PIECE = 12


def forms_of(secret: str) -> set[bytes]:
    """Return all encodings and digests of a secret that would reveal it."""
    spelled = {
        secret,
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        repr(secret)[1:-1],
        quote(secret, safe=""),
        quote_plus(secret),
        html.escape(secret),
        *_pieces(secret),
    }
    plain = secret.encode()
    # The results of file modules contain these digests. A short secret can be guessed from them.
    digests = (hashlib.sha1(plain), hashlib.md5(plain))  # noqa: S324 - not for security
    hexadecimal = {plain.hex(), *(digest.hexdigest() for digest in digests)}
    return {form.encode() for form in spelled | hexadecimal} | set(_base64_forms(plain))


def _pieces(secret: str) -> Iterator[str]:
    """Yield long runs of letters, digits and hyphens, which most encodings don't change."""
    runs = "".join(c if c.isascii() and (c.isalnum() or c == "-") else " " for c in secret).split()
    yield from (run for run in runs if len(run) >= PIECE)


def _base64_forms(secret: bytes) -> Iterator[bytes]:
    """Yield the base64 encodings of a secret within other text, at each of the three offsets."""
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + secret).rstrip(b"=")
        inner = encoded[4 if shift else 0 : -1]
        yield inner
        yield inner.translate(bytes.maketrans(b"+/", b"-_"))


def leaks(secrets: Iterable[str], places: Iterable[Path]) -> list[str]:
    """Return a line for each leak in the content or path of a file in these places."""
    known = list(secrets)
    found = []
    for file in _files(places):
        content = str(file).encode() + b"\0" + file.read_bytes()
        found += [f"{file}: {form}" for form in shown(known, content)]
    return found


def shown(secrets: Iterable[str], content: bytes) -> list[str]:
    """Return the encodings of secrets that occur in a program's output."""
    forms = {form for secret in secrets for form in forms_of(secret)}
    return [form.decode() for form in sorted(forms) if form in content]


def _files(places: Iterable[Path]) -> Iterator[Path]:
    for place in places:
        if place.is_dir():
            yield from (entry for entry in sorted(place.rglob("*")) if entry.is_file())
        elif place.exists():
            yield place
