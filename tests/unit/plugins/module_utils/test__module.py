# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A module's options, results, failures and hidden secrets."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from ansible.module_utils.common import warnings

from ansible_collections.postroom.email.plugins.module_utils import _module
from ansible_collections.postroom.email.plugins.module_utils._api import errors
from ansible_collections.postroom.email.plugins.module_utils._api.client.client import Client
from ansible_collections.postroom.email.plugins.module_utils._api.client.transport import Transport
from ansible_collections.postroom.email.plugins.module_utils._module import (
    Outcome,
    Params,
    execute,
)
from ansible_collections.postroom.email.plugins.module_utils._secrets import find_secrets
from ansible_collections.postroom.email.tests.support.clients import TOKEN, transport_to
from ansible_collections.postroom.email.tests.support.modules import run_module

pytestmark = pytest.mark.matrix
PARAMS: dict[str, Any] = {"timeout": 30.0, "retries": 4}
OPTIONS = {"api_url": "http://127.0.0.1:9", "api_token": TOKEN}
DIFF = [{"before": {}, "after": {"name": "x"}}]


@pytest.fixture
def transport() -> Any:
    """Provide a transport to an address on which no server listens."""
    with_nobody = transport_to("http://127.0.0.1:9")
    yield with_nobody
    with_nobody.close()


def result_of(ensure: Callable[..., Outcome], **options: Any) -> dict[str, Any]:
    """Return the result of a module that performs an action."""
    mode = {key: options.pop(key) for key in ("check", "diff") if key in options}
    return run_module(lambda: _module.run_module(ensure, {}), {**OPTIONS, **options}, **mode)


def changing(client: Client, params: Params, check_mode: bool) -> Outcome:
    """Report a change."""
    return Outcome(True, {"mode": check_mode}, DIFF, ["mind the gap"])


def test_execute_turns_our_errors_into_results(transport: Transport) -> None:
    """The collection's own errors become results, and other exceptions are raised."""

    def refusing(client: Client, params: Params, check_mode: bool) -> Outcome:
        raise errors.Refused("It does not fit.")

    def broken(client: Client, params: Params, check_mode: bool) -> Outcome:
        raise KeyError("option")

    result = execute(refusing, PARAMS, check_mode=False, get_transport=lambda _: transport)
    assert result == {
        "failed": True,
        "changed": False,
        "msg": "It does not fit.",
        "failure": {"code": "refused", "kind": "Refused"},
        "changes": [],
    }
    with pytest.raises(KeyError):
        execute(broken, PARAMS, check_mode=False, get_transport=lambda _: transport)


@pytest.mark.parametrize("diff", [True, False])
@pytest.mark.parametrize("check", [True, False])
def test_a_module_prints_its_outcome(check: bool, diff: bool, transport: Transport) -> None:
    """A module prints its outcome, with warnings and, if requested, a diff."""
    result = result_of(changing, check=check, diff=diff)
    assert result["changed"]
    assert result["mode"] is check
    assert ("diff" in result) is diff
    assert "mind the gap" in str(result["warnings"])
    assert set(execute(changing, PARAMS, check_mode=check, get_transport=lambda _: transport)) == {
        "changed",
        "mode",
        "diff",
        "warnings",
    }


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error for a missing library is Ansible's own message."""
    monkeypatch.setitem(sys.modules, "httpx", None)
    result = result_of(changing)
    assert result["failed"]
    assert "Failed to import the required Python library (httpx)" in result["msg"]


@pytest.mark.parametrize("options", [{}, {"colour": "blue"}, {"number": "many"}])
def test_a_secret_in_the_wrong_place_shows_nowhere(options: dict[str, Any]) -> None:
    """A misplaced secret is recognized by its key and hidden, even in refused options."""
    misplaced = ["first-stray", "second-stray", 7531, "third stray"]
    given = [
        {"name": "x", "password": misplaced[0], "aliases": [{"Secret": misplaced[1:3]}]},
        {"passphrases": {"x": {"y": misplaced[3]}}, "secret": "", "password": True, "other": None},
        "passwords",
    ]

    def repeating(client: Client, params: Params, check_mode: bool) -> Outcome:
        return Outcome(values={"shown": str(params["things"])}, warnings=["mind first-stray"])

    spec = {"things": {"type": "list", "elements": "raw"}, "number": {"type": "int"}}
    arguments = {**OPTIONS, "things": given, **options}
    result = run_module(lambda: _module.run_module(repeating, spec), arguments)
    assert bool(options) is result["failed"]
    assert [one for one in misplaced if str(one) in str(result)] == []
    # Newer versions of ansible-core add the invocation only if the controller asks for it.
    assert "passwords" in str(result.get("invocation", "passwords"))


def test_no_secret_is_shown() -> None:
    """No result or warning contains the token or any of many passwords."""
    secrets = [f"stray-{number:04}" for number in range(200)]

    def repeating(client: Client, params: Params, check_mode: bool) -> Outcome:
        if not hasattr(warnings, "get_warnings"):
            # Newer versions of ansible-core don't change these warnings.
            warnings.warn(f"mind {secrets[8]}")
            warnings.deprecate(
                f"forget {secrets[9]}", version="9.0.0", collection_name="postroom.email"
            )
        return Outcome(values={"shown": f"it is {secrets[7]}"}, warnings=[f"mind {TOKEN}"])

    arguments = {**OPTIONS, "things": {"passwords": secrets}}
    spec = {"things": {"type": "dict"}}
    result = run_module(lambda: _module.run_module(repeating, spec), arguments)
    assert result["shown"] == "it is ********"
    assert "mind ********" in str(result["warnings"])
    assert [one for one in [*secrets, TOKEN] if one in str(result)] == []


MANY = {f"Secret-{number:05}!" for number in range(10_000)}


def test_those_of_many_that_are_there() -> None:
    """Secrets are found at any position in the text, regardless of their length and characters."""
    there = {"Secret-00000!", "Secret-00777!", "Secret-09999!", "4", "üb", "line\nbreak"}
    text = "Secret-00000!, line\nbreak Secret-00777! 4 of them, übel: Secret-09999!"
    assert set(find_secrets(text, MANY | there | {"5", "none", "Secret-00000?"})) == there
    assert list(find_secrets("", MANY)) == []
    assert set(find_secrets("nothing", {"a", "long one"})) == {"a", "long one"}
