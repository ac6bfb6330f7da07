# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What email_info returns, as facts and as a definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.postroom.email.plugins.modules import email_info
from ansible_collections.postroom.email.tests.fakes.mail_api.quirky import (
    Quirks,
    QuirkyService,
    domain,
    forwarder,
    mailbox,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import ScriptedServer
from ansible_collections.postroom.email.tests.support.clients import TOKEN
from ansible_collections.postroom.email.tests.support.modules import run_module

Serve = Callable[..., ScriptedServer]

GROUP = {"name": "staff@example.com", "type": "group", "emails": ["staff@example.com"]}
PRINCIPALS = (
    domain("example.com"),
    domain("example.org"),
    mailbox("zoe@example.org"),
    mailbox("alice@example.com", "sales@example.org", "info@example.com"),
    forwarder("team@example.com", "zoe@example.org", "alice@example.com"),
)
ALICE = {"name": "alice@example.com", "aliases": ["info@example.com", "sales@example.org"]}
ZOE: dict[str, Any] = {"name": "zoe@example.org", "aliases": []}
TEAM: dict[str, Any] = {
    "name": "team@example.com",
    "members": ["alice@example.com", "zoe@example.org"],
    "aliases": [],
}


def info(serve: Serve, *more: dict[str, Any], **options: Any) -> dict[str, Any]:
    """Return the result of email_info over a tenant, with more in it if there is."""
    service = QuirkyService(None, *({**principal} for principal in (*PRINCIPALS, *more)))
    connection = {"api_url": serve(service).url, "api_token": TOKEN}
    result = run_module(email_info.main, {**connection, **options})
    assert not result["failed"], result
    return {key: value for key, value in result.items() if key != "invocation"}


DEFINITIONS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (
        {},
        {
            "domains": ["example.com", "example.org"],
            "mailboxes": [ALICE, ZOE],
            "forwarders": [TEAM],
        },
    ),
    # What is on the domain, and all of it: also aliases elsewhere.
    (
        {"domains": ["Example.com"]},
        {"domains": ["example.com"], "mailboxes": [ALICE], "forwarders": [TEAM]},
    ),
    ({"kinds": ["forwarder"]}, {"forwarders": [TEAM]}),
    ({"kinds": ["mailbox"], "domains": ["example.org"]}, {"mailboxes": [ZOE]}),
    ({"domains": []}, {"domains": [], "mailboxes": [], "forwarders": []}),
    ({"name": "zoe@example.org"}, {"domains": [], "mailboxes": [ZOE], "forwarders": []}),
    ({"name": "none.example", "kinds": ["domain"]}, {"domains": []}),
]


@pytest.mark.parametrize("row", range(len(DEFINITIONS)))
def test_a_definition_holds_what_was_asked_for(row: int, serve: Serve) -> None:
    """And nothing else is returned: the lists of facts are not there."""
    options, definition = DEFINITIONS[row]
    result = info(serve, **{**options, "as": "definition"})
    assert result == {"changed": False, "failed": False, "definition": definition}


def test_what_a_definition_lacks_is_warned_of(serve: Serve) -> None:
    """The one group of the tenant is named; facts never listed it, and don't warn."""
    result = info(serve, GROUP, **{"as": "definition"})
    assert len(result["warnings"]) == 1
    assert "staff@example.com is a group" in str(result["warnings"])
    assert "warnings" not in info(serve, GROUP)


def test_a_definition_of_a_part_of_the_tenant_is_refused(serve: Serve) -> None:
    """Where the service's list is cut short without a word, which a list by type gives away."""
    principals = [domain("example.com"), *(mailbox(f"m{n}@example.com") for n in range(4))]
    service = QuirkyService(Quirks(page_rows=4, pages="silent"), *principals)
    arguments = {"api_url": serve(service).url, "api_token": TOKEN, "as": "definition"}
    result = run_module(email_info.main, arguments)
    assert result["failed"]
    assert result["failure"]["kind"] == "BadAnswer"


def test_facts_are_lists_by_kind(serve: Serve) -> None:
    """Which is what comes where nothing else was asked for."""
    result = info(serve)
    assert "definition" not in result
    assert [one["name"] for one in result["domains"]] == ["example.com", "example.org"]
    assert result["mailboxes"] == [ALICE, ZOE]
    assert result["forwarders"] == [TEAM]
