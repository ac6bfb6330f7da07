# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What goes over the wire, where it goes to, and where it does not go."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.postroom.email.plugins.module_utils import _api
from ansible_collections.postroom.email.plugins.module_utils._api import errors
from ansible_collections.postroom.email.plugins.module_utils._api.models import (
    Domain,
    Forwarder,
    Mailbox,
)
from ansible_collections.postroom.email.plugins.module_utils._api.names import (
    Name,
    parse_address,
    parse_domain,
    read_name,
)
from ansible_collections.postroom.email.plugins.module_utils._api.wire import calls
from ansible_collections.postroom.email.plugins.module_utils._api.wire.sender import Sender
from ansible_collections.postroom.email.tests.fakes.mail_api.quirky import (
    QuirkyService,
    domain,
    mailbox,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import (
    Reply,
    Request,
    json_reply,
    redirect,
)
from ansible_collections.postroom.email.tests.support.clients import (
    TOKEN,
    client_over,
    sender_to,
)

Serve = Callable[..., Any]
Open = Callable[..., Sender]

HOME = parse_domain("example.com")
ALICE = parse_address("alice@example.com")


@pytest.fixture
def open_sender() -> Iterator[Open]:
    """Make senders whose connections end with the test."""
    with ExitStack() as stack:

        def make(url: str, **options: Any) -> Sender:
            sender = sender_to(url, **options)
            stack.callback(sender.close)
            return sender

        yield make


def stored(_request: Request) -> Reply:
    """Answer anything."""
    return json_reply({"name": "x"})


BODIES = [
    (calls.create(Domain(parse_domain("Bücher.Example"))),
     {"name": "xn--bcher-kva.example", "type": "domain"}),
    (calls.create(Mailbox(ALICE, frozenset({read_name("b@example.com")})), ("one", "zwö")),
     {"name": "alice@example.com", "type": "individual",
      "emails": ["alice@example.com", "b@example.com"], "secrets": ["one", "zwö"]}),
    (calls.create(Forwarder(ALICE, frozenset(), frozenset({read_name("Z@Else.example")}))),
     {"name": "alice@example.com", "type": "individual", "emails": ["alice@example.com"],
      "members": ["z@else.example"]}),
    (calls.update(ALICE, addresses=frozenset()), {"emails": ["alice@example.com"]}),
    (calls.update(ALICE, members=frozenset({read_name("b@c.example")})),
     {"members": ["b@c.example"]}),
    (calls.update(ALICE, secrets=("new",)), {"secrets": ["new"]}),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(BODIES)))
def test_a_write_sends_what_the_contract_shows(
    number: int, serve: Serve, open_sender: Open
) -> None:
    """The body is exactly that, as JSON, with the token and the two headers."""
    call, body = BODIES[number]
    server = serve(stored)
    open_sender(server.url).send(call, 5.0)
    (request,) = server.requests
    assert request.json == body
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["accept"] == "application/json"


SEGMENTS = {
    "alice@example.com": "alice%40example.com",
    "a/b@example.com": "a%2Fb%40example.com",
    "100%@example.com": "100%25%40example.com",
    "a%2f..%2f@example.com": "a%252f..%252f%40example.com",
    "a?b#c&d=e+f@example.com": "a%3Fb%23c%26d%3De%2Bf%40example.com",
    "..": "%2E%2E",
    ".": "%2E",
    "../../admin": "..%2F..%2Fadmin",
    "xn--bcher-kva.example": "xn--bcher-kva.example",
    "a b;c@example.com": "a%20b%3Bc%40example.com",
}


@pytest.mark.parametrize("name", SEGMENTS)
def test_a_name_is_one_segment_of_the_path(name: str, serve: Serve, open_sender: Open) -> None:
    """No character of a name gets out of its segment; this is what the server received."""
    server = serve(stored)
    sender = open_sender(server.url)
    subject = Name(name, name)
    for call in (calls.get(subject), calls.delete(subject), calls.dns_records(subject)):
        sender.send(call, 5.0)
    segment = SEGMENTS[name]
    assert [request.target for request in server.requests] == [
        f"/api/principal/{segment}", f"/api/principal/{segment}", f"/api/dns/{segment}",
    ]  # fmt: skip


def test_a_read_sends_no_body(serve: Serve, open_sender: Open) -> None:
    """Neither a body nor its type."""
    server = serve(stored)
    open_sender(server.url).send(calls.get(ALICE), 5.0)
    assert "content-type" not in server.requests[0].headers
    assert server.requests[0].body == b""


def test_a_base_path_is_kept(serve: Serve, open_sender: Open) -> None:
    """A service behind a prefix is spoken to behind it."""
    server = serve(stored)
    open_sender(f"{server.url}/mail/v2/").send(calls.list_page(), 5.0)
    assert server.lines == ["GET /mail/v2/api/principal"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_no_redirect_is_followed(method: str, status: int, serve: Serve, open_sender: Open) -> None:
    """Another origin never sees the token; the error names where the redirect leads."""
    other = serve(stored)
    server = serve(lambda request: redirect(f"{other.url}{request.target}", status))
    client = client_over(open_sender(server.url))
    actions: dict[str, Callable[[], object]] = {
        "GET": lambda: client.find(ALICE),
        "POST": lambda: client.create(Mailbox(ALICE), ("pw-8Kd!q0-Zebra",)),
        "DELETE": lambda: client.delete(ALICE),
    }
    with pytest.raises(errors.BadAnswer, match=f"redirects to {other.url}"):
        actions[method]()
    assert not other.requests


def test_proxies_of_the_environment_are_honoured(
    serve: Serve, open_sender: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proxy gets the whole address; a host of NO_PROXY is spoken to directly."""
    proxy, direct = serve(stored), serve(stored)
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    call = calls.list_page()
    open_sender("http://mail.example.test", trust_env=True).send(call, 5.0)
    open_sender(direct.url, trust_env=True).send(call, 5.0)
    assert proxy.lines == ["GET http://mail.example.test/api/principal"]
    assert direct.lines == ["GET /api/principal"]


def test_a_proxy_that_hangs_is_ended_by_the_deadline(
    serve: Serve, open_sender: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What holds for the service holds for a proxy before it."""
    proxy = serve(lambda _: Reply(200, b"{}", {"X": "x" * 900}, drip=0.02, drip_head=True))
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    with pytest.raises(errors.ConnectionBroken):
        open_sender("http://mail.example.test", trust_env=True).send(calls.list_page(), 0.3)
    assert proxy.completed == 0


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:9", "gopher://127.0.0.1:9"])
def test_a_proxy_that_cannot_be_used_is_named(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence about the proxy, and not one about httpx missing."""
    monkeypatch.setenv("HTTP_PROXY", proxy)
    with pytest.raises(errors.InvalidInput, match="proxy"):
        sender_to("http://mail.example.test", trust_env=True)


BAD_URLS = [
    "", "mail.example.com", "ftp://mail.example.com", "https://", "https://:443", "http://[::1",
    "http://mail.example.com:99999", "http://mail.example.com:0", "http://u:Zq8pw@mail.example.com",
    "https://u:Zq8pw@mail.example.com:99999",
    "https://mail.example.com/?key=1", "https://mail.example.com/#top", "https://mail example.com",
    "https://mail.example.com/\x00", "https://mail\n.example.com", "https://xn--zzzzzz-.example",
]  # fmt: skip


@pytest.mark.parametrize("url", BAD_URLS)
def test_a_bad_address_is_one_sentence(url: str) -> None:
    """It names the option and the remedy, and repeats no password."""
    with pytest.raises(errors.InvalidInput, match=r"^api_url: .*https://mail\.example\.com") as bad:
        sender_to(url)
    assert "Zq8pw" not in str(bad.value)


@pytest.mark.parametrize("token", ["", "two words", "line\nbreak", "tök", "tab\t", "\x7f"])
def test_a_bad_token_is_one_sentence(token: str) -> None:
    """It names the option and not the token."""
    with pytest.raises(errors.InvalidInput, match=r"^api_token: ") as caught:
        Sender("http://127.0.0.1:9", token)
    assert not token or token not in str(caught.value)


def test_a_thousand_calls_over_one_sender(serve: Serve, open_sender: Open) -> None:
    """Sixteen threads share it, each with its own answers and no connection twice."""
    names = [f"box{number}@example.com" for number in range(200)]
    service = QuirkyService(None, domain("example.com"), *map(mailbox, names))
    server = serve(service)
    client = client_over(open_sender(server.url))
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda name: client.find(parse_address(name)), names * 5))
    assert [str(principal.name) for principal in found if principal] == names * 5
    assert server.connections <= 16


def test_the_shortest_deadline_is_a_threads_own(serve: Serve, open_sender: Open) -> None:
    """A thread whose time runs out does not end another one's request."""

    def answer(request: Request) -> Reply:
        return Reply(200, request.target.encode(), drip=0.02)

    sender = open_sender(serve(answer).url)
    with ThreadPoolExecutor(2) as pool:
        patient = pool.submit(sender.send, calls.list_page("/patient"), 30.0)
        hasty = pool.submit(sender.send, calls.list_page("/hasty-and-long"), 0.1)
    assert patient.result().body == b"/patient"
    assert isinstance(hasty.exception(), errors.ConnectionBroken)


IMPORTS = """
import sys
sys.path.insert(0, sys.argv[1])
from ansible_collections.postroom.email.plugins.module_utils._api.wire.sender import Sender
Sender("http://127.0.0.1:9", "tok").close()
assert not {"click", "rich", "pygments"} & set(sys.modules), "its command line was imported"
import httpx
assert callable(httpx.main) and httpx.Client
assert "httpx._main" not in sys.modules
"""


def test_httpx_can_be_imported_by_others_afterwards() -> None:
    """Its command line is hidden from the import and from nothing later."""
    root = Path(next(iter(_api.__path__))).parents[5]
    subprocess.run([sys.executable, "-c", IMPORTS, str(root)], check=True)
