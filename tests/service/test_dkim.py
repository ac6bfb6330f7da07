# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The DKIM key of a domain is real, its own, and made once."""

from __future__ import annotations

import base64
import sqlite3

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.serialization import load_der_public_key, load_pem_private_key

from ansible_collections.postroom.email.tests.service.api import Api
from ansible_collections.postroom.email.tests.support.service import RunningService


def public_key(api: Api, domain: str) -> rsa.RSAPublicKey:
    """Read the key that a domain's records publish."""
    value = api.dns(domain).json()["txt"][1]["value"]
    tags = dict(tag.strip().split("=", 1) for tag in value.split(";"))
    assert list(tags) == ["v", "k", "p"]
    assert (tags["v"], tags["k"]) == ("DKIM1", "rsa")
    key = load_der_public_key(base64.b64decode(tags["p"], validate=True))
    assert isinstance(key, rsa.RSAPublicKey)
    return key


def test_every_domain_has_its_own_key_and_keeps_it(api: Api) -> None:
    """Keys differ between domains, stay as they are, and are new with a new registration."""
    one, two = api.domain(), api.domain()
    records = api.dns(one).content
    assert api.dns(two).content != records
    api.mailbox(f"ann@{one}")
    assert api.dns(one).content == records
    api.delete(one)
    api.domain(one)
    assert api.dns(one).content != records


def test_the_private_half_fits(file_service: RunningService) -> None:
    """The published RSA key has 2048 bits and verifies what the stored private key signs."""
    with Api(file_service.url, file_service.token) as api:
        domain = api.domain()
        with sqlite3.connect(file_service.database) as connection:
            ((pem,),) = connection.execute("SELECT private_pem FROM dkim_key").fetchall()
        connection.close()
        private = load_pem_private_key(pem.encode(), None)
        assert isinstance(private, rsa.RSAPrivateKey)
        signature = private.sign(b"message", padding.PKCS1v15(), hashes.SHA256())
        published = public_key(api, domain)
        assert (published.key_size, published.public_numbers().e) == (2048, 65537)
        published.verify(signature, b"message", padding.PKCS1v15(), hashes.SHA256())
        assert "PRIVATE" not in api.dns(domain).text
