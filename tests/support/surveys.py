# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What AWX says of a survey, and of an answer: its own rules, told anew.

They are those of the view that stores a survey and of the check before a launch, in AWX 21 to 24.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

#: The type that a default has to have, by type of question.
TYPES: dict[str, type] = {
    "text": str,
    "textarea": str,
    "password": str,
    "multiplechoice": str,
    "multiselect": str,
    "integer": int,
    "float": float,
}
RESERVED = "$encrypted$"


def refusals(survey: dict[str, Any]) -> list[str]:
    """Return why AWX does not store a survey, nothing where it does."""
    for field, expected in (("name", str), ("description", str), ("spec", list)):
        if not isinstance(survey.get(field), expected):
            return [f"Expected {expected.__name__} for field {field}"]
    if not survey["spec"]:
        return ["'spec' doesn't contain any items."]
    variables = [question.get("variable") for question in survey["spec"]]
    found = [f"{one} duplicated" for one in {*variables} if variables.count(one) > 1]
    return found + [text for question in survey["spec"] for text in _refusals(question)]


def wrong_answers(question: dict[str, Any], answer: Any) -> list[str]:
    """Return why AWX does not launch a job with that answer to a question.

    A default goes through the same check, and is left out where it does not pass.
    """
    kind = question["type"]
    if kind in ("text", "textarea", "password"):
        return [*_limits(question, len(answer))] if isinstance(answer, str) else ["no string"]
    if kind == "integer":
        return [*_limits(question, answer)] if type(answer) is int else ["no integer"]
    if kind == "float":
        return [*_limits(question, answer)] if type(answer) in (int, float) else ["no number"]
    chosen = answer if kind == "multiselect" else [answer]
    if not isinstance(chosen, list):
        return ["no list"]
    return [f"{one} is no choice" for one in chosen if one not in lines(question["choices"])]


def lines(choices: str | Sequence[str]) -> list[str]:
    """Return choices, which may be lines of one text."""
    if isinstance(choices, str):
        return [line for line in choices.splitlines() if line.strip()]
    return [*choices]


def _refusals(question: dict[str, Any]) -> Iterator[str]:
    for field in ("type", "question_name", "variable", "required"):
        expected = bool if field == "required" else str
        if not isinstance(question.get(field), expected):
            yield f"{field} expected to be {expected.__name__}"
            return
    kind = question["type"]
    if kind not in TYPES:
        yield f"{kind} is not one of the allowed question types"
        return
    default = question.get("default", "")
    if default != "" and not isinstance(default, TYPES[kind]):
        yield f"Default value of {question['variable']} expected to be {TYPES[kind].__name__}"
    for limit in ("min", "max"):
        if not isinstance(question.get(limit), (int, type(None))):
            yield f"The {limit} limit expected to be integer"
    if kind in ("multiplechoice", "multiselect"):
        yield from _bad_choices(question)
    if isinstance(default, str) and default.startswith(RESERVED):
        yield f"{RESERVED} is a reserved keyword"


def _bad_choices(question: dict[str, Any]) -> Iterator[str]:
    if "choices" not in question:
        yield f"{question['variable']} must specify choices"
        return
    defaults = lines(question.get("default", ""))
    if question["type"] == "multiplechoice" and len(defaults) > 1:
        yield "Multiple Choice (Single Select) can only have one default value."
    if any(one not in lines(question["choices"]) for one in defaults):
        yield "Default choice must be answered from the choices listed."


def _limits(question: dict[str, Any], size: float) -> Iterator[str]:
    if question.get("min") is not None and size < question["min"]:
        yield f"{size} is too small"
    if question.get("max") is not None and size > question["max"]:
        yield f"{size} is too large"
