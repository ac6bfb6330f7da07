# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The `answers` filter normalizes a playbook's variables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.postroom.email.plugins.filter.answers import FilterModule

ANSWERS = FilterModule().filters()["answers"]
NAMES = {"type": "list", "elements": "str"}
PATHS = {"type": "list", "elements": "path"}


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ({"type": "str"}, " a@one.example\n", "a@one.example"),
        ({"type": "path"}, "tenant.yml", str(Path.cwd() / "tenant.yml")),
        ({"type": "path"}, "/etc/tenant.yml", "/etc/tenant.yml"),
        ({"type": "bool", "default": True}, "", True),
        ({"type": "bool", "default": True}, False, False),
        ({"type": "int", "default": 5}, 0, 0),
        ({"type": "dict"}, {"a": 1}, {"a": 1}),
        (NAMES, " a@x.example,\r\nb@x.example ", ["a@x.example", "b@x.example"]),
        (NAMES, ["a@x.example,b@x.example", 7], ["a@x.example", "b@x.example", 7]),
        ({**NAMES, "default": ["*"]}, None, ["*"]),
        ({**NAMES, "default": ["*"]}, [], []),
        (PATHS, "/a.yml, /b.yml", ["/a.yml", "/b.yml"]),
        (PATHS, ["/a,b.yml"], ["/a,b.yml"]),
    ],
)
def test_a_value_is_normalized(option: dict[str, Any], value: object, expected: object) -> None:
    """Values are normalized by type. False, 0 and an empty list are kept."""
    assert ANSWERS({"mail_x": value}, {"mail_x": option}) == {"mail_x": expected}


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ({"type": "str"}, " "),
        ({"type": "str"}, None),
        ({**NAMES, "required": True}, []),
        (NAMES, ""),
    ],
)
def test_a_missing_value_is_left_out(option: dict[str, Any], value: object) -> None:
    """An empty answer counts as missing, and so does an empty list for a required variable."""
    assert ANSWERS({"mail_x": value}, {"mail_x": option}) == {}


@pytest.mark.parametrize("kind", ["str", "path"])
@pytest.mark.parametrize("value", [640, ["a"], {}])
def test_a_string_must_be_a_string(kind: str, value: object) -> None:
    """A number is refused where a string is expected, because it may lack a leading zero."""
    with pytest.raises(AnsibleFilterError, match="mail_x must be a string"):
        ANSWERS({"mail_x": value}, {"mail_x": {"type": kind}})
