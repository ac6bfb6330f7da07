# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Surveys generated from argument files, with each type of question."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ansible_collections.postroom.email.plugins.filter.survey_spec import survey_spec
from ansible_collections.postroom.email.tests.fakes.awx import surveys

SCHEMA = Path(__file__).resolve().parents[4] / "schemas" / "survey.schema.json"
SURVEYS = Draft202012Validator(json.loads(SCHEMA.read_text("utf-8")))
ASKED = {"question": "Which one"}


def question(*survey: Any, **option: Any) -> dict[str, Any]:
    """Return the question for an option, which is a string by default."""
    words = survey[0] if survey else ASKED
    about = {"type": "str", "description": "What it is for.", "survey": words, **option}
    made = survey_spec({"options": {"mail_it": about}})
    assert refused(made) == []
    (asked,) = made["spec"]
    return dict(asked)


def refused(survey: dict[str, Any]) -> list[str]:
    """Return the errors from the schema, from AWX, and from an AWX launch with the defaults."""
    found = [error.message for error in SURVEYS.iter_errors(survey)]
    problem = surveys.problem_of(survey) if survey["spec"] else None
    return [*found, *([problem] if problem else []), *surveys.problems_of_defaults(survey)]


def test_a_question_has_all_that_awx_needs() -> None:
    """A question has every field that AWX needs, with the texts of the argument file."""
    assert question(description=["One.", "Two."]) == {
        "variable": "mail_it",
        "question_name": "Which one",
        "question_description": "One. Two.",
        "required": False,
        "type": "text",
    }
    words = {**ASKED, "description": "One a line."}
    assert question(words)["question_description"] == "One a line."


@pytest.mark.parametrize(
    ("option", "asked"),
    [
        ({}, {"type": "text"}),
        ({"no_log": True}, {"type": "password"}),
        (
            {"choices": ["a", "b"], "default": "b"},
            {"type": "multiplechoice", "choices": ["a", "b"], "default": "b"},
        ),
        ({"type": "bool"}, {"type": "multiplechoice", "choices": ["true", "false"]}),
        (
            {"type": "bool", "default": False},
            {"type": "multiplechoice", "choices": ["true", "false"], "default": "false"},
        ),
        ({"type": "int", "default": 0}, {"type": "integer", "default": 0}),
        (
            {"survey": {**ASKED, "min": 1, "max": 9}, "default": "abc"},
            {"type": "text", "default": "abc", "min": 1, "max": 9},
        ),
        ({"survey": {**ASKED, "min": -5}, "type": "int"}, {"type": "integer", "min": -5}),
        ({"type": "float", "default": 5}, {"type": "float", "default": 5.0}),
        ({"type": "list", "elements": "str", "default": []}, {"type": "textarea"}),
        (
            {"type": "list", "elements": "path", "default": ["a b", "c"]},
            {"type": "textarea", "default": "a b\nc"},
        ),
        (
            {"type": "list", "elements": "str", "choices": ["a", "b"], "default": ["b", "a"]},
            {"type": "multiselect", "choices": ["a", "b"], "default": "b\na"},
        ),
    ],
)
def test_kinds_of_questions(option: dict[str, Any], asked: dict[str, Any]) -> None:
    """Each type of option becomes a question whose default has the type that AWX requires."""
    found = question(**option)
    assert found == {**question(), **asked}
    assert type(found.get("default")) is type(asked.get("default"))


def test_the_kind_of_text_can_be_told() -> None:
    """An argument file can set the type of a text question, and a list's default depends on it."""
    words = {**ASKED, "type": "text"}
    found = question(words, type="list", elements="str", default=["a", "b"])
    assert (found["type"], found["default"]) == ("text", "a,b")
    assert question({**ASKED, "type": "textarea"}, default="a\nb")["default"] == "a\nb"


def test_only_what_has_a_survey_is_asked_in_order() -> None:
    """Only options with a survey entry become questions, in order. The survey may be empty."""
    silent = {"type": "str", "description": "Not asked."}
    asked = {**silent, "survey": ASKED}
    spec = survey_spec({"options": {"mail_b": asked, "mail_c": silent, "mail_a": asked}})["spec"]
    assert [one["variable"] for one in spec] == ["mail_b", "mail_a"]
    empty = {"name": "", "description": "", "spec": []}
    assert survey_spec({"options": {"mail_c": silent}}) == empty
