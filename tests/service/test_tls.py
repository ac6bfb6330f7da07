# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The service over HTTPS."""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from ansible_collections.postroom.email.tests.support.service import running_service


def self_signed(directory: Path) -> tuple[Path, Path]:
    """Make a certificate for the loopback address, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "service")])
    now = dt.datetime.now(dt.UTC)
    loopback = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(loopback, critical=False)
        .sign(key, hashes.SHA256())
    )
    paths = directory / "cert.pem", directory / "key.pem"
    paths[0].write_bytes(certificate.public_bytes(Encoding.PEM))
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    paths[1].write_bytes(pem)
    return paths


def test_the_service_speaks_https_and_breaks_off_there_too(tmp_path: Path) -> None:
    """With a certificate the URL is https, and faults reach through the encryption."""
    certificate, key = self_signed(tmp_path)
    arguments = ["--tls-cert", str(certificate), "--tls-key", str(key)]
    faults = "reset_after=1,limit=1,methods=POST"
    with running_service(tmp_path / "service", extra_args=arguments, faults=faults) as service:
        assert service.url.startswith("https://127.0.0.1:")
        trust = ssl.create_default_context(cafile=certificate)
        headers = {"Authorization": f"Bearer {service.token}"}
        with httpx.Client(base_url=service.url, verify=trust, headers=headers) as client:
            body = {"name": "example.com", "type": "domain"}
            with pytest.raises(httpx.TransportError):
                client.post("/api/principal", json=body)
            assert len(client.get("/api/principal").json()) == 1
            assert client.post("/api/principal", json=body).status_code == 409
        assert "ASGI" not in service.log_path.read_text()
