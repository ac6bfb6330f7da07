# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Where some changes fail, the result tells what became of each object, and a next run goes on."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

import pytest

from ansible_collections.postroom.email.tests.fakes.mail_api.quirky import (
    QuirkyService,
    domain,
    forwarder,
    mailbox,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import (
    Reply,
    Request,
    ScriptedServer,
    problem,
    scripted,
)
from ansible_collections.postroom.email.tests.support.modules import run_module
from ansible_collections.postroom.email.tests.support.site import MODULES

ANN, BOB, OLD, TEAM = (f"{name}@one.example" for name in ("ann", "bob", "old", "team"))
NEW, NEWER = "new@two.example", "newer@two.example"
DECLARED: dict[str, Any] = {
    "domains": ["two.example", {"name": "three.example", "state": "absent"}],
    "mailboxes": [
        {"name": ANN, "aliases": ["hello@one.example"]},
        {"name": OLD, "state": "absent"},
        {"name": NEW, "aliases": ["info@one.example"]},
        NEWER,
        "fine0@one.example",
    ],
    "forwarders": [{"name": TEAM, "members": [ANN, BOB]}],
    "passwords": dict.fromkeys([NEW, NEWER, "fine0@one.example"], "correct-horse/battery#staple"),
}
EVERY = {"two.example", "three.example", ANN, BOB, OLD, NEW, NEWER, "fine0@one.example", TEAM}


class Failing:
    """A service that fails for some requests, each told by method and name, with a status."""

    def __init__(self) -> None:
        self.service = QuirkyService(
            None,
            domain("one.example"),
            domain("three.example"),
            mailbox(ANN),
            mailbox(BOB, "info@one.example"),
            mailbox(OLD),
            forwarder(TEAM, ANN),
        )
        self.failing: Mapping[tuple[str, str], int] = {}

    def __call__(self, request: Request) -> Reply:
        """Answer one request."""
        name = unquote(request.target.rpartition("/")[2])
        if request.method == "POST":
            name = request.json["name"]
        status = self.failing.get((request.method, name))
        return problem(status, "It is ill.") if status else self.service(request)


@pytest.fixture
def failing() -> Failing:
    """Return a service that holds something of each kind."""
    return Failing()


@pytest.fixture
def server(failing: Failing) -> Iterator[ScriptedServer]:
    """Run it."""
    with scripted(failing) as server:
        yield server


#: Whose aliases are not declared keeps them.
GIVER = {"name": BOB, "aliases": []}


def run(server: ScriptedServer, **options: Any) -> dict[str, Any]:
    """Run the module against it, with the mailbox declared that gives its alias away."""
    main = importlib.import_module(f"{MODULES}.email_tenant").main
    access = {"api_url": server.url, "api_token": "any", "retries": 1, "timeout": 20}
    return run_module(main, {**access, **DECLARED, "mailboxes": [*DECLARED["mailboxes"], GIVER],
                             **options})  # fmt: skip


def outcomes(result: Mapping[str, Any]) -> dict[str, str]:
    """Return what became of each object, by name; each is there once."""
    rows = [(row["name"], row["outcome"]) for row in result["results"]]
    assert len(dict(rows)) == len(rows)
    return dict(rows)


def assert_finished(server: ScriptedServer, failing: Failing) -> None:
    """Assert that the next run does the rest, and the one after it nothing."""
    failing.failing = {}
    result = run(server)
    assert not result["failed"], result["msg"]
    assert run(server)["changed"] is False
    held = {name: set(row.get("emails", ())) for name, row in failing.service.principals.items()}
    assert held == {
        "one.example": set(),
        "two.example": set(),
        ANN: {ANN, "hello@one.example"},
        BOB: {BOB},
        NEW: {NEW, "info@one.example"},
        NEWER: {NEWER},
        "fine0@one.example": {"fine0@one.example"},
        TEAM: {TEAM},
    }
    assert set(failing.service.principals[TEAM]["members"]) == {ANN, BOB}


@pytest.mark.parametrize("status", [422, 503])
@pytest.mark.parametrize(
    ("request_", "failed", "not_attempted"),
    [
        (("POST", "fine0@one.example"), {"fine0@one.example"}, set()),
        (("POST", "two.example"), {"two.example"}, {NEW, NEWER, BOB}),
        (("PATCH", ANN), {ANN}, set()),
        (("PATCH", TEAM), {TEAM}, set()),
        (("DELETE", OLD), {OLD}, set()),
        (("DELETE", "three.example"), {"three.example"}, set()),
        (("PATCH", BOB), {BOB}, {NEW}),
        (("POST", NEW), {NEW}, {BOB}),
    ],
)
def test_one_that_fails(
    server: ScriptedServer,
    failing: Failing,
    request_: tuple[str, str],
    failed: set[str],
    not_attempted: set[str],
    status: int,
) -> None:
    """It stops those that need it and no others; what was done stands and is told."""
    failing.failing = {request_: status}
    result = run(server)
    assert (result["failed"], result["changed"]) == (True, True)
    found = outcomes(result)
    assert found == {
        name: "failed"
        if name in failed
        else "not_attempted"
        if name in not_attempted
        else "changed"
        for name in EVERY
    }
    assert result["summary"]["failed"] == len(failed)
    assert result["summary"]["not_attempted"] == len(not_attempted)
    done = {name for name, outcome in found.items() if outcome == "changed"}
    assert {change["name"] for change in result["changes"]} == done
    assert request_[1] in result["msg"]
    # Nobody is without the address in between.
    assert (
        "info@one.example"
        in failing.service.principals[NEW if NEW in failing.service.principals else BOB]["emails"]
    )
    failing.failing = {}
    assert_finished(server, failing)


def test_several_that_fail(server: ScriptedServer, failing: Failing) -> None:
    """All of them are told, each with its own reason."""
    failing.failing = {("POST", NEWER): 422, ("DELETE", OLD): 403, ("PATCH", TEAM): 500}
    result = run(server)
    found = outcomes(result)
    assert {name for name, outcome in found.items() if outcome != "changed"} == {NEWER, OLD, TEAM}
    reasons = {row["name"]: row["reason"] for row in result["results"]}
    for (method, name), status in failing.failing.items():
        assert name in result["msg"], method
        assert str(status) in reasons[name]
    assert_finished(server, failing)


def test_a_token_that_ends_on_the_way(server: ScriptedServer, failing: Failing) -> None:
    """After the first 401 nothing more is tried."""
    failing.failing = {("POST", name): 401 for name in (NEW, NEWER, "fine0@one.example")}
    failing.failing |= {("PATCH", name): 401 for name in (ANN, BOB, TEAM)}
    result = run(server, concurrency=1)
    counts = result["summary"]
    assert counts["failed"] == 1
    assert counts["not_attempted"] == len(EVERY) - 2
    assert outcomes(result)["two.example"] == "changed"
    assert_finished(server, failing)
