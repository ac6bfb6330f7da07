# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What pydantic finds wrong with a policy, in sentences that say what to do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from postroom_bot.policy.schema import part
from postroom_bot.policy.types import KINDS

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_KEYS = "This has to be keys with values, one to a line."
_LIST = "This has to be a list."
#: By pydantic's type of error; what is in braces is its context.
_SENTENCES = {
    "missing": "This key is needed. Add it.",
    "string_type": "This has to be a text. Put it in quotes if it looks like a number or a date.",
    "int_type": "This has to be a whole number, without quotes.",
    "bool_type": "This has to be true or false.",
    "model_type": _KEYS,
    "mapping_type": _KEYS,
    "dict_type": _KEYS,
    "tuple_type": _LIST,
    "list_type": _LIST,
    "literal_error": "This has to be {expected}.",
    "enum": "This has to be {expected}.",
    "string_too_short": "This has to be a text, not an empty one.",
    "string_too_long": "This has to be a text of {max_length} characters at most.",
    "too_short": "This is empty. Add at least one, or remove the key.",
    "greater_than_equal": "The least is {ge}.",
    "less_than_equal": "The most is {le}.",
    "value_error": "{error}",
}
Way = tuple[str | int, ...]


def sentences(error: ValidationError) -> Iterator[tuple[Way, str]]:
    """Yield where something is wrong, and what it is, for each thing once."""
    found = error.errors(include_url=False, include_input=False)
    wrong = [_way(one) for one in found]
    for way, one in zip(wrong, found, strict=True):
        # A list whose items are all wrong also counts as too short.
        if one["type"] != "too_short" or not any(w[: len(way)] == way != w for w in wrong):
            yield way, _sentence(way, one)


def _way(error: ErrorDetails) -> Way:
    """Return the keys to a part; pydantic marks a mapping's own key so."""
    return tuple(step for step in error["loc"] if step != "[key]")


def _sentence(way: Way, error: ErrorDetails) -> str:
    if error["type"] == "extra_forbidden":
        return _unknown_key(str(way[-1]), sorted(part(way[:-1]).get("properties", ())))
    if error["type"] == "string_pattern_mismatch":
        kind = KINDS[error["ctx"]["pattern"]]
        return f"This is no {kind.title.lower()}. Write it like {kind.example}."
    text = _SENTENCES.get(error["type"], "{message}.")
    text = text.format(message=error["msg"], **error.get("ctx", {}))
    example = "" if error["type"] == "value_error" else _example(part(way))
    return f"{text} An example: {example}" if example else text


def _unknown_key(key: str, known: list[str]) -> str:
    close = get_close_matches(key, known, n=1)
    meant = f" Perhaps {close[0]} is meant." if close else ""
    return f"There is no such key here.{meant} Known are {', '.join(known)}."


def _example(about: dict[str, Any]) -> str:
    """Return an example in one line, as YAML takes it too."""
    examples = about.get("examples")
    return json.dumps(examples[0]) if examples else ""
