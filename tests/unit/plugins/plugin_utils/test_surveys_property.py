# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Surveys out of whatever argument files: AWX takes each of them, and so does the schema."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from ansible_collections.postroom.email.plugins.module_utils._api.errors import InvalidInput
from ansible_collections.postroom.email.plugins.plugin_utils._surveys import survey_spec
from ansible_collections.postroom.email.tests.fakes.awx import surveys

ROOT = Path(__file__).resolve().parents[4]


def schema(name: str) -> Draft202012Validator:
    """Return one of the project's schemas."""
    text = (ROOT / "schemas" / f"{name}.schema.json").read_text("utf-8")
    return Draft202012Validator(json.loads(text))


FILES = schema("arguments")
SURVEYS = schema("survey")

words = st.sampled_from(["a", "b c", "caf\u00e9", "it's", "$x", "{{ y }}", "no", "1.", '"'])
names = st.sampled_from(["mail_a", "mail_b2", "mail_c_d", "mail_e"])
sentences = words.map(lambda text: f"{text}.")
numbers = st.integers(-(2**40), 2**40)
choices = st.lists(words, min_size=1, max_size=3, unique=True)


def rules(*options: str, **parts: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return mappings with a description and these keys; those of ``options`` may be missing."""
    parts["description"] = sentences | st.lists(sentences, min_size=1, max_size=2)
    optional = {key: parts.pop(key) for key in options}
    return st.fixed_dictionaries(parts, optional=optional)


def asked(**more: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return surveys of an option, with the keys that every one can have."""
    optional = {"description": sentences, **more}
    return st.fixed_dictionaries({"question": words}, optional=optional)


def bounded(least: int) -> st.SearchStrategy[dict[str, Any]]:
    """Return surveys with limits, which are in order and leave room for a default."""
    return asked(min=st.integers(least, 0), max=st.integers(100, 2**50))


@st.composite
def chosen(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a text or a list with choices, and a default among them."""
    offered = draw(choices)
    several = st.lists(st.sampled_from(offered), unique=True)
    kind = draw(st.sampled_from(["str", "list"]))
    default = st.sampled_from(offered) if kind == "str" else several
    option = draw(rules("default", type=st.just(kind), default=default, survey=asked()))
    return {**option, "choices": offered, **({"elements": "str"} if kind == "list" else {})}


kind_of_text = st.sampled_from(["text", "textarea"])
options = st.one_of(
    rules("default", type=st.sampled_from(["str", "path"]), default=words, survey=bounded(0)),
    rules("required", type=st.just("str"), required=st.booleans(), survey=asked(type=kind_of_text)),
    rules("required", type=st.just("str"), required=st.booleans(), no_log=st.just(True),
          survey=bounded(0)),
    rules("default", type=st.just("bool"), default=st.booleans(), survey=asked()),
    rules("default", type=st.just("int"), default=st.integers(0, 100), survey=bounded(-9)),
    rules("default", type=st.just("float"), default=st.floats(0, 100) | st.integers(0, 100),
          survey=bounded(-9)),
    rules("default", type=st.just("list"), elements=st.sampled_from(["str", "path"]),
          default=st.lists(words, max_size=3), survey=asked(type=kind_of_text)),
    chosen(),
    # Not asked for, and so as it likes.
    rules("default", type=st.just("dict"), default=st.just({"a": 1})),
)  # fmt: skip
files = st.fixed_dictionaries(
    {
        "short_description": st.just("Does something"),
        "description": st.lists(sentences, min_size=1, max_size=2),
        "repeatable": st.booleans(),
        "options": st.dictionaries(names, options, min_size=1, max_size=4),
        "example": st.just("ansible-playbook postroom.email.something\n"),
    }
)


def refused(survey: dict[str, Any]) -> list[str]:
    """Return what the schema, AWX, and AWX at a launch with the defaults have against it."""
    found = [error.message for error in SURVEYS.iter_errors(survey)]
    problem = surveys.problem_of(survey) if survey["spec"] else None
    return [*found, *([problem] if problem else []), *surveys.problems_of_defaults(survey)]


@settings(max_examples=150)
@given(arguments=files)
def test_a_valid_file_makes_a_valid_survey(arguments: dict[str, Any]) -> None:
    """AWX stores it as it is, and takes its defaults as answers."""
    assert [error.message for error in FILES.iter_errors(arguments)] == []
    before = copy.deepcopy(arguments)
    survey = survey_spec(arguments)
    assert arguments == before
    assert refused(survey) == []
    options = arguments["options"]
    spec = survey["spec"]
    assert [one["variable"] for one in spec] == [n for n in options if "survey" in options[n]]
    for question in spec:
        option = options[question["variable"]]
        assert question["question_name"] == option["survey"]["question"]
        assert question["required"] == option.get("required", False)


JUNK: list[Any] = [None, True, -1, 0, 7, 0.5, 10**400, "", " ", "a\nb", "a\n", "a,b", "x\u2028y",
                   "$encrypted$", "str", "int", "list", "text", "textarea", "password", [], {},
                   ["a"], [7], {"question": "a"}]  # fmt: skip
KEYS = ["type", "default", "choices", "elements", "required", "no_log", "survey", "min", "max"]


def places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each container in a file with each of its keys, and keys that are not there yet."""
    if isinstance(data, dict):
        for key in [*data, *KEYS]:
            yield data, key
        for value in data.values():
            yield from places(value)
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield data, index
            yield from places(value)


@settings(max_examples=300)
@given(arguments=files, data=st.data())
def test_a_spoiled_file_is_refused_or_makes_a_valid_survey(
    arguments: dict[str, Any], data: st.DataObject
) -> None:
    """There is nothing in between, and no other error."""
    spoiled = copy.deepcopy(arguments)
    for _time in range(data.draw(st.integers(1, 2))):
        container, key = data.draw(st.sampled_from(list(places(spoiled["options"]))))
        container[key] = copy.deepcopy(data.draw(st.sampled_from(JUNK)))
    try:
        wrong = refused(survey_spec(spoiled))
    except InvalidInput as error:
        wrong = [] if str(error).startswith("options.") else [str(error)]
    assert wrong == []
