# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The option passwords is read as passwords by name, and never shown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.postroom.email.plugins.module_utils._api.definition.reading import (
    read_passwords,
)
from ansible_collections.postroom.email.plugins.module_utils._api.errors import InvalidInput
from ansible_collections.postroom.email.plugins.module_utils._api.names import parse_address

SECRET = "hunter2-hunter2"
REFUSED: list[tuple[dict[Any, Any], str]] = [
    (
        {SECRET: "alice@a.example"},
        (
            "passwords: A key is not an email address. Write address: password; the key is not "
            "shown here, for it may be a password."
        ),
    ),
    ({7: SECRET}, "passwords: A key is a number. Write an email address in its place."),
    (
        {"a@a.example": 12345},
        (
            "passwords: The password of a@a.example is no text. Give a string, in quotes, or a "
            "list of strings."
        ),
    ),
    (
        {"a@a.example": [SECRET, {"x": SECRET}]},
        (
            "passwords: The password of a@a.example is no text. Give a string, in quotes, or a "
            "list of strings."
        ),
    ),
    (
        {"a@a.example": [SECRET, ""]},
        "passwords: A password of a@a.example is empty. Give one, or drop the address.",
    ),
    (
        {"a@a.example": []},
        "passwords: The list of a@a.example is empty. Give a password, or drop it.",
    ),
    (
        {"a@a.example": SECRET, "A@A.example": SECRET},
        "passwords: A@A.example is the same as a@a.example. Keep one of the two.",
    ),
]


def test_passwords_are_texts_by_name() -> None:
    """One or several, as they are."""
    raw = {"A@a.example": SECRET, "b@a.example": [SECRET, " x "]}
    assert read_passwords(raw) == {
        parse_address("a@a.example"): (SECRET,),
        parse_address("b@a.example"): (SECRET, " x "),
    }
    assert read_passwords({}) == {}


@pytest.mark.parametrize(("raw", "text"), REFUSED)
def test_what_is_no_password_is_refused(raw: dict[Any, Any], text: str) -> None:
    """The address is named, never the password."""
    with pytest.raises(InvalidInput) as caught:
        read_passwords(raw)
    assert str(caught.value) == text


VALUES = st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=4)


@given(st.dictionaries(st.text() | st.sampled_from(["a@a.example", "A@a.example"]), VALUES))
def test_nothing_else_is_raised(raw: dict[Any, Any]) -> None:
    """Whatever is given: it is read, or refused."""
    try:
        assert len(read_passwords(raw)) == len(raw)
    except InvalidInput as error:
        assert str(error).startswith("passwords: ")  # noqa: PT017
