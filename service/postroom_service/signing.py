# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Handling of From headers and DKIM signatures, for the embedded mail server and the milter.

A header is a (name, value) pair. The value is everything after the colon, including line breaks.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import re
import time
from collections.abc import Sequence
from email.errors import MultipartInvariantViolationDefect, ObsoleteHeaderDefect
from email.parser import BytesHeaderParser
from email.policy import SMTP as POLICY
from typing import cast

import dkim
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from dkim.canonicalization import Relaxed, Simple

from .dkim import SELECTOR

#: Headers listed twice are oversigned: adding another one breaks the signature.
SIGNED = [
    *(b"from", b"from", b"to", b"to", b"cc", b"cc", b"subject", b"subject", b"date", b"date"),
    *(b"message-id", b"mime-version", b"content-type", b"reply-to", b"reply-to"),
]
NOT_OWN_FROM = "550 5.7.1 The From header is not an address of your mailbox"
MAX_KEYS = 1024
#: Maximum length of a From header. The parser takes quadratic time: 45 s for 90,000 characters.
MAX_FROM = 2000
_WIDTH = 72

#: Text that mail programs may read as the end of the headers or as another From header.
_AMBIGUOUS = re.compile(rb"\r(?!\n)|(?<!\r)\n|(?im:^from[ \t]+:)")

Header = tuple[bytes, bytes]


class Malformed(Exception):
    """The headers of a message can't be parsed."""


def header_from(head: bytes) -> str:
    """Return the address in the From header, or "" if mail programs could read a different address.

    :param head: all headers, including line breaks
    """
    if _AMBIGUOUS.search(head):
        return ""
    try:
        message = BytesHeaderParser().parsebytes(head)
        [value] = [value for name, value in message.raw_items() if name.lower() == "from"]
        if len(value) > MAX_FROM:
            return ""
        header = POLICY.header_fetch_parse("from", value)
        [group] = header.groups
        [address] = group.addresses
        defects = [*message.defects, *header.defects]
    except Exception:  # noqa: BLE001 the parser raises various exceptions
        return ""
    # Names such as `Ann B. Clark` have an obsolete but common form. Before Python 3.11.5, the
    # parser reports the other defect for headers of multipart messages (python/cpython#106186).
    harmless = (ObsoleteHeaderDefect, MultipartInvariantViolationDefect)
    if any(not isinstance(defect, harmless) for defect in defects):
        return ""
    if group.display_name is not None:
        return ""
    return str(address.addr_spec)


def split(content: bytes) -> tuple[list[Header], bytes]:
    """Return the headers and the body of a message.

    :raises Malformed: if the headers can't be parsed
    """
    try:
        headers, body = dkim.rfc822_parse(content)
    except (dkim.DKIMException, IndexError):
        raise Malformed from None
    return [(name, value) for name, value in headers], body


def sign(headers: Sequence[Header], body: bytes, domain: str, private_pem: str) -> bytes:
    """Return the value of a DKIM-Signature header, folded with CRLF but without a CRLF at the end.

    The canonicalization is relaxed/simple, because dkimpy takes quadratic time for long runs of
    spaces in a relaxed body.

    :param body: the body, with CRLF line endings
    """
    signed = dkim.select_headers(headers, SIGNED)
    body_hash = hashlib.sha256(Simple.canonicalize_body(body)).digest()
    tags = [
        *("v=1", "a=rsa-sha256", "c=relaxed/simple", f"d={domain}", f"s={SELECTOR}"),
        *(f"t={int(time.time())}", f"bh={base64.b64encode(body_hash).decode()}"),
        # List all names, so that the signature covers the absence of missing headers.
        "h=" + ":".join(name.decode() for name in SIGNED),
        "b=",
    ]
    value = _fold(tags)
    lines = Relaxed.canonicalize_headers([*signed, (b"dkim-signature", value)])
    covered = b"".join(name + b":" + text for name, text in lines).removesuffix(b"\r\n")
    signature = base64.b64encode(
        _key(private_pem).sign(covered, padding.PKCS1v15(), hashes.SHA256())
    )
    return value + b"".join(
        b"\r\n " + signature[start : start + _WIDTH] for start in range(0, len(signature), _WIDTH)
    )


@functools.lru_cache(MAX_KEYS)
def _key(private_pem: str) -> rsa.RSAPrivateKey:
    return cast(rsa.RSAPrivateKey, load_pem_private_key(private_pem.encode("ascii"), password=None))


def _fold(tags: Sequence[str]) -> bytes:
    """Join tags and fold the header, between tags or after a colon in the list of names."""
    lines = [""]
    for tag in tags:
        for part in re.findall(r"[^:]+:?", tag + ("" if tag == "b=" else ";")):
            if len(lines[-1]) + len(part) >= _WIDTH:
                lines.append("")
            lines[-1] += part if lines[-1].endswith(":") else f" {part}"
    return "\r\n".join(lines).encode("ascii")
