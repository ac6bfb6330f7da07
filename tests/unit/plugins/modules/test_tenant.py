# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The module email_tenant: its options, its mistakes and its results, through ``main``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.postroom.email.plugins.modules import email_tenant
from ansible_collections.postroom.email.tests.fakes.mail_api.fussy import Fussy
from ansible_collections.postroom.email.tests.fakes.mail_api.quirky import (
    QuirkyService,
    domain,
    forwarder,
    mailbox,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import ScriptedServer, problem
from ansible_collections.postroom.email.tests.support.clients import TOKEN
from ansible_collections.postroom.email.tests.support.modules import run_module
from ansible_collections.postroom.email.tests.support.tenant_mistakes import (
    SECRET,
    TENANT_MISTAKES,
)

Serve = Callable[..., ScriptedServer]
ANN, BOB = "ann@one.example", "bob@one.example"


def inhabited() -> QuirkyService:
    """Return what the end-to-end tests have in their tenant, too."""
    return QuirkyService(
        None,
        domain("one.example"), domain("two.example"),
        mailbox(ANN, "info@one.example", "ann@two.example"), mailbox(BOB),
        mailbox("cat@two.example"), forwarder("first@one.example", "second@one.example"),
        forwarder("second@one.example", "third@one.example"), forwarder("all@one.example", ANN),
    )  # fmt: skip


def run(server: ScriptedServer, *, check: bool = False, **options: Any) -> dict[str, Any]:
    """Run the module against a server and return its result."""
    connection = {"api_url": server.url, "api_token": TOKEN}
    return run_module(email_tenant.main, {**connection, **options}, check=check, diff=True)


@pytest.mark.parametrize("number", range(len(TENANT_MISTAKES)))
def test_a_mistake_is_told_and_nothing_is_written(number: int, serve: Serve) -> None:
    """In the same words in both modes; what may come meanwhile is a warning in check mode."""
    options, says, prerequisite = TENANT_MISTAKES[number]
    server = serve(inhabited())
    result = run(server, **options)
    assert result["msg"] == says
    assert (result["changed"], result["changes"]) == (False, [])
    foretold = run(server, check=True, **options)
    assert foretold["failed"] is not prerequisite
    assert says in (str(foretold["warnings"]) if prerequisite else foretold["msg"])
    assert server.writes == []
    assert SECRET not in f"{result} {foretold}"


@pytest.mark.parametrize("options", [
    {"purge": ["everything"]}, {"update_password": "never"}, {"max_deletions": "some"},
    {"passwords": [SECRET]}, {"mailboxes": 7, "purge": "x"}, {"max_delete_percent": "half"},
])  # fmt: skip
def test_what_ansible_refuses_is_refused_before_anything_is_asked(
    options: dict[str, Any], serve: Serve
) -> None:
    """Choices and types are checked with the options."""
    server = serve(inhabited())
    result = run(server, **{"mailboxes": [ANN], **options})
    assert result["failed"]
    assert server.requests == []
    assert SECRET not in str(result)


def test_without_pyyaml_a_file_of_yaml_can_t_be_read(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message names the package and the way without it; a file of JSON needs none."""
    monkeypatch.setitem(sys.modules, "yaml", None)
    (tmp_path / "tenant.yml").write_text(f"mailboxes: [{ANN}]\n")
    (tmp_path / "tenant.json").write_text(f'{{"mailboxes": ["{ANN}"]}}')
    server = serve(inhabited())
    result = run(server, definition_files=[str(tmp_path / "tenant.yml")])
    assert result["msg"] == (
        "definition_files: reading YAML needs the Python package PyYAML where the module runs. "
        "Install it, or give the definition as JSON, in a file named *.json."
    )
    assert server.requests == []
    assert not run(server, definition_file=str(tmp_path / "tenant.json"))["changed"]


def test_files_and_options_are_one_definition(serve: Serve, tmp_path: Path) -> None:
    """The same object in both is one, with the aliases of both; problems tell the file."""
    (tmp_path / "tenant.json").write_text(f'{{"mailboxes": [{{"name": "{ANN}", "aliases": []}}]}}')
    server = serve(inhabited())
    path = str(tmp_path / "tenant.json")
    options: dict[str, Any] = {"definition_files": [path], "purge": ["alias"], "max_deletions": 1}
    result = run(server, mailboxes=[{"name": ANN, "aliases": ["info@one.example"]}], **options)
    assert [change["reason"] for change in result["changes"]] == [
        "its alias ann@two.example is not declared"
    ]
    refused = run(server, mailboxes=[{"name": ANN, "state": "absent"}], **options)
    assert refused["failure"] == {"kind": "InvalidDefinition"}
    (found,) = refused["problems"]
    assert (found["file"], found["where"]) == (None, "mailboxes[0]")
    assert path in found["text"]


def test_a_result_tells_the_whole_plan(serve: Serve) -> None:
    """In check mode and when it is done, with a diff of each change and no password in it."""
    options: dict[str, Any] = {
        "mailboxes": [{"name": ANN, "aliases": ["new@one.example"]}, "eve@one.example", BOB],
        "passwords": {"eve@one.example": SECRET}, "report_unchanged": True,
    }  # fmt: skip
    server = serve(inhabited())
    foretold = run(server, check=True, **options)
    done = run(server, **options, expected_plan=foretold["plan_digest"])
    told = ("changed", "changes", "plan_digest", "summary", "results", "undeclared", "diff")
    assert {key: foretold[key] for key in told} == {key: done[key] for key in told}
    assert done["summary"] == {
        "created": 1, "updated": 1, "deleted": 0, "unchanged": 1, "failed": 0, "not_attempted": 0,
    }  # fmt: skip
    assert {row["name"]: row["outcome"] for row in done["results"]} == {
        ANN: "changed", "eve@one.example": "changed", BOB: "unchanged",
    }  # fmt: skip
    assert done["diff"][1]["after"]["passwords"] == "set"
    assert len(run(server, **{**options, "report_unchanged": False})["results"]) == 0
    assert SECRET not in str(done)


def test_passwords_are_replaced_only_when_asked(serve: Serve) -> None:
    """A list is several passwords; ``always`` is a change each time."""
    server = serve(inhabited())
    options: dict[str, Any] = {"mailboxes": [ANN], "passwords": {ANN: [SECRET, "second-Qx71"]}}
    assert not run(server, **options)["changed"]
    for _time in range(2):
        assert run(server, **options, update_password="always")["changed"]
    bodies = [request.json for request in server.requests if request.method == "PATCH"]
    assert bodies == [{"secrets": [SECRET, "second-Qx71"]}] * 2


def test_an_incomplete_run_fails_with_all_that_it_has_done(serve: Serve) -> None:
    """And says that something was changed."""
    server = serve(Fussy(inhabited(), {"POST eve": problem(422, "no")}))
    options: dict[str, Any] = {
        "mailboxes": [{"name": "eve@one.example"}, {"name": BOB, "state": "absent"}],
        "passwords": {"eve@one.example": SECRET},
    }
    result = run(server, **options)
    assert (result["failed"], result["changed"]) == (True, True)
    assert result["failure"] == {"kind": "Incomplete"}
    assert [change["name"] for change in result["changes"]] == [BOB]
    assert result["summary"]["failed"] == result["summary"]["deleted"] == 1
    assert result["plan_digest"].startswith("sha256:")
    assert SECRET not in str(result)
