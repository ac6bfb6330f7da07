# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The filters for names and for passwords: one spelling, and no secret in what they say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.postroom.email.plugins.filter.name_key import name_key
from ansible_collections.postroom.email.plugins.filter.password_map import password_map

ANN = "ann@xn--bcher-kva.example"
STRAY = "stray-secret-LIMA-9083"
NO_YAML = "passwords: They can't be read as YAML"
TWICE = "passwords: A key is given twice, on lines"
NO_MAP = "passwords: They are no map of addresses to passwords. Write a line address: password"


@pytest.mark.parametrize("name", ["Ann@Bücher.example", ANN, "ANN@BÜCHER.EXAMPLE.", f" {ANN}"])
def test_a_name_has_one_spelling(name: str) -> None:
    """Upper and lower case, and how a domain is written, make no difference."""
    assert name_key(name) == ANN


@pytest.mark.parametrize(
    ("name", "key"),
    [("Example.COM", "example.com"), ("", ""), ('"Odd"@far.example', '"odd"@far.example')],
)
def test_any_name_is_spelled(name: str, key: str) -> None:
    """Also what no definition could hold, for services may answer it."""
    assert name_key(name) == key


def test_a_name_is_text() -> None:
    """Anything else is told in a sentence."""
    with pytest.raises(AnsibleFilterError, match="a name has to be text"):
        name_key(["ann@one.example"])


@pytest.mark.parametrize(
    "given",
    [
        {"Ann@Bücher.example": "a: b", "bob@one.example": ["1", "{{ 2 }}"]},
        'Ann@Bücher.example: "a: b"\nbob@one.example: [1, "{{ 2 }}"]\n',
        json.dumps({ANN: "a: b", "BOB@one.example": ["1", "{{ 2 }}"]}),
    ],
)
def test_passwords_are_read(given: Any) -> None:
    """From a map, YAML or JSON; what looks like a number is the password that was written."""
    assert password_map(given) == {ANN: ["a: b"], "bob@one.example": ["1", "{{ 2 }}"]}


@pytest.mark.parametrize("nothing", ["", "\n# none yet\n", "---\n", "null", "{}", {}, None])
def test_there_may_be_none(nothing: Any) -> None:
    """An empty file is none, too."""
    assert password_map(nothing) == {}


class Encrypted:
    """A text as ansible-core up to 2.18 has it, where it was encrypted by itself."""

    __ENCRYPTED__ = True

    def __init__(self, text: str = "plain") -> None:
        """Take what it is when it is decrypted."""
        self._text = text

    def __str__(self) -> str:
        """Decrypt it."""
        return self._text


def test_single_passwords_may_be_encrypted() -> None:
    """In a map that Ansible has read; they are texts then."""
    given = {ANN: Encrypted(), "bob@one.example": [Encrypted(), "too"]}
    assert password_map(given) == {ANN: ["plain"], "bob@one.example": ["plain", "too"]}


def test_all_of_it_may_be_encrypted() -> None:
    """As one text, which is read as if it stood in a file."""
    assert password_map(Encrypted(f"{ANN}: plain")) == {ANN: ["plain"]}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (f"{ANN}: !{STRAY}\n", f"{NO_YAML}, because of line 1."),
        (f"\n{ANN}: *{STRAY}\n", f"{NO_YAML}, because of line 2."),
        (f"{ANN}: '{STRAY}\n", f"{NO_YAML}, because of line "),
        (f"{ANN}: {STRAY}\n{ANN}: b\n", f"{TWICE} 1 and 2. Keep one."),
        (f"{ANN}: a\n{STRAY}: a\n\n{STRAY}: b\n", f"{TWICE} 2 and 4. Keep one."),
        (f"{ANN}: !vault |\n  {STRAY}\n", f"{NO_YAML}, because of line 1."),
        (f"<<: {STRAY}\n", f"{NO_YAML}. Write a line"),
        (STRAY, NO_MAP),
        ([STRAY], NO_MAP),
        (7, NO_MAP),
        (f"{STRAY}: {ANN}\n", "passwords: A key is not an email address. Write address: password;"),
        ({ANN: {"secret": STRAY}}, f"passwords: The password of {ANN} is no text."),
        ({ANN: [STRAY, ""]}, f"passwords: A password of {ANN} is empty."),
        ({ANN: STRAY, "Ann@Bücher.example": STRAY}, "passwords: Ann@Bücher.example is the same"),
    ],
)  # fmt: skip
def test_nothing_of_what_is_wrong_is_shown(given: Any, sentence: str) -> None:
    """It is told in a sentence that holds no password, wherever that stands."""
    with pytest.raises(AnsibleFilterError) as caught:
        password_map(given)
    assert str(caught.value).startswith(sentence)
    assert STRAY not in str(caught.value)
    assert caught.value.__cause__ is None
