# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Secrets leave a result as they leave a module's."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from ansible.module_utils.common import parameters

from ansible_collections.postroom.email.plugins.plugin_utils import _secrets
from ansible_collections.postroom.email.plugins.plugin_utils._secrets import without

SECRETS = {"hunter2", "a*b", "4", "line\nbreak", "ü{{ x }}", "VALUE", "30.5"}
RESULTS: list[Any] = [
    {"msg": "it was hunter2, said hunter2's owner", "n": 4, "m": 42, "f": 30.5, "t": True},
    {"deep": [{"er": ("hunter2", "a hunter2", ["none of it", None, False])}], "key hunter2": 1},
    {"aa*bb": "aa*bb", "text": "line\nbreak", "more": "a line\nbreak in ü{{ x }}", "e": ""},
    {},
    {"a": {"b": {"c": "VALUE"}}, "d": "VALUES", "bytes": "x"},
]


@pytest.mark.parametrize("result", RESULTS)
def test_as_ansible_core_does_it(result: Any) -> None:
    """Values that are a secret, hold one or hold none, texts and numbers; keys stay."""
    assert without(result, SECRETS) == as_lists(parameters.remove_values(result, SECRETS))


def as_lists(value: Any) -> Any:
    """Return a value as JSON would give it back."""
    if isinstance(value, dict):
        return {key: as_lists(one) for key, one in value.items()}
    return [as_lists(one) for one in value] if isinstance(value, (list, tuple)) else value


def test_a_secret_within_another() -> None:
    """The longer one is replaced, or what is left of it would show."""
    assert without(["an inner-secret-x here"], {"inner", "inner-secret-x"}) == ["an ******** here"]


def test_many_secrets_cost_little() -> None:
    """Each value is compared with the few secrets that are in the result, not with all of them."""
    many = {f"secret number {number} of many" for number in range(10_000)}
    result = {
        "rows": [f"row {number}" for number in range(10_000)],
        "passwords": sorted(many),
        "msg": "secret number 7 of many is in the open",
    }
    compared: list[int] = []

    def counting(value: Any, secrets: list[str]) -> Any:
        compared.append(len(secrets))
        return parameters.remove_values(value, secrets)

    with mock.patch.object(_secrets, "remove_values", counting):
        shown = without(result, many)
    assert shown["msg"] == "******** is in the open"
    assert set(shown["passwords"]) == {"VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"}
    assert set(compared) == {1}
