# Copyright (c) 2026, Postroom contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: survey_spec
short_description: Make a survey of AWX from the arguments of a playbook
version_added: 0.1.0
description:
  - Returns what AWX asks whoever launches a playbook, out of the file that says what the playbook
    takes. So questions, types, defaults and choices are written once.
  - The playbooks of this collection have such files in C(playbooks/arguments). Their form is
    described by C(schemas/arguments.schema.json).
  - AWX asks for what has a C(survey). A text is asked for in one line, a list with one entry a
    line, a boolean as a choice of V(true) and V(false), what has C(choices) as a choice of them,
    and what has C(no_log) as a password.
  - Fails where AWX would refuse the survey, and where it would silently leave out a default.
author:
  - Postroom contributors (@postroom)
options:
  _input:
    description: What the argument file of a playbook holds.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show what AWX asks whoever launches a playbook
  ansible.builtin.debug:
    msg: "{{ arguments | postroom.email.survey_spec }}"
  vars:
    arguments:
      options:
        mail_alias:
          description: The alias.
          type: str
          required: true
          survey:
            question: Alias to add
            max: 254

- name: Keep a job template and its survey
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
    - The survey, as the option O(awx.awx.job_template#module:survey_spec) takes it.
    - It has C(name) and C(description), which are empty, and C(spec), the questions in the order of
      the file. Where nothing is asked, C(spec) is empty; AWX refuses such a survey, so leave it out.
  type: dict
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.postroom.email.plugins.plugin_utils import _surveys
from ansible_collections.postroom.email.plugins.plugin_utils._filtering import as_filter


@as_filter
def survey_spec(arguments: Any) -> dict[str, Any]:
    return _surveys.survey_spec(arguments)


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"survey_spec": survey_spec}
