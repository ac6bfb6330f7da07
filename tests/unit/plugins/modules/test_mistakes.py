# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What a module must not take for what it looks like: passwords, silence and half a success."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.postroom.email.plugins.modules import (
    email_dns_records,
    email_domain,
    email_info,
    email_mailbox,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.quirky import (
    Quirks,
    QuirkyService,
    domain,
    mailbox,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import ScriptedServer, problem
from ansible_collections.postroom.email.tests.support.clients import TOKEN
from ansible_collections.postroom.email.tests.support.modules import Main, run_module

Serve = Callable[..., ScriptedServer]

PASSWORD = "pw-8Kd!q0-Zebra"
MAIN: dict[str, Main] = {
    "dns_records": email_dns_records.main,
    "domain": email_domain.main,
    "info": email_info.main,
    "mailbox": email_mailbox.main,
}


def run(
    server: ScriptedServer, module: str, options: dict[str, Any], *, check: bool = False
) -> dict[str, Any]:
    """Run a module against a server and return its result."""
    connection = {"api_url": server.url, "api_token": TOKEN}
    return run_module(MAIN[module], {**connection, **options}, check=check)


def test_a_single_password_is_one_whatever_is_in_it(serve: Serve) -> None:
    """A string is not cut at its commas, nor read as a list."""
    for text in ("correct,horse battery-Zq8", '["x-Zq8","y-Zq8"]'):
        server = serve(QuirkyService(None, domain("example.com")))
        assert run(server, "mailbox", {"name": "a@example.com", "passwords": text})["changed"]
        assert [r.json["secrets"] for r in server.requests if r.method == "POST"] == [[text]]


@pytest.mark.parametrize("value", [[["first-Zq8", "second-Zq8"]], {"pw": "Zq8"}, True, [7], [None]])
def test_what_is_no_password_is_refused(value: Any, serve: Serve) -> None:
    """A list in a list, a map, a number or a truth value is a slip in the variables."""
    server = serve(QuirkyService(None, domain("example.com")))
    result = run(server, "mailbox", {"name": "a@example.com", "passwords": value})
    assert result["msg"].startswith("passwords: entry 1 of 1 is not text. Give a string")
    assert "Zq8" not in result["msg"]
    assert server.requests == []


def test_lists_and_passwords_go_in_one_request(serve: Serve) -> None:
    """So that the service refuses or takes both."""
    service = QuirkyService(None, domain("example.com"), mailbox("alice@example.com"))
    service.disturb("PATCH", problem(422, "too long"))
    arguments = {
        "name": "alice@example.com", "aliases": ["new@example.com"],
        "passwords": [PASSWORD], "update_password": "always",
    }  # fmt: skip
    server = serve(service)
    result = run(server, "mailbox", arguments)
    assert (result["failed"], result["changed"], len(server.writes)) == (True, False, 1)
    assert run(server, "mailbox", arguments)["changed"]
    assert set(server.requests[-2].json or ()) == {"emails", "secrets"}


def test_a_failure_after_the_write_says_that_it_was_written(serve: Serve) -> None:
    """The POST was answered with its id only, and then nothing was."""
    service = QuirkyService(Quirks(create_answers_id=True, envelope=True), domain("example.com"))
    service.disturb("GET", problem(500), skip=2, times=9)
    result = run(serve(service), "mailbox", {"name": "a@example.com", "passwords": [PASSWORD]})
    assert (result["failed"], result["changed"]) == (True, True)
    assert "a@example.com was written, but how it stands now is not known." in result["msg"]
    assert [change["name"] for change in result["changes"]] == ["a@example.com"]


def test_check_mode_foretells_records_of_a_domain_to_come(serve: Serve) -> None:
    """With a warning and no records, where a real run says what to do first."""
    server = serve(QuirkyService(None, domain("other.example")))
    foretold = run(server, "dns_records", {"domain": "example.com"}, check=True)
    assert (foretold["failed"], foretold["records"], foretold["zone"]) == (False, [], "")
    result = run(server, "dns_records", {"domain": "example.com"})
    assert result["msg"] == "example.com is not registered in this tenant. Register it first."


def test_a_wrong_path_is_not_an_absent_object(serve: Serve) -> None:
    """Where everything is a not-found, nothing is known of the tenant."""
    server = serve(lambda request: problem(404, "There is nothing at this path."))
    for module, arguments in {
        "mailbox": {"name": "a@example.com", "state": "absent"},
        "domain": {"name": "example.com", "state": "absent"},
        "info": {"name": "example.com"},
        "dns_records": {"domain": "example.com"},
    }.items():
        result = run(server, module, arguments)
        assert result["failed"], module
        assert "check api_url" in result["msg"]
