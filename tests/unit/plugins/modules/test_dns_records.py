# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the module makes of its options before it asks anybody, and without dnspython."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.postroom.email.plugins.modules import email_dns_records
from ansible_collections.postroom.email.tests.fakes.mail_api.quirky import (
    Quirks,
    QuirkyService,
    domain,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import ScriptedServer
from ansible_collections.postroom.email.tests.support.clients import TOKEN
from ansible_collections.postroom.email.tests.support.modules import run_module

Serve = Callable[..., ScriptedServer]

SECRET = "c2VjcmV0LXRoYXQtbm9ib2R5LWtub3dzLTQ3MTE="
KEY = {"tsig_name": "mail", "tsig_secret": SECRET}
PACKAGE = "ansible_collections.postroom.email.plugins.module_utils."


def run(server: ScriptedServer, *, check: bool = False, **options: Any) -> dict[str, Any]:
    """Run the module against a server and return its result."""
    connection = {"api_url": server.url, "api_token": TOKEN, "domain": "example.com"}
    return run_module(email_dns_records.main, {**connection, **options}, check=check)


def no_server(option: str, text: str) -> str:
    """Return what is said of a name server that is none."""
    return (
        f"{option}: {text!r} is not a name server. Give a host name or an address, and the port "
        "where it is not 53, such as ns1.example.net, 192.0.2.1, 192.0.2.1:5353 or "
        "[2001:db8::1]:5353."
    )


def not_set(option: str) -> str:
    """Return what is said of a part of the key that is missing."""
    return (
        f"{option}: it is not set, and updates have to be signed. "
        "Set tsig_name and tsig_secret to the key that the name server knows."
    )


NO_RESOLVER = (
    "resolvers: 'dns.example.net' is not the address of a resolver. Give an address, and the port "
    "where it is not 53, such as 192.0.2.1, 192.0.2.1:5353 or [2001:db8::1]:5353."
)
NO_KEY_NAME = (
    "tsig_name: 'my key..name' cannot be the name of a key. Give the name that the name server "
    "knows the key by."
)
NO_BASE64 = (
    "tsig_secret: it is not base64. Give the secret as the name server's configuration has it."
)


def no_wait(seconds: int) -> str:
    """Return what is said of seconds that nobody can wait."""
    return f"wait_timeout: {seconds} can't be used. Give seconds from 0 to 604800."


VERIFIED: dict[str, Any] = {"state": "verified"}
PRESENT: dict[str, Any] = {"state": "present", **KEY}
ABSENT: dict[str, Any] = {"state": "absent", **KEY}
NO_SERVERS = ["", "ns1..example.net", "192.0.2.1:99999", "http://ns1.example.net", "192.0.2"]
BAD: list[tuple[dict[str, Any], str]] = [
    *(
        ({**VERIFIED, "nameservers": ["a.b", no]}, no_server("nameservers", no))
        for no in NO_SERVERS
    ),
    ({**VERIFIED, "resolvers": ["dns.example.net"]}, NO_RESOLVER),
    ({**PRESENT, "resolvers": ["dns.example.net"]}, NO_RESOLVER),
    *(({**VERIFIED, "wait_timeout": no}, no_wait(no)) for no in (-1, 604801)),
    ({**PRESENT, "update_server": "ns1 example"}, no_server("update_server", "ns1 example")),
    *(({**PRESENT, option: ""}, not_set(option)) for option in KEY),
    *(({**ABSENT, option: None}, not_set(option)) for option in KEY),
    ({**PRESENT, "tsig_name": "my key..name"}, NO_KEY_NAME),
    ({**PRESENT, "tsig_secret": "certainly not base64!"}, NO_BASE64),
    ({**PRESENT, "ttl": -1}, "ttl: -1 is out of range. Give seconds from 0 to 2147483647."),
]


@pytest.mark.parametrize("row", range(len(BAD)))
def test_bad_options_are_one_sentence_and_no_request(row: int, serve: Serve) -> None:
    """Neither the service nor a name server is asked, and no secret is told."""
    options, says = BAD[row]
    server = serve(QuirkyService(Quirks(), domain("example.com")))
    result = run(server, **options)
    assert (result["failed"], result["msg"]) == (True, says)
    assert result["failure"] == {"kind": "InvalidInput"}
    assert server.requests == []
    assert SECRET not in str(result)


@pytest.mark.parametrize("option", ["state", "tsig_algorithm"])
def test_choices_are_kept_to(option: str, serve: Serve) -> None:
    """By Ansible itself, which names them."""
    server = serve(QuirkyService(Quirks(), domain("example.com")))
    result = run(server, **{**PRESENT, option: "hmac-md5"})
    assert f"value of {option} must be one of:" in result["msg"]


def test_a_domain_that_is_not_registered(serve: Serve) -> None:
    """Nobody but the service is asked; to withdraw its records is no change."""
    server = serve(QuirkyService(Quirks()))
    refused = "example.com is not registered in this tenant. Register it first."
    for state in ("retrieved", "verified", "present"):
        assert run(server, **{**PRESENT, "state": state})["msg"] == refused
        foretold = run(server, check=True, **{**PRESENT, "state": state})
        assert (foretold["failed"], foretold["changed"], foretold["records"]) == (False, False, [])
        assert refused in str(foretold["warnings"])
    for check in (True, False):
        gone = run(server, check=check, **{**PRESENT, "state": "absent"})
        assert (gone["failed"], gone["changed"], gone["changes"]) == (False, False, [])
        assert "so what to withdraw is not known" in str(gone["warnings"])
    found = run(server, check=True, state="verified")
    assert (found["verified"], found["stage"]) == (False, "unknown")


def test_nothing_to_wait_for_is_a_warning(serve: Serve) -> None:
    """Where and how name servers are asked may be set for all states, and is passed over."""
    server = serve(QuirkyService(Quirks(), domain("example.com")))
    common: dict[str, Any] = {**KEY, "nameservers": ["192.0.2.1"], "wait_timeout": 5}
    said = "wait: with state retrieved nothing is waited for. Use it with verified or present."
    assert said in str(run(server, wait=True, **common)["warnings"])
    assert not run(server, **common).get("warnings")
    empty = serve(QuirkyService(Quirks()))
    gone = run(empty, **{**ABSENT, "wait": True})
    assert "wait: with state absent nothing is waited for." in str(gone["warnings"])


@pytest.fixture
def _without_dnspython(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let dnspython be missing for what is imported from now on."""
    for name in list(sys.modules):
        if name.startswith(("dns.", PACKAGE + "_dns_states", PACKAGE + "_api.nameservers")):
            monkeypatch.delitem(sys.modules, name)
        if name.startswith((PACKAGE + "_api.applying.", PACKAGE + "_dns_records")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "dns", None)


@pytest.mark.usefixtures("_without_dnspython")
def test_retrieving_does_without_dnspython(serve: Serve) -> None:
    """It imports nothing that speaks to name servers."""
    server = serve(QuirkyService(Quirks(), domain("example.com")))
    assert run(server)["records"]
    assert not any(name.startswith(PACKAGE + "_api.nameservers") for name in sys.modules)


@pytest.mark.usefixtures("_without_dnspython")
@pytest.mark.parametrize("state", ["verified", "present", "absent"])
def test_missing_dnspython_is_named(state: str, serve: Serve) -> None:
    """With Ansible's own words for it, before anybody is asked."""
    server = serve(QuirkyService(Quirks(), domain("example.com")))
    result = run(server, state=state)
    assert "Failed to import the required Python library (dnspython)" in result["msg"]
    assert server.requests == []
