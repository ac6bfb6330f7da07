# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""pydantic's validation errors as sentences with a remedy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from postroom_bot.policy.schema import part
from postroom_bot.policy.types import KINDS

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_KEYS = "Must be a mapping: keys with values, one per line."
_LIST = "Must be a list."
#: By pydantic's error type. Placeholders are the error's context.
_SENTENCES = {
    "missing": "This key is required. Add it.",
    "string_type": "Must be a string. Quote it if it looks like a number or a date.",
    "int_type": "Must be an integer, without quotes.",
    "bool_type": "Must be true or false.",
    "model_type": _KEYS,
    "mapping_type": _KEYS,
    "dict_type": _KEYS,
    "tuple_type": _LIST,
    "list_type": _LIST,
    "literal_error": "Must be {expected}.",
    "enum": "Must be {expected}.",
    "string_too_short": "Must not be empty.",
    "string_too_long": "Must have at most {max_length} characters.",
    "too_short": "Must not be empty. Add an item, or remove the key.",
    "greater_than_equal": "Must be at least {ge}.",
    "less_than_equal": "Must be at most {le}.",
    "value_error": "{error}",
}
Way = tuple[str | int, ...]


def sentences(error: ValidationError) -> Iterator[tuple[Way, str]]:
    """Yield the path and the sentence of each error."""
    found = error.errors(include_url=False, include_input=False)
    wrong = [_way(one) for one in found]
    for way, one in zip(wrong, found, strict=True):
        # pydantic also reports a list as too short if all its items are invalid.
        if one["type"] != "too_short" or not any(w[: len(way)] == way != w for w in wrong):
            yield way, _sentence(way, one)


def _way(error: ErrorDetails) -> Way:
    """Return the path of an error. pydantic marks errors of a key itself."""
    return tuple(step for step in error["loc"] if step != "[key]")


def _sentence(way: Way, error: ErrorDetails) -> str:
    if error["type"] == "extra_forbidden":
        known = ", ".join(sorted(part(way[:-1]).get("properties", ())))
        return f"Unknown key. The keys here are: {known}."
    if error["type"] == "string_pattern_mismatch":
        kind = KINDS[error["ctx"]["pattern"]]
        return f"Not a valid {kind.title.lower()}. Write it like {kind.example}."
    text = _SENTENCES.get(error["type"], "{message}.")
    text = text.format(message=error["msg"], **error.get("ctx", {}))
    example = "" if error["type"] == "value_error" else _example(part(way))
    return f"{text} Example: {example}" if example else text


def _example(about: dict[str, Any]) -> str:
    """Return an example in one line, which is also YAML."""
    examples = about.get("examples")
    return json.dumps(examples[0]) if examples else ""
