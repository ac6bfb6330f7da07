# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Who is spoken to over TLS, and who never sees the token."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api import errors
from ansible_collections.postroom.email.plugins.module_utils._api.wire import calls
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import (
    Reply,
    Request,
    ScriptedServer,
    json_reply,
    scripted,
)
from ansible_collections.postroom.email.tests.support.certificates import OPENSSL, Authority
from ansible_collections.postroom.email.tests.support.clients import (
    TOKEN,
    Clock,
    client_over,
    sender_to,
)

pytestmark = pytest.mark.skipif(OPENSSL is None, reason="the openssl program is not installed")

LIST = calls.list_page()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Return an authority that no system trusts."""
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def trusted(authority: Authority) -> ssl.SSLContext:
    """Return what a server of that authority serves the loopback address with."""
    return authority.serves("IP:127.0.0.1")


def answer(_request: Request) -> Reply:
    """Answer an empty list."""
    return json_reply([])


@pytest.fixture
def server(trusted: ssl.SSLContext) -> Iterator[ScriptedServer]:
    """Serve over TLS."""
    with scripted(answer, tls=trusted) as serving:
        yield serving


def list_over(url: str, **options: Any) -> None:
    """List once, without another attempt."""
    with closing(sender_to(url, **options)) as sender:
        clock = Clock()
        try:
            client_over(sender, clock).list_principals()
        finally:
            assert clock.sleeps == []


def test_an_untrusted_certificate_ends_the_task(server: ScriptedServer) -> None:
    """At once, with the option that helps, and before the token is sent."""
    with pytest.raises(errors.UntrustedCertificate, match="Set ca_path") as caught:
        list_over(server.url)
    assert caught.value.failure.kind == "UntrustedCertificate"
    assert server.requests == []
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize("scheme", ["HTTPS", "Https"])
def test_the_case_of_the_scheme_makes_no_difference(server: ScriptedServer, scheme: str) -> None:
    """The certificate is verified however the address is written."""
    with pytest.raises(errors.UntrustedCertificate):
        list_over(server.url.replace("https", scheme, 1))
    assert server.requests == []


def test_the_authority_of_ca_path_is_trusted(server: ScriptedServer, authority: Authority) -> None:
    """With the file of the authority the same server is fine."""
    list_over(server.url, ca_path=str(authority.path))
    assert server.lines == ["GET /api/principal"]


def test_another_authority_is_not_trusted(server: ScriptedServer, tmp_path: Path) -> None:
    """A file of some authority is no leave for all."""
    other = Authority(tmp_path, "other")
    with pytest.raises(errors.UntrustedCertificate):
        list_over(server.url, ca_path=str(other.path))
    assert server.requests == []


def test_a_certificate_of_another_host_is_refused(authority: Authority) -> None:
    """A trusted authority has signed it, for somebody else."""
    with scripted(answer, tls=authority.serves("DNS:mail.example.com")) as other:
        with pytest.raises(errors.UntrustedCertificate, match="a host name that its certificate"):
            list_over(other.url, ca_path=str(authority.path))
        assert other.requests == []


def test_verification_can_be_switched_off(server: ScriptedServer) -> None:
    """Only where it was asked for."""
    list_over(server.url, verify=False)
    assert server.lines == ["GET /api/principal"]


def test_https_to_a_plain_port_says_what_may_be_wrong() -> None:
    """The address may begin with the wrong scheme."""
    with scripted(answer) as plain:
        url = plain.url.replace("http:", "https:")
        with closing(sender_to(url)) as sender, pytest.raises(errors.Unreachable, match="https"):
            client_over(sender, retries=0).list_principals()


def test_http_to_a_tls_port_is_an_error(server: ScriptedServer) -> None:
    """Nothing is read from it, and nothing is taken for an answer."""
    url = server.url.replace("https:", "http:")
    with closing(sender_to(url)) as sender, pytest.raises(errors.ServiceError):
        client_over(sender, retries=0).list_principals()


def test_a_deadline_holds_within_tls(trusted: ssl.SSLContext, authority: Authority) -> None:
    """A head that drips through TLS is ended by the deadline too."""
    reply = Reply(200, b"[]", {"X-Filler": "x" * 900}, drip=0.02, drip_head=True)
    with (
        scripted(lambda _: reply, tls=trusted) as slow,
        closing(sender_to(slow.url, ca_path=str(authority.path))) as sender,
        pytest.raises(errors.ConnectionBroken),
    ):
        sender.send(LIST, 0.3)
    assert slow.completed == 0


def test_a_handshake_that_hangs_is_ended_by_the_deadline() -> None:
    """Something takes the connection and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://127.0.0.1:{silent.getsockname()[1]}"
        with closing(sender_to(url, verify=False)) as sender, pytest.raises(errors.ServiceError):
            sender.send(LIST, 0.3)


@pytest.mark.parametrize("content", [None, "", "no certificate"])
def test_a_bad_ca_path_is_one_sentence(content: str | None, tmp_path: Path) -> None:
    """A file that is missing, empty or something else is named with its option."""
    path = tmp_path / "authority.pem"
    if content is not None:
        path.write_text(content, encoding="ascii")
    with pytest.raises(errors.InvalidInput, match=r"^ca_path: .*authority\.pem can't be used"):
        sender_to("https://127.0.0.1:9", ca_path=str(path))


def test_plain_http_loads_no_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading the system's authorities costs more than a request; http does without."""
    loaded: list[object] = []
    load = ssl.SSLContext.load_default_certs

    def counted(context: ssl.SSLContext, *arguments: Any) -> None:
        loaded.append(context)
        load(context, *arguments)

    monkeypatch.setattr(ssl.SSLContext, "load_default_certs", counted)
    sender_to("http://127.0.0.1:9").close()
    assert loaded == []
    sender_to("https://127.0.0.1:9").close()
    assert len(loaded) == 1
