# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: survey_spec
short_description: Create an AWX survey from a playbook's argument file
version_added: 0.1.0
description:
  - Returns the survey that AWX shows when a playbook is launched. Questions, types, defaults and
    choices come from the argument file, which documents the playbook's variables.
  - The argument files of this collection's playbooks are in C(playbooks/arguments). The input must
    follow the schema C(schemas/arguments.schema.json). This filter does not validate it.
  - The survey has a question for each option with the key C(survey). A string becomes one line of
    text, a list becomes text with one entry per line, and a boolean becomes a choice between
    V(true) and V(false). An option with C(choices) becomes a selection, and an option with
    C(no_log) becomes a password field.
author: [Postroom contributors (@postroom)]
options:
  _input: {description: The content of the argument file., type: dict, required: true}
"""

EXAMPLES = r"""
- name: Create a job template with a survey
  awx.awx.job_template:
    name: Add an alias
    project: Mail
    playbook: add_alias.yml
    survey_enabled: true
    survey_spec: >-
      {{ lookup('ansible.builtin.file', 'arguments/add_alias.yml')
      | from_yaml | postroom.email.survey_spec }}
"""

RETURN = r"""
_value:
  description:
    - The survey, for the option O(awx.awx.job_template#module:survey_spec).
    - C(spec) lists the questions in the order of the file. If it is empty, omit the survey, because
      AWX rejects a survey without questions.
  type: dict
"""

from collections.abc import Callable, Mapping
from typing import Any

from ..plugin_utils._filters import as_filter

#: AWX's question type for each of Ansible's types.
_QUESTION_TYPES = {
    "str": "text",
    "path": "text",
    "list": "textarea",
    "int": "integer",
    "float": "float",
    "bool": "multiplechoice",
}


@as_filter
def survey_spec(arguments: Mapping[str, Any]) -> dict[str, Any]:
    spec = [
        {"variable": variable, **_question(option)}
        for variable, option in arguments["options"].items()
        if "survey" in option
    ]
    return {"name": "", "description": "", "spec": spec}


def _question(option: Mapping[str, Any]) -> dict[str, Any]:
    survey = option["survey"]
    description = survey.get("description", option["description"])
    choices = option.get("choices", ["true", "false"] if option["type"] == "bool" else [])
    kind = survey.get("type", _QUESTION_TYPES[option["type"]])
    if option.get("no_log"):
        kind = "password"
    elif choices:
        kind = "multiselect" if option["type"] == "list" else "multiplechoice"
    question = {
        "question_name": survey["question"],
        "question_description": description
        if isinstance(description, str)
        else " ".join(description),
        "required": option.get("required", False),
        "type": kind,
        **{limit: survey[limit] for limit in ("min", "max") if limit in survey},
    }
    if choices:
        question["choices"] = list(choices)
    default = option.get("default")
    if isinstance(default, bool):
        default = str(default).lower()
    elif isinstance(default, list):
        default = ("," if kind == "text" else "\n").join(default)
    elif kind == "float" and default is not None:
        # AWX rejects an integer as the default of a float.
        default = float(default)
    if default not in (None, ""):
        question["default"] = default
    return question


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"survey_spec": survey_spec}
