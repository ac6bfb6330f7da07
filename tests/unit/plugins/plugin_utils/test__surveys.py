# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Surveys out of argument files: each kind of question, and what is told of a malformed file."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.errors import InvalidInput
from ansible_collections.postroom.email.plugins.plugin_utils._surveys import survey_spec

ASKED = {"question": "Which one"}


def question(*survey: Any, **option: Any) -> dict[str, Any]:
    """Return the question for an option; without more words it is a text."""
    words = survey[0] if survey else ASKED
    about = {"type": "str", "description": "What it is for.", "survey": words, **option}
    (asked,) = survey_spec({"options": {"mail_it": about}})["spec"]
    return dict(asked)


def test_a_question_has_all_that_awx_wants() -> None:
    """Its words are those of the file."""
    assert question() == {
        "variable": "mail_it",
        "question_name": "Which one",
        "question_description": "What it is for.",
        "required": False,
        "type": "text",
    }


@pytest.mark.parametrize(
    ("option", "asked"),
    [
        ({}, {"type": "text"}),
        ({"default": "a"}, {"type": "text", "default": "a"}),
        ({"required": True}, {"type": "text", "required": True}),
        ({"type": "path"}, {"type": "text"}),
        ({"no_log": True}, {"type": "password"}),
        ({"choices": ["a", "b"], "default": "b"},
         {"type": "multiplechoice", "choices": ["a", "b"], "default": "b"}),
        ({"type": "bool"}, {"type": "multiplechoice", "choices": ["true", "false"]}),
        ({"type": "bool", "default": False},
         {"type": "multiplechoice", "choices": ["true", "false"], "default": "false"}),
        ({"type": "int", "default": 0}, {"type": "integer", "default": 0}),
        ({"type": "float", "default": 5}, {"type": "float", "default": 5.0}),
        ({"type": "list", "elements": "str"}, {"type": "textarea"}),
        ({"type": "list", "elements": "str", "default": []}, {"type": "textarea"}),
        ({"type": "list", "elements": "path", "default": ["a b", "c"]},
         {"type": "textarea", "default": "a b\nc"}),
        ({"type": "list", "elements": "str", "choices": ["a", "b"], "default": ["b", "a"]},
         {"type": "multiselect", "choices": ["a", "b"], "default": "b\na"}),
    ],
)  # fmt: skip
def test_the_kind_of_a_question_is_the_option_s(
    option: dict[str, Any], asked: dict[str, Any]
) -> None:
    """With a default of the type that AWX wants: it takes no 5 for a number with a point."""
    found = question(**option)
    assert found == {**question(), **asked}
    assert type(found.get("default")) is type(asked.get("default"))


def test_the_kind_of_text_can_be_told() -> None:
    """A list in one line has commas between its entries."""
    words = {**ASKED, "type": "text"}
    found = question(words, type="list", elements="str", default=["a", "b"])
    assert (found["type"], found["default"]) == ("text", "a,b")
    assert question({**ASKED, "type": "textarea"}, default="a\nb")["default"] == "a\nb"


def test_paragraphs_come_in_one_line() -> None:
    """AWX shows them beside the question, which may have words of its own there."""
    assert question(description=["One.", "Two."])["question_description"] == "One. Two."
    words = {**ASKED, "description": "One a line."}
    assert question(words)["question_description"] == "One a line."


def test_limits_are_passed_on() -> None:
    """Lengths of texts, and values of numbers."""
    words = {**ASKED, "min": 1, "max": 254}
    assert {"min": 1, "max": 254}.items() <= question(words, default="a" * 254).items()
    assert question({**ASKED, "min": -5}, type="int", default=-5)["min"] == -5


def test_only_what_has_a_survey_is_asked_in_order() -> None:
    """A playbook that asks for nothing has an empty survey."""
    silent = {"type": "str", "description": "Not asked."}
    asked = {**silent, "survey": ASKED}
    spec = survey_spec({"options": {"mail_b": asked, "mail_c": silent, "mail_a": asked}})["spec"]
    assert [one["variable"] for one in spec] == ["mail_b", "mail_a"]
    empty = {"name": "", "description": "", "spec": []}
    assert survey_spec({"options": {"mail_c": silent}}) == empty


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ({"survey": None},
         "options.mail_it.survey: this is no mapping. See the schema of argument files."),
        ({"survey": {"question": "a", "maximum": 5}},
         ("options.mail_it.survey: maximum is not known. Known here are question, description, "
          "type, min, max.")),
        ({"survey": {}}, "options.mail_it.survey.question: give what AWX is to ask, in one line."),
        ({"survey": {"question": "a\nb"}}, "options.mail_it.survey.question: give what AWX"),
        ({"description": 5}, "options.mail_it.description: give a text, or a list of them."),
        ({"required": "yes"}, "options.mail_it.required: give true or false."),
        ({"type": "dict"},
         ("options.mail_it.type: AWX cannot ask for 'dict'. Give one of str, path, list, int, "
          "float, bool, or leave out survey.")),
        ({"type": None}, "options.mail_it.type: AWX cannot ask for None."),
        ({"type": "list"},
         ("options.mail_it.elements: AWX asks for lists of texts. Give str or path, or leave out "
          "survey.")),
        ({"no_log": True, "default": "swordfish"},
         ("options.mail_it: AWX asks for a secret as a text without default and choices. Make it "
          "one, or leave out survey.")),
        ({"no_log": True, "type": "dict"}, "options.mail_it: AWX asks for a secret as a text"),
        ({"choices": "a"},
         "options.mail_it.choices: give a list of texts, each in one line."),
        ({"choices": [True, False]}, "options.mail_it.choices: give a list of texts"),
        ({"type": "int", "choices": ["1"]},
         "options.mail_it.choices: only a text or a list can have them."),
        ({"survey": {**ASKED, "type": "password"}},
         ("options.mail_it.survey.type: it can be text or textarea, and only for a text or a "
          "list.")),
        ({"survey": {**ASKED, "type": []}}, "options.mail_it.survey.type: it can be text"),
        ({"survey": {**ASKED, "type": "text"}, "type": "int"}, "options.mail_it.survey.type: it"),
        ({"survey": {**ASKED, "max": 5}, "type": "bool"},
         "options.mail_it.survey: where there are choices, leave out min and max."),
        ({"survey": {**ASKED, "max": "5"}},
         "options.mail_it.survey: min and max are whole numbers."),
        ({"survey": {**ASKED, "max": True}}, "options.mail_it.survey: min and max are whole"),
        ({"survey": {**ASKED, "min": -1}},
         "options.mail_it.survey: min and max are lengths of the text, at least 0."),
        ({"survey": {**ASKED, "min": 2, "max": 1}},
         "options.mail_it.survey: min is more than max."),
        ({"default": 5}, "options.mail_it.default: 5 is not of the type str."),
        ({"type": "int", "default": True}, "options.mail_it.default: True is not of the type int."),
        ({"type": "float", "default": float("inf")}, "options.mail_it.default: inf is not of the"),
        ({"type": "bool", "default": "no"}, "options.mail_it.default: 'no' is not of the type"),
        ({"type": "list", "elements": "str", "default": "a"}, "options.mail_it.default: 'a' is"),
        ({"type": "list", "elements": "str", "default": ["a,b"]},
         "options.mail_it.default: an entry has a comma, which would part it in the answer."),
        ({"default": "a\nb"}, r"options.mail_it.default: AWX does not take 'a\nb' as the default"),
        ({"default": "$encrypted$"}, "options.mail_it.default: AWX does not take '$encrypted$'"),
        ({"choices": ["a"], "default": "b"},
         "options.mail_it.default: it is not among the choices."),
        ({"survey": {**ASKED, "max": 1}, "default": "ab"},
         "options.mail_it.default: it is not between the survey's min and max."),
        ({"survey": {**ASKED, "min": 1}, "type": "int", "default": 0}, "options.mail_it.default"),
    ],
)  # fmt: skip
def test_a_malformed_option_is_told_in_a_sentence(option: dict[str, Any], sentence: str) -> None:
    """Where it is, what is wrong, and what can be given."""
    with pytest.raises(InvalidInput) as caught:
        question(**option)
    assert str(caught.value).startswith(sentence)


def test_a_secret_is_not_in_the_message() -> None:
    """A default that should not be there may be one."""
    with pytest.raises(InvalidInput) as caught:
        question(no_log=True, default="swordfish-of-the-tenant")
    assert "swordfish" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("options: {}", "The argument file: this is no mapping."),
        (None, "The argument file: this is no mapping."),
        ({}, "options: this is no mapping."),
        ({"options": []}, "options: this is no mapping."),
        ({"options": {"mail_it": "a"}}, "options.mail_it: this is no mapping."),
        ({"options": {"mail it": {"survey": ASKED}}}, "options.mail it: this is no name of a"),
        ({"options": {7: {"survey": ASKED}}}, "options.7: this is no name of a variable."),
    ],
)
def test_a_malformed_file_is_told_in_a_sentence(arguments: Any, sentence: str) -> None:
    """Also where it was not read from YAML."""
    with pytest.raises(InvalidInput) as caught:
        survey_spec(arguments)
    assert str(caught.value).startswith(sentence)
