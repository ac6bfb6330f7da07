# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The argument files document every playbook variable, and AWX accepts the surveys."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ansible_collections.postroom.email.plugins.filter.survey_spec import survey_spec
from ansible_collections.postroom.email.tests.fakes.awx import surveys
from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tests.support.variables import Playbook
from ansible_collections.postroom.email.tools import playbook_reference as reference

PLAYBOOKS = repository.playbooks()
FILES = reference.read_all()
#: Variables that the inventory plugin sets on its hosts.
HOST_VARIABLES = {"email_domain"}
#: Lists for which an empty value means the default.
NEVER_EMPTY = {"awx_definition_files", "awx_playbooks"}


def schema(name: str) -> dict[str, Any]:
    """Return one of the schemas."""
    found: dict[str, Any] = json.loads(repository.read(f"schemas/{name}.schema.json"))
    return found


def test_each_playbook_has_an_argument_file() -> None:
    """Each playbook has an argument file that matches the schema."""
    assert list(reference.playbooks(FILES)) == PLAYBOOKS
    shared = {name for file in FILES.values() for name in file.get("options_from", [])}
    assert shared == FILES.keys() - {*PLAYBOOKS}
    for name in ("arguments", "survey"):
        Draft202012Validator.check_schema(schema(name))
    definitions = schema("arguments")["$defs"]
    for name, file in FILES.items():
        part = "playbook" if name in PLAYBOOKS else "shared"
        Draft202012Validator({"$defs": definitions, "$ref": f"#/$defs/{part}"}).validate(file)
    assert repository.read("docs/reference/playbooks.md") == reference.reference(FILES)
    table = r"^\| \[`(\w+)`\]\(docs/reference/playbooks\.md#\1\) \| (.+)\. \|$"
    rows = dict(re.findall(table, repository.read("README.md"), re.MULTILINE))
    assert rows == {name: FILES[name]["short_description"] for name in PLAYBOOKS}


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_every_variable_is_documented(playbook: str) -> None:
    """An argument file lists exactly the playbook's variables, each once and with its default."""
    code = Playbook(repository.ROOT / "playbooks" / f"{playbook}.yml")
    files = [FILES[playbook], *(FILES[n] for n in FILES[playbook].get("options_from", []))]
    names = [name for file in files for name in file["options"]]
    options = reference.options(FILES, playbook)
    assert sorted(names) == sorted(options)
    assert all(
        {"required", "default", "default_text"} & option.keys() for option in options.values()
    )
    of_roles = tuple(f"{role}_" for role in code.roles)
    unknown = code.taken - options.keys() - HOST_VARIABLES
    assert [name for name in unknown if not name.startswith(of_roles)] == []
    roles = repository.roles() if code.roles else []
    of_any_role = {name for role in roles for name in repository.role_options(role)}
    assert options.keys() - code.taken <= of_any_role
    assert {*FILES[playbook].get("roles", [])} <= code.roles
    # `default(X, true)` also replaces false, 0 and an empty list, which are values.
    kinds = {name: option["type"] for name, option in options.items()}
    replaced = {name for name in code.swallowed if kinds.get(name) not in (None, "str", "path")}
    assert replaced <= NEVER_EMPTY


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_the_example_has_every_required_variable(playbook: str) -> None:
    """The example in an argument file sets all required variables, and only documented ones."""
    example = FILES[playbook]["example"]
    given = set(re.findall(r"-e (\w+)=", example))
    options = reference.options(FILES, playbook)
    required = {name for name, option in options.items() if option.get("required")}
    assert required <= given <= options.keys() | HOST_VARIABLES
    assert f"postroom.email.{playbook} " in example


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_awx_accepts_the_survey(playbook: str) -> None:
    """AWX accepts the survey, which asks for secrets in password fields."""
    survey = survey_spec(FILES[playbook])
    Draft202012Validator(schema("survey")).validate(survey)
    assert not survey["spec"] or surveys.problem_of(survey) is None
    assert surveys.problems_of_defaults(survey) == []
    kinds = {one["variable"]: one["type"] for one in survey["spec"]}
    for name, option in reference.options(FILES, playbook).items():
        assert name.startswith("vault_") == option.get("no_log", False), name
        assert kinds.get(name) != "password" or option["no_log"]
