# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The edge: options in, results out, and the only place that exits."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from ansible.module_utils.common import warnings

from ansible_collections.postroom.email.plugins.module_utils import _module
from ansible_collections.postroom.email.plugins.module_utils._api import errors
from ansible_collections.postroom.email.plugins.module_utils._api.wire.client import Client
from ansible_collections.postroom.email.plugins.module_utils._api.wire.sender import Sender
from ansible_collections.postroom.email.plugins.module_utils._module import (
    Outcome,
    Params,
    execute,
    failure_of,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import Script, json_reply
from ansible_collections.postroom.email.tests.support.clients import TOKEN, sender_to
from ansible_collections.postroom.email.tests.support.modules import run_module

PARAMS: dict[str, Any] = {"timeout": 30.0, "retries": 4}
OPTIONS = {"api_url": "http://127.0.0.1:9", "api_token": TOKEN}
DIFF = [{"before": {}, "after": {"name": "x"}}]


@pytest.fixture
def sender() -> Any:
    """Return a sender that nobody listens to."""
    with_nobody = sender_to("http://127.0.0.1:9")
    yield with_nobody
    with_nobody.close()


def result_of(ensure: Callable[..., Outcome], **options: Any) -> dict[str, Any]:
    """Run a module that does that."""
    mode = {key: options.pop(key) for key in ("check", "diff") if key in options}
    return run_module(lambda: _module.run_module(ensure, {}), {**OPTIONS, **options}, **mode)


def changing(client: Client, params: Params, check_mode: bool) -> Outcome:
    """Change something."""
    return Outcome(True, {"mode": check_mode}, DIFF, ["mind the gap"])


def test_execute_returns_everything(sender: Sender) -> None:
    """A function of options and a connection, that neither prints nor exits."""
    result = execute(changing, PARAMS, check_mode=True, sender=sender)
    assert result == {"changed": True, "mode": True, "diff": DIFF, "warnings": ["mind the gap"]}


def test_execute_turns_our_errors_into_results(sender: Sender) -> None:
    """And lets those of programming pass, for they have a traceback to show."""

    def refusing(client: Client, params: Params, check_mode: bool) -> Outcome:
        raise errors.Refused("It does not fit.")

    def broken(client: Client, params: Params, check_mode: bool) -> Outcome:
        raise KeyError("option")

    result = execute(refusing, PARAMS, check_mode=False, sender=sender)
    assert result == {
        "failed": True, "changed": False, "msg": "It does not fit.",
        "failure": {"kind": "Refused"}, "changes": [],
    }  # fmt: skip
    with pytest.raises(KeyError):
        execute(broken, PARAMS, check_mode=False, sender=sender)


def test_what_stands_after_a_failure_is_a_change() -> None:
    """``changed`` tells the truth about a task that failed half way."""
    failure = errors.Failure("ServerFailed", 500, "DELETE", "/api/principal/x", "oops")
    error = errors.ServerFailed("It failed.", failure)
    error.done = [{"action": "delete", "kind": "mailbox", "name": "x", "reason": "y"}]
    result = failure_of(error)
    assert result["changed"]
    assert result["changes"] == list(error.done)
    assert result["failure"] == {
        "kind": "ServerFailed", "status": 500, "method": "DELETE", "path": "/api/principal/x",
        "detail": "oops",
    }  # fmt: skip


@pytest.mark.parametrize("diff", [True, False])
@pytest.mark.parametrize("check", [True, False])
def test_a_module_prints_its_outcome(check: bool, diff: bool) -> None:
    """With the diff where it was asked for, and warnings as Ansible's own."""
    result = result_of(changing, check=check, diff=diff)
    assert result["changed"]
    assert result["mode"] is check
    assert ("diff" in result) is diff
    assert "mind the gap" in str(result["warnings"])


def test_a_warning_gives_no_secret_away() -> None:
    """Though ansible-core, from 2.19 on, leaves warnings as they are."""

    def warning(client: Client, params: Params, check_mode: bool) -> Outcome:
        return Outcome(warnings=[f"mind {TOKEN}"])

    result = result_of(warning)
    assert "mind ********" in str(result["warnings"])
    assert TOKEN not in str(result)


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With Ansible's own words for it."""
    monkeypatch.setitem(sys.modules, "httpx", None)
    result = result_of(changing)
    assert result["failed"]
    assert "Failed to import the required Python library (httpx)" in result["msg"]


def test_the_token_is_in_no_invocation() -> None:
    """Ansible shows the options of a failed task, that one as stars."""
    result = result_of(changing, api_url="nowhere")
    assert TOKEN not in str(result)
    # A later ansible-core adds the invocation only where the controller asks for it.
    shown = result.get("invocation", {}).get("module_args", {}).get("api_token")
    assert shown in (None, "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER")


def test_connections_end_with_the_task(serve: Any) -> None:
    """Also after a failure."""
    server = serve(Script(("GET", "/api/principal", json_reply(7))))

    def listing(client: Client, params: Params, check_mode: bool) -> Outcome:
        client.list_principals()
        return Outcome()

    result = result_of(listing, api_url=server.url)
    assert result["failure"]["kind"] == "BadAnswer"


def test_lists_that_are_not_given_differ_from_empty_ones() -> None:
    """None is untouched, and an empty list is none."""
    assert _module.addresses({"aliases": None}, "aliases") is None
    assert _module.addresses({"aliases": []}, "aliases") == frozenset()


@pytest.mark.parametrize("options", [{}, {"colour": "blue"}, {"number": "many"}])
def test_a_secret_in_the_wrong_place_shows_nowhere(options: dict[str, Any]) -> None:
    """By the name of its key it is one, also where Ansible itself refuses the options."""
    misplaced = ["first-stray", "second-stray", 7531, "third stray"]
    given = [
        {"name": "x", "password": misplaced[0], "aliases": [{"Secret": misplaced[1:3]}]},
        {"passphrases": {"x": {"y": misplaced[3]}}, "secret": "", "password": True, "other": None},
        "passwords",
    ]

    def repeating(client: Client, params: Params, check_mode: bool) -> Outcome:
        return Outcome(values={"told": str(params["things"])}, warnings=["mind first-stray"])

    spec = {"things": {"type": "list", "elements": "raw"}, "number": {"type": "int"}}
    arguments = {**OPTIONS, "things": given, **options}
    result = run_module(lambda: _module.run_module(repeating, spec), arguments)
    assert bool(options) is result["failed"]
    assert [one for one in misplaced if str(one) in str(result)] == []
    # A later ansible-core adds the invocation only where the controller asks for it.
    assert "passwords" in str(result.get("invocation", "passwords"))


def test_of_many_secrets_none_shows() -> None:
    """Not in what Ansible itself adds, either, as far as it looks for any there."""
    secrets = [f"stray-{number:04}" for number in range(200)]

    def repeating(client: Client, params: Params, check_mode: bool) -> Outcome:
        if not hasattr(warnings, "get_warnings"):
            # A later ansible-core leaves these as they are.
            warnings.warn(f"mind {secrets[8]}")
            warnings.deprecate(
                f"forget {secrets[9]}", version="9.0.0", collection_name="postroom.email"
            )
        return Outcome(values={"told": f"it is {secrets[7]}"}, warnings=[f"mind {secrets[6]}"])

    arguments = {**OPTIONS, "things": {"passwords": secrets}}
    spec = {"things": {"type": "dict"}}
    result = run_module(lambda: _module.run_module(repeating, spec), arguments)
    assert result["told"] == "it is ********"
    assert [one for one in secrets if one in str(result)] == []
