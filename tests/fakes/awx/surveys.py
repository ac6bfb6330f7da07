# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""AWX's rules for surveys and for the answers to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

ENCRYPTED = "$encrypted$"
_TYPES: Mapping[str, type] = {
    "text": str,
    "textarea": str,
    "password": str,
    "multiplechoice": str,
    "multiselect": str,
    "integer": int,
    "float": float,
}
_NEEDED = {"type": str, "question_name": str, "variable": str, "required": bool}
_CHOOSING = ("multiplechoice", "multiselect")
_WORDS = {str: "string", bool: "boolean", int: "integer", float: "float"}


def of_texts(**needed: bool) -> dict[str, Any]:
    """Return a survey that asks for texts; each is required or not."""
    spec = [
        {"question_name": name, "variable": name, "type": "text", "required": is_needed}
        for name, is_needed in needed.items()
    ]
    return {"name": "", "description": "", "spec": spec}


def problem_of(survey: Mapping[str, Any]) -> str | None:
    """Return why AWX refuses a survey, or None."""
    return next(_problems(survey), None)


def problems_of_answers(survey: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
    """Return why a job does not start with these answers."""
    found: list[str] = []
    for item in survey.get("spec", ()):
        name = item["variable"]
        if name in given:
            found += _problems_of_answer(item, given[name])
        elif item["required"]:
            found.append(f"'{name}' value missing")
    return found


def problems_of_defaults(survey: Mapping[str, Any]) -> list[str]:
    """Return why defaults are not valid answers; AWX omits such defaults silently."""
    items = [item for item in survey["spec"] if "default" in item]
    given = {
        item["variable"]: item["default"].splitlines()
        if item["type"] == "multiselect"
        else item["default"]
        for item in items
    }
    return problems_of_answers({**survey, "spec": items}, given)


def _problems(survey: Mapping[str, Any]) -> Iterator[str]:
    for key in ("name", "description", "spec"):
        if key not in survey:
            yield f"Field '{key}' is missing from survey spec."
    if not survey["spec"]:
        yield "'spec' doesn't contain any items."
    variables: set[str] = set()
    for index, item in enumerate(survey["spec"]):
        yield from _problems_of_question(index, item)
        if item["variable"] in variables:
            yield f"'variable' '{item['variable']}' duplicated in survey question {index}."
        variables.add(item["variable"])


def _problems_of_question(index: int, item: Any) -> Iterator[str]:
    for key, expected in _NEEDED.items():
        if key not in item:
            yield f"'{key}' missing from survey question {index}"
        elif not isinstance(item[key], expected):
            yield f"'{key}' in survey question {index} expected to be {_WORDS[expected]}."
    if item["type"] not in _TYPES:
        yield f"'{item['type']}' in survey question {index} is not one of the question types."
    yield from _problems_of_default(index, item)


def _problems_of_default(index: int, item: Mapping[str, Any]) -> Iterator[str]:
    default, expected = item.get("default", ""), _TYPES[item["type"]]
    if default != "" and not isinstance(default, expected):
        yield f"Default value {default} in question {index} expected to be {_WORDS[expected]}."
    if item["type"] not in _CHOOSING:
        return
    if "choices" not in item:
        yield f"Survey question {index} of type {item['type']} must specify choices."
        return
    chosen = default.splitlines()
    if item["type"] == "multiplechoice" and len(chosen) > 1:
        yield "Multiple Choice (Single Select) can only have one default value."
    if any(one not in item["choices"] for one in chosen):
        yield "Default choice must be answered from the choices listed."


def _problems_of_answer(item: Mapping[str, Any], answer: Any) -> Iterator[str]:
    name = item["variable"]
    expected = list if item["type"] == "multiselect" else _TYPES[item["type"]]
    # An integer is a valid float; a boolean is neither.
    if type(answer) not in ((float, int) if expected is float else (expected,)):
        yield f"Value {answer} for '{name}' expected to be of type {expected.__name__}."
    elif item["type"] in _CHOOSING:
        for one in answer if expected is list else [answer]:
            if one not in item["choices"]:
                yield f"Value {one} for '{name}' expected to be one of {item['choices']}."
    else:
        size = len(answer) if isinstance(answer, str) else answer
        least, most = item.get("min"), item.get("max")
        if least is not None and size < least:
            yield f"'{name}' value {answer} is too small (must be at least {least})."
        if most is not None and size > most:
            yield f"'{name}' value {answer} is too large (must be no more than {most})."
