# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Of many secrets those are looked for that a text can hold."""

from __future__ import annotations

import tracemalloc

from ansible_collections.postroom.email.plugins.module_utils._secrets import held, leaves

MANY = {f"Secret-{number:05}!" for number in range(10_000)}


def test_all_of_few() -> None:
    """There is nothing to gain."""
    assert set(held("nothing", {"a", "long one"})) == {"a", "long one"}


def test_those_of_many_that_are_there() -> None:
    """At the beginning, in the middle and at the end, short ones, and ones with any letters."""
    there = {"Secret-00000!", "Secret-00777!", "Secret-09999!", "4", "üb", "line\nbreak"}
    text = "Secret-00000!, line\nbreak Secret-00777! 4 of them, übel: Secret-09999!"
    assert set(held(text, MANY | there | {"5", "none", "Secret-00000?"})) == there
    assert list(held("", MANY)) == []


def test_what_may_come_to_be() -> None:
    """A secret is replaced by asterisks, which another may have."""
    assert set(held("nothing", MANY | {"a********b", "*"})) == {"a********b", "*"}


def test_a_long_text_takes_little_memory() -> None:
    """Less than the text itself."""
    text = "\n".join(f"mailbox user{number:05}@one.example was created" for number in range(20_000))
    tracemalloc.start()
    try:
        assert list(held(text, MANY)) == []
        assert tracemalloc.get_traced_memory()[1] < len(text)
    finally:
        tracemalloc.stop()


def test_leaves() -> None:
    """Whatever is in containers, at any depth."""
    assert sorted(map(str, leaves({"a": [1, ("b", {"c": None})], "d": "e"}))) == [
        "1", "None", "b", "e",
    ]  # fmt: skip
