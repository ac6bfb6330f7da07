# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A service that can't be reached, can't be trusted or isn't one gives one true sentence."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import html, scripted
from ansible_collections.postroom.email.tests.support.recorder import recording
from ansible_collections.postroom.email.tests.support.service import RunningService, running_service
from ansible_collections.postroom.email.tests.support.site import Api, Site

TASK = {"name": "new@one.example", "passwords": ["correct-horse/battery#staple"], "retries": 0}
READING = "reading new@one.example"


def failure_of(site: Site, **options: Any) -> str:
    """Run a task that fails in both modes alike, and return its message."""
    foretold, done = (
        site.run("email_mailbox", check=mode, **TASK, **options) for mode in (True, False)
    )
    assert foretold == done
    assert (done["failed"], done["changed"]) == (True, False)
    assert "Traceback" not in str(done)
    return str(done["msg"])


def test_unreachable_port(site: Site) -> None:
    """Where nothing listens the message names the address, the object and what to check."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    assert failure_of(site, api_url=url) == (
        f"{url} can't be reached for {READING} ([Errno 111] Connection refused). "
        "Check api_url, the network and any proxy."
    )


def test_unknown_host(site: Site) -> None:
    """A host name that does not resolve is told apart from a service that says no."""
    message = failure_of(site, api_url="http://mail.invalid")
    assert message.startswith(f"http://mail.invalid can't be reached for {READING} (")
    assert message.endswith("). Check api_url, the network and any proxy.")


def test_html_in_place_of_json(site: Site) -> None:
    """A web page under status 200 is no answer, whatever it says."""
    with scripted(lambda request: html(200, "Welcome to nginx")) as server:
        assert failure_of(site, api_url=server.url) == (
            "Reading new@one.example was answered with status 200 (Welcome to nginx). The answer "
            "is not one of this API; check api_url and any proxy before it: it is not JSON."
        )
        assert server.writes == []


def test_html_not_found_is_not_absent(site: Site) -> None:
    """A web server's own 404 does not mean that the mailbox is absent."""
    with scripted(lambda request: html(404, "Not Found")) as server:
        for state in ("present", "absent"):
            assert failure_of(site, api_url=server.url, state=state) == (
                "Reading new@one.example was answered with status 404 (Not Found). The answer is "
                "not one of this API; check api_url and any proxy before it: it is not JSON."
            )
        assert server.writes == []


RULES = "The service will not do this."


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            {"name": "new@one.example", "passwords": ["p" * 1025]},
            (
                "Creating new@one.example was answered with status 422 "
                f"(secrets/0: String should have at most 1024 characters). {RULES}"
            ),
        ),
        (
            {"name": "ann@one.example", "aliases": [f"a{n}@one.example" for n in range(1000)]},
            (
                "Changing ann@one.example was answered with status 422 "
                f"(emails: List should have at most 1000 items after validation, not 1001). {RULES}"
            ),
        ),
    ],
)
def test_what_only_the_service_refuses(site: Site, options: dict[str, Any], says: str) -> None:
    """A limit of the service's own is passed on, and nothing is changed by half."""
    site.create("one.example")
    site.create("ann@one.example")
    before = site.listing()
    result = site.run("email_mailbox", **options)
    assert (result["msg"], result["failed"], result["changed"]) == (says, True, False)
    assert site.listing() == before


def test_address_of_another_tenant(site: Site, service: RunningService) -> None:
    """A domain that another tenant has is refused without a word about whose it is."""
    other = Api(service.url, service.new_token("another"))
    other.create("theirs.example")
    result = site.run("email_domain", name="theirs.example")
    assert result["msg"] == (
        "Creating theirs.example was answered with status 409 (theirs.example exists already). "
        "It is in use: by another tenant, or since a moment ago. Choose another name or address, "
        "or ask the service's operator."
    )
    assert site.listing() == {}
    other.clear()
    other.close()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a certificate for the loopback that nobody has signed, with its key beside it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "loopback")])
    now = datetime.now(UTC)
    unsigned = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    unsigned = unsigned.not_valid_before(now - timedelta(days=1))
    unsigned = unsigned.not_valid_after(now + timedelta(days=1))
    names = x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))])
    signed = unsigned.add_extension(names, critical=False).sign(key, hashes.SHA256())
    file = tmp_path_factory.mktemp("tls") / "certificate.pem"
    file.write_bytes(signed.public_bytes(Encoding.PEM))
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.with_suffix(".key").write_bytes(secret)
    return file


@pytest.fixture(scope="module")
def tls_service(
    certificate: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningService]:
    """Run the reference service over HTTPS with that certificate."""
    arguments = ["--tls-cert", str(certificate), "--tls-key", str(certificate.with_suffix(".key"))]
    with running_service(tmp_path_factory.mktemp("https"), extra_args=arguments) as service:
        yield service


def access(service: RunningService) -> dict[str, Any]:
    """Return the options that lead to a service past the recorder."""
    return {"api_url": service.url, "api_token": service.token}


def test_untrusted_certificate(site: Site, tls_service: RunningService) -> None:
    """A certificate that nobody vouches for ends the task before the token is sent."""
    message = failure_of(site, **access(tls_service))
    assert message.startswith(f"{tls_service.url} can't be reached for {READING} (")
    assert "certificate verify failed" in message
    assert message.endswith("Set ca_path to the file of the authority that signed its certificate.")
    assert "/api/principal" not in tls_service.log_path.read_text("utf-8")


def test_trusted_certificate(site: Site, tls_service: RunningService, certificate: Path) -> None:
    """With ca_path, or with validate_certs off, the same service is used."""
    ways: list[dict[str, Any]] = [{"ca_path": str(certificate)}, {"validate_certs": False}]
    for options in ways:
        result = site.run("email_info", **access(tls_service), **options)
        assert (result["failed"], result["domains"]) == (False, [])


def test_https_where_http_is_spoken(site: Site, service: RunningService) -> None:
    """An api_url with https for a service without it says where to look."""
    url = service.url.replace("http:", "https:")
    message = failure_of(site, api_url=url)
    assert message.startswith(f"{url} can't be reached for {READING} (")
    assert message.endswith("). Check that api_url is right to begin with https.")


def test_service_that_ends_midway(site: Site, tmp_path: Path) -> None:
    """A service that is killed gives a sentence too, and nothing is believed absent."""
    with running_service(tmp_path) as service, recording(service.url) as recorder:
        site.recorder.take()
        service.kill()
        message = failure_of(site, api_url=recorder.url, api_token=service.token, state="absent")
    assert message == (
        f"The connection to {recorder.url} broke while {READING} (Server disconnected without "
        "sending a response). Try again. If it expects https, let api_url begin with it."
    )
