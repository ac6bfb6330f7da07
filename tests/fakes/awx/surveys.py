# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""AWX's rules for surveys and answers, in addition to `schemas/survey.schema.json`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

ENCRYPTED = "$encrypted$"
_NUMBERS: Mapping[str, type] = {"integer": int, "float": float}


def of_texts(**needed: bool) -> dict[str, Any]:
    """Return a survey with text questions, each of which is either required or optional."""
    spec = [
        {"question_name": name, "variable": name, "type": "text", "required": is_needed}
        for name, is_needed in needed.items()
    ]
    return {"name": "", "description": "", "spec": spec}


def problem_of(survey: Mapping[str, Any]) -> str | None:
    """Return the reason why AWX refuses a survey, or None."""
    return next(_problems(survey["spec"]), None)


def problems_of_answers(survey: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
    """Return the reasons why AWX refuses these answers."""
    found: list[str] = []
    for item in survey.get("spec", ()):
        name = item["variable"]
        if name in given:
            found += _problems_of_answer(item, given[name])
        elif item["required"]:
            found.append(f"'{name}' value missing")
    return found


def problems_of_defaults(survey: Mapping[str, Any]) -> list[str]:
    """Return the reasons why defaults are not valid answers.

    AWX silently omits invalid defaults.
    """
    items = [item for item in survey["spec"] if "default" in item]
    given = {
        item["variable"]: item["default"].splitlines()
        if item["type"] == "multiselect"
        else item["default"]
        for item in items
    }
    return problems_of_answers({**survey, "spec": items}, given)


def _problems(spec: list[Mapping[str, Any]]) -> Iterator[str]:
    if not spec:
        yield "'spec' doesn't contain any items."
    variables = [item["variable"] for item in spec]
    for index, item in enumerate(spec):
        if item["variable"] in variables[:index]:
            yield f"'variable' '{item['variable']}' duplicated in survey question {index}."
        default, expected = item.get("default", ""), _NUMBERS.get(item["type"], str)
        if default != "" and not isinstance(default, expected):
            yield f"Default value {default} in question {index} expected to be {expected}."
        elif item["type"] in ("multiplechoice", "multiselect"):
            chosen = default.splitlines()
            if item["type"] == "multiplechoice" and len(chosen) > 1:
                yield "Multiple Choice (Single Select) can only have one default value."
            if any(one not in item["choices"] for one in chosen):
                yield "Default choice must be answered from the choices listed."


def _problems_of_answer(item: Mapping[str, Any], answer: Any) -> Iterator[str]:
    name = item["variable"]
    expected = list if item["type"] == "multiselect" else _NUMBERS.get(item["type"], str)
    # An integer is a valid float, but a boolean is valid as neither.
    if type(answer) not in ((float, int) if expected is float else (expected,)):
        yield f"Value {answer} for '{name}' expected to be of type {expected.__name__}."
    elif "choices" in item:
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
