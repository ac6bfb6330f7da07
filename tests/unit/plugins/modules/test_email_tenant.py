# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The options, errors and results of email_tenant, tested through ``main``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.postroom.email.plugins.modules import email_tenant
from ansible_collections.postroom.email.tests.fakes.mail_api.in_memory_service import (
    InMemoryService,
    domain,
    mailbox,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import ScriptedServer
from ansible_collections.postroom.email.tests.support.clients import TOKEN, Serve
from ansible_collections.postroom.email.tests.support.modules import run_module

pytestmark = pytest.mark.matrix
SECRET = "correct-horse/battery#staple"
ANN, BOB = "ann@one.example", "bob@one.example"


def populated() -> InMemoryService:
    """Return a service with two domains and three mailboxes."""
    return InMemoryService(
        None,
        domain("one.example"),
        domain("two.example"),
        mailbox("cat@two.example"),
        mailbox(ANN, "info@one.example", "ann@two.example"),
        mailbox(BOB),
    )


def run(server: ScriptedServer, *, check: bool = False, **options: Any) -> dict[str, Any]:
    """Run the module on a server, and return its result."""
    connection = {"api_url": server.url, "api_token": TOKEN}
    return run_module(email_tenant.main, {**connection, **options}, check=check, diff=True)


def with_ann(**options: Any) -> dict[str, Any]:
    """Return options that declare an existing mailbox, and the given options."""
    return {"mailboxes": [ANN], **options}


#: The options, the beginning of the message, and whether check mode only warns.
MISTAKES: list[tuple[dict[str, Any], str, bool]] = [
    ({}, "definition_files: ", False),
    ({"definition_files": ["/no/such/tenant.yml"]}, "/no/such/tenant.yml: ", False),
    *((with_ann(concurrency=n), f"concurrency: {n}", False) for n in (0, 65)),
    (with_ann(max_deletions=-1), "max_deletions: -1", False),
    (with_ann(passwords={"ann": SECRET}), "passwords: ", False),
    ({"mailboxes": [BOB, ANN, BOB], "forwarders": [ANN]}, "There are 2 ", False),
    ({"mailboxes": ["new@one.example"]}, "mailboxes[0]: ", True),
    ({"mailboxes": [ANN, BOB], "purge": ["mailbox"]}, "1 mailbox ", True),
]


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_a_mistake_sends_no_write(number: int, serve: Serve) -> None:
    """An error prevents all writes.

    In check mode, it is a warning if an earlier task may fix it.
    """
    options, says, prerequisite = MISTAKES[number]
    server = serve(populated())
    result = run(server, **options)
    assert result["msg"].startswith(says)
    assert (result["failed"], result["changed"], result["changes"]) == (True, False, [])
    predicted = run(server, check=True, **options)
    assert predicted["failed"] is not prerequisite
    assert says in (str(predicted["warnings"]) if prerequisite else predicted["msg"])
    assert server.writes == []
    assert SECRET not in f"{result} {predicted}"


def test_without_pyyaml_a_file_of_yaml_can_t_be_read(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without PyYAML, only JSON files can be read, and the message explains this."""
    monkeypatch.setitem(sys.modules, "yaml", None)
    (tmp_path / "tenant.yml").write_text(f"mailboxes: [{ANN}]\n")
    (tmp_path / "tenant.json").write_text(f'{{"mailboxes": ["{ANN}"]}}')
    server = serve(populated())
    result = run(server, definition_files=[str(tmp_path / "tenant.yml")])
    assert "PyYAML" in result["msg"]
    assert server.requests == []
    assert not run(server, definition_file=str(tmp_path / "tenant.json"))["changed"]


def test_missing_pydantic_is_reported(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """If pydantic is missing, Ansible's own message is reported before any request."""
    monkeypatch.setitem(sys.modules, "pydantic", None)
    server = serve(populated())
    result = run(server, mailboxes=[ANN])
    assert "Failed to import the required Python library (pydantic)" in result["msg"]
    assert server.requests == []


def test_the_result_is_the_plan(serve: Serve) -> None:
    """The result contains the plan that check mode predicted and the unchanged objects."""
    options: dict[str, Any] = {
        "mailboxes": [{"name": ANN, "aliases": ["new@one.example"]}, "eve@one.example", BOB],
        "passwords": {"eve@one.example": SECRET},
        "report_unchanged": True,
    }
    server = serve(populated())
    predicted = run(server, check=True, **options)
    assert server.writes == []
    done = run(server, **options, expected_plan=predicted["plan_digest"])
    # Since ansible-core 2.21, results contain the invocation only if the controller asks for it.
    for result in (predicted, done):
        result.pop("invocation", None)
    assert done == predicted
    assert list(done["summary"].values()) == [1, 1, 0, 1, 0, 0]
    outcomes = {row["name"]: row["outcome"] for row in done["results"]}
    assert outcomes == {ANN: "changed", "eve@one.example": "changed", BOB: "unchanged"}
    assert done["diff"][1]["after"]["passwords"] == "set"
    assert SECRET not in str(done)
