# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""AWX's rules for surveys, and for the answers to them."""

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
    """Return a survey that asks for these texts, and whether it needs an answer."""
    spec = [
        {"question_name": name, "variable": name, "type": "text", "required": is_needed}
        for name, is_needed in needed.items()
    ]
    return {"name": "", "description": "", "spec": spec}


def problem_of(survey: Mapping[str, Any]) -> str | None:
    """Return what AWX has against a survey, or None."""
    return next(_problems(survey), None)


def shown(survey: Mapping[str, Any]) -> dict[str, Any]:
    """Return a survey as AWX shows it: defaults of passwords are encrypted."""
    spec = [
        {**item, "default": ENCRYPTED}
        if item["type"] == "password" and item.get("default")
        else item
        for item in survey.get("spec", ())
    ]
    return {**survey, "spec": spec} if survey else {}


def problems_of_answers(survey: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
    """Return why a job would not start with these answers."""
    found: list[str] = []
    for item in survey.get("spec", ()):
        name = item["variable"]
        if name in given:
            found += _problems_of_answer(item, given[name])
        elif item["required"]:
            found.append(f"'{name}' value missing")
    return found


def problems_of_defaults(survey: Mapping[str, Any]) -> list[str]:
    """Return why defaults would not do as answers: AWX leaves such out, without a word."""
    items = [item for item in survey["spec"] if "default" in item]
    given = {
        item["variable"]: item["default"].splitlines()
        if item["type"] == "multiselect"
        else item["default"]
        for item in items
    }
    return problems_of_answers({**survey, "spec": items}, given)


def _problems(survey: Mapping[str, Any]) -> Iterator[str]:
    for key, expected, words in (
        ("name", str, "string"),
        ("description", str, "string"),
        ("spec", list, "list of items"),
    ):
        if key not in survey:
            yield f"Field '{key}' is missing from survey spec."
        elif not isinstance(survey[key], expected):
            got = type(survey[key]).__name__
            yield f"Expected {words} for field '{key}', received {got} type."
    if not survey["spec"]:
        yield "'spec' doesn't contain any items."
    variables: set[str] = set()
    for index, item in enumerate(survey["spec"]):
        yield from _problems_of_question(index, item)
        if item["variable"] in variables:
            yield f"'variable' '{item['variable']}' duplicated in survey question {index}."
        variables.add(item["variable"])


def _problems_of_question(index: int, item: Any) -> Iterator[str]:
    if not isinstance(item, dict):
        yield f"Survey question {index} is not a json object."
    for key, expected in _NEEDED.items():
        if key not in item:
            yield f"'{key}' missing from survey question {index}"
        elif not isinstance(item[key], expected):
            yield f"'{key}' in survey question {index} expected to be {_WORDS[expected]}."
    if item["type"] not in _TYPES:
        yield (
            f"'{item['type']}' in survey question {index} is not one of "
            f"'{', '.join(_TYPES)}' allowed question types."
        )
    yield from _problems_of_default(index, item)
    for key in ("min", "max"):
        if item.get(key) is not None and not isinstance(item[key], int):
            yield f"The {key} limit in survey question {index} expected to be integer."
    if item["type"] in _CHOOSING:
        yield from _problems_of_choices(index, item)


def _problems_of_default(index: int, item: Mapping[str, Any]) -> Iterator[str]:
    default = item.get("default", "")
    expected = _TYPES[item["type"]]
    if default != "" and not isinstance(default, expected):
        yield (
            f"Default value {default} in survey question {index} expected to be {_WORDS[expected]}."
        )
    if isinstance(default, str) and default.startswith(ENCRYPTED):
        yield (
            "$encrypted$ is a reserved keyword for password question defaults, "
            f"survey question {index} is type {item['type']}."
        )


def _problems_of_choices(index: int, item: Mapping[str, Any]) -> Iterator[str]:
    if "choices" not in item:
        yield f"Survey question {index} of type {item['type']} must specify choices."
        return
    chosen = item.get("default", "").splitlines()
    if item["type"] == "multiplechoice" and len(chosen) > 1:
        yield "Multiple Choice (Single Select) can only have one default value."
    if any(one not in item["choices"] for one in chosen):
        yield "Default choice must be answered from the choices listed."


def _problems_of_answer(item: Mapping[str, Any], answer: Any) -> Iterator[str]:
    name = item["variable"]
    expected = list if item["type"] == "multiselect" else _TYPES[item["type"]]
    # A whole number will do for one with a point; a boolean will do for neither.
    if type(answer) not in ((float, int) if expected is float else (expected,)):
        words = {str: "a string", int: "an integer", float: "a numeric type", list: "a list"}
        yield f"Value {answer} for '{name}' expected to be {words[expected]}."
    elif item["type"] in _CHOOSING:
        for one in answer if expected is list else [answer]:
            if one not in item["choices"]:
                yield f"Value {one} for '{name}' expected to be one of {item['choices']}."
    else:
        yield from _problems_of_size(item, answer)


def _problems_of_size(item: Mapping[str, Any], answer: Any) -> Iterator[str]:
    size = len(answer) if isinstance(answer, str) else answer
    least, most = item.get("min"), item.get("max")
    if least is not None and size < least:
        yield f"'{item['variable']}' value {answer} is too small (must be at least {least})."
    if most is not None and size > most:
        yield f"'{item['variable']}' value {answer} is too large (must be no more than {most})."
