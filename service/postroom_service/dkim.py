# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""DKIM keys, and the DNS records to publish for a domain."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

SELECTOR = "service"
KEY_BITS = 2048
MX_PRIORITY = 10


@dataclass(frozen=True)
class Key:
    """An RSA key pair, in the formats in which the database stores it."""

    private_pem: str = field(repr=False)
    public_base64: str


def new_key() -> Key:
    """Generate a key pair. This takes tens of milliseconds and releases the GIL."""
    private = rsa.generate_private_key(public_exponent=65537, key_size=KEY_BITS)
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public = private.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return Key(pem.decode("ascii"), base64.b64encode(public).decode("ascii"))


def has_key(record: str, public_base64: str) -> bool:
    """Return whether a DKIM record contains this public key."""
    tags = dict(tag.partition("=")[::2] for tag in "".join(record.split()).split(";"))
    return tags.get("p") == public_base64


def records(public_base64: str, *, mail_host: str, service_domain: str) -> dict[str, Any]:
    """Return the records to publish for a domain, in the format of the DNS endpoint.

    :param mail_host: the host name in the MX record
    :param service_domain: the domain that the SPF record includes
    """
    return {
        "mx": [{"host": "@", "value": mail_host, "priority": MX_PRIORITY}],
        "txt": [
            {"host": "@", "value": f"v=spf1 include:{service_domain} ~all"},
            {"host": f"{SELECTOR}._domainkey", "value": f"v=DKIM1; k=rsa; p={public_base64}"},
        ],
    }
