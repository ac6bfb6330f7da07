# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The transport: exact requests, their origin, TLS verification and deadlines."""

from __future__ import annotations

import gc
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api import errors, models
from ansible_collections.postroom.email.plugins.module_utils._api.client import endpoints as calls
from ansible_collections.postroom.email.plugins.module_utils._api.client.transport import Transport
from ansible_collections.postroom.email.plugins.module_utils._api.names import (
    Name,
    parse_address,
    parse_domain,
    read_name,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import (
    Reply,
    Request,
    ScriptedServer,
    json_reply,
    redirect,
    scripted,
)
from ansible_collections.postroom.email.tests.support.certificates import Authority
from ansible_collections.postroom.email.tests.support.clients import (
    TOKEN,
    Serve,
    client_over,
    transport_to,
)
from ansible_collections.postroom.email.tests.support.loopback import free_port

Open = Callable[..., Transport]

ALICE = parse_address("alice@example.com")
LIST = calls.list_page()
SLOW = Reply(200, b"{}", {"X-Filler": "x" * 900}, drip=0.02, drip_head=True)


@pytest.fixture
def open_transport() -> Iterator[Open]:
    """Provide a function that opens transports, which are closed when the test ends."""
    with ExitStack() as stack:

        def make(url: str, **options: Any) -> Transport:
            transport = transport_to(url, **options)
            stack.callback(transport.close)
            return transport

        yield make


def stored(_request: Request) -> Reply:
    """Respond to any request with success."""
    return json_reply({"name": "x"})


OTHER = frozenset({read_name("Z@Else.example")})
PERSON = {"name": "alice@example.com", "type": "individual"}
BODIES = [
    (
        calls.create(models.Domain(parse_domain("Bücher.Example"))),
        {"name": "xn--bcher-kva.example", "type": "domain"},
    ),
    (
        calls.create(models.Mailbox(ALICE, OTHER), ("one", "zwö")),
        {**PERSON, "emails": ["alice@example.com", "z@else.example"], "secrets": ["one", "zwö"]},
    ),
    (
        calls.create(models.Forwarder(ALICE, frozenset(), OTHER)),
        {**PERSON, "emails": ["alice@example.com"], "members": ["z@else.example"]},
    ),
    (
        calls.update(models.Mailbox(ALICE, OTHER), models.Mailbox(ALICE)),
        {"emails": ["alice@example.com"]},
    ),
    (
        calls.update(models.Forwarder(ALICE), models.Forwarder(ALICE, members=OTHER)),
        {"members": ["z@else.example"]},
    ),
    (
        calls.update(models.Mailbox(ALICE), models.Mailbox(ALICE), ("new",)),
        {"secrets": ["new"]},
    ),
]


@pytest.mark.parametrize("number", range(len(BODIES)))
def test_a_write_sends_the_contract_s_body(number: int, serve: Serve, open_transport: Open) -> None:
    """A write sends exactly the body in the contract, with the token and the right headers."""
    call, body = BODIES[number]
    server = serve(stored)
    open_transport(server.url).send(call, 5.0)
    (request,) = server.requests
    assert request.json == body
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["accept"] == "application/json"


SEGMENTS = {
    "a/b@example.com": "a%2Fb%40example.com",
    "a%2f..%2f@example.com": "a%252f..%252f%40example.com",
    "a?b#c&d=e+f@example.com": "a%3Fb%23c%26d%3De%2Bf%40example.com",
    "..": "%2E%2E",
    "../../admin": "..%2F..%2Fadmin",
}


@pytest.mark.parametrize("name", SEGMENTS)
def test_a_name_is_one_segment_of_the_path(name: str, serve: Serve, open_transport: Open) -> None:
    """A name is always encoded as one segment of the path."""
    server = serve(stored)
    transport = open_transport(server.url)
    subject = Name(name, name)
    for call in (calls.get(subject), calls.delete(subject), calls.dns_records(subject)):
        transport.send(call, 5.0)
    segment = SEGMENTS[name]
    assert [request.target for request in server.requests] == [
        f"/api/principal/{segment}",
        f"/api/principal/{segment}",
        f"/api/dns/{segment}",
    ]


def test_a_read_sends_no_body_and_keeps_the_base_path(serve: Serve, open_transport: Open) -> None:
    """A GET has no body, and the path in api_url comes before the request's path."""
    server = serve(stored)
    open_transport(f"{server.url}/mail/v2/").send(LIST, 5.0)
    (request,) = server.requests
    assert request.line == "GET /mail/v2/api/principal"
    assert "content-type" not in request.headers
    assert request.body == b""


@pytest.mark.parametrize("status", [302, 307, 308])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_no_redirect_is_followed(
    method: str, status: int, serve: Serve, open_transport: Open
) -> None:
    """Redirects are not followed, so that another origin never receives the token."""
    other = serve(stored)
    server = serve(lambda request: redirect(f"{other.url}{request.target}", status))
    client = client_over(open_transport(server.url))
    actions: dict[str, Callable[[], object]] = {
        "GET": lambda: client.find(ALICE),
        "POST": lambda: client.create(models.Mailbox(ALICE), ("pw-8Kd!q0-Zebra",)),
    }
    with pytest.raises(errors.BadAnswer, match=f"set api_url to {other.url}[.]"):
        actions[method]()
    assert not other.requests


@pytest.mark.parametrize(
    ("form", "no_proxy"),
    [
        ("http://{}", "127.0.0.1"),
        ("{}", "other.example,127.0.0.1"),
        # httpx also accepts URLs in this variable, but urllib ignores them.
        ("http://user:Zq8pw@{}", "http://127.0.0.1"),
    ],
)
def test_proxies_of_the_environment_are_honoured(
    serve: Serve, open_transport: Open, monkeypatch: pytest.MonkeyPatch, form: str, no_proxy: str
) -> None:
    """Proxies from the environment are used, except for hosts in NO_PROXY."""
    proxy, direct = serve(stored), serve(stored)
    monkeypatch.setenv("HTTP_PROXY", form.format(proxy.url.removeprefix("http://")))
    monkeypatch.setenv("NO_PROXY", no_proxy)
    open_transport("http://mail.example.test", trust_env=True).send(LIST, 5.0)
    open_transport(direct.url, trust_env=True).send(LIST, 5.0)
    assert proxy.lines == ["GET http://mail.example.test/api/principal"]
    assert direct.lines == ["GET /api/principal"]
    assert ("proxy-authorization" in proxy.requests[0].headers) == ("@" in form)
    proxy.handler = lambda _: SLOW
    with pytest.raises(errors.ConnectionBroken):
        open_transport("http://mail.example.test", trust_env=True).send(LIST, 0.3)
    assert proxy.completed == 1


def test_an_unusable_proxy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error for an unusable proxy names the environment variables."""
    monkeypatch.setenv("HTTP_PROXY", "gopher://127.0.0.1:9")
    with pytest.raises(errors.InvalidInput, match=r"proxy .*HTTP_PROXY"):
        transport_to("http://mail.example.test", trust_env=True)


BAD_URLS = [
    "mail.example.com",
    "ftp://mail.example.com",
    "http://[::1",
    "http://mail.example.com:99999",
    "https://u:Zq8pw@mail.example.com",
    "https://mail.example.com/?key=1",
    "https://mail.example.com/#top",
    "https://mail\n.example.com",
    "https://xn--zzzzzz-.example",
]


@pytest.mark.parametrize("url", BAD_URLS)
def test_a_bad_address_is_one_sentence(url: str) -> None:
    """The error for a bad address names the option and the remedy, but shows no password."""
    with pytest.raises(errors.InvalidInput, match=r"^api_url: .*https://mail\.example\.com") as bad:
        transport_to(url)
    assert "Zq8pw" not in str(bad.value)


@pytest.mark.parametrize("path", ["/api/principal", "/mail/api/dns/a.example", "/api/", "/api/v1"])
def test_the_path_of_the_api_is_refused(path: str) -> None:
    """If api_url includes the API's path, the error names the part to remove."""
    with pytest.raises(errors.InvalidInput, match=r"^api_url: remove /api"):
        transport_to(f"https://mail.example.com{path}")
    with pytest.raises(errors.InvalidInput) as caught:
        transport_to(f"https://user:Zq8pw@mail.example.com{path}?token=Zq8pw")
    assert "Zq8pw" not in str(caught.value)


def test_a_dead_proxy_is_named(open_transport: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error for an unreachable proxy names it and its variables, but shows no password."""
    proxy = f"127.0.0.1:{free_port()}"
    monkeypatch.setenv("HTTP_PROXY", f"http://user:Zq8pw@{proxy}")
    transport = open_transport("http://mail.example.test", trust_env=True)
    with pytest.raises(errors.Unreachable, match=f"{proxy}.*HTTP_PROXY") as caught:
        transport.send(LIST, 5.0)
    assert "Zq8pw" not in str(caught.value)


@pytest.mark.parametrize("token", ["", "two words", "line\nbreak", "tök"])
def test_a_bad_token_is_one_sentence(token: str) -> None:
    """The error for a bad token names the option, but does not show the token."""
    with pytest.raises(errors.InvalidInput, match=r"^api_token: ") as caught:
        Transport("http://127.0.0.1:9", token)
    assert not token or token not in str(caught.value)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Provide a certificate authority that no system trusts."""
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def server(authority: Authority) -> Iterator[ScriptedServer]:
    """Serve HTTPS with a certificate from that authority."""
    with scripted(stored, tls=authority.serves("IP:127.0.0.1")) as serving:
        yield serving


def test_only_the_authority_of_ca_path_is_trusted(
    server: ScriptedServer, authority: Authority, tmp_path: Path, open_transport: Open
) -> None:
    """Only the authority in ca_path is trusted, and the token is not sent to other servers."""
    other = Authority(tmp_path, "other")
    for url, options in (
        (server.url, {}),
        (server.url.replace("https", "HTTPS", 1), {}),
        (server.url, {"ca_path": str(other.path)}),
    ):
        with pytest.raises(errors.UntrustedCertificate, match="Set ca_path") as caught:
            client_over(open_transport(url, **options)).list_principals()
        assert not caught.value.transient
        assert TOKEN not in str(caught.value)
    assert server.requests == []
    open_transport(server.url, ca_path=str(authority.path)).send(LIST, 5.0)
    open_transport(server.url, verify=False).send(LIST, 5.0)
    assert server.lines == ["GET /api/principal"] * 2


def test_a_certificate_of_another_host_is_refused(
    authority: Authority, open_transport: Open
) -> None:
    """A trusted certificate for another host name is refused."""
    with scripted(stored, tls=authority.serves("DNS:mail.example.com")) as other:
        with pytest.raises(errors.UntrustedCertificate, match="api_url"):
            open_transport(other.url, ca_path=str(authority.path)).send(LIST, 5.0)
        assert other.requests == []


def test_a_deadline_holds_within_tls(
    server: ScriptedServer, authority: Authority, open_transport: Open
) -> None:
    """The deadline also ends a TLS handshake and a slow response over TLS."""
    server.handler = lambda _: SLOW
    with pytest.raises(errors.ConnectionBroken):
        open_transport(server.url, ca_path=str(authority.path)).send(LIST, 0.3)
    assert server.completed == 0
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(errors.ServiceError):
            open_transport(url, verify=False).send(LIST, 0.3)


def test_close_during_a_call(serve: Serve) -> None:
    """A call in progress gets its response, and then its connection is also closed."""
    opened: list[Transport] = []

    def close_first(_request: Request) -> Reply:
        opened[0].close()
        return json_reply([])

    opened.append(transport_to(serve(close_first).url))
    assert opened[0].send(LIST, 5.0).status == 200
    # Freeing an open connection fails this test with a ResourceWarning.
    opened.clear()
    gc.collect()


def test_a_bad_ca_path_is_refused(tmp_path: Path) -> None:
    """The error for a ca_path that is missing or has no certificate names the option."""
    (tmp_path / "authority.pem").write_text("no certificate", encoding="ascii")
    for path in (tmp_path / "authority.pem", tmp_path / "missing" / "authority.pem"):
        with pytest.raises(errors.InvalidInput, match=r"^ca_path: .*authority\.pem"):
            transport_to("https://127.0.0.1:9", ca_path=str(path))
