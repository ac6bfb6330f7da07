# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What playbooks take is said in their argument files, all of it, and so is what AWX asks."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ansible_collections.postroom.email.plugins.plugin_utils._surveys import survey_spec
from ansible_collections.postroom.email.tests.fakes.awx import surveys
from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tests.support.variables import Playbook
from ansible_collections.postroom.email.tools import playbook_reference as reference

PLAYBOOKS = repository.playbooks()
FILES = reference.read_all()
#: What a host of the inventory plugin has.
HOST_VARIABLES = {"email_domain"}
#: Types of which an empty value is none.
TEXTS = ("str", "path")
#: Lists that would leave nothing to do if they were empty, and count as not given then.
NEVER_EMPTY = {"awx_definition_files", "awx_playbooks"}
SCHEMAS = ["arguments", "survey"]


def schema(name: str) -> dict[str, Any]:
    """Return one of the schemas."""
    found: dict[str, Any] = json.loads(repository.read(f"schemas/{name}.schema.json"))
    return found


def validator(part: str) -> Draft202012Validator:
    """Return what checks an argument file, as that of a playbook or as one with shared options."""
    about = schema("arguments")
    return Draft202012Validator({"$defs": about["$defs"], "$ref": f"#/$defs/{part}"})


def role_options(role: str) -> set[str]:
    """Return the variables that a role documents, for all of its entry points."""
    specs = repository.read_yaml(f"roles/{role}/meta/argument_specs.yml")["argument_specs"]
    return {name for entry in specs.values() for name in entry.get("options", {})}


def head(playbook: str) -> str:
    """Return the comment at the top of a playbook."""
    return repository.read(f"playbooks/{playbook}.yml").partition("\n- name:")[0]


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_one(name: str) -> None:
    """It is valid, its address is its place, and its examples keep to it."""
    about = schema(name)
    Draft202012Validator.check_schema(about)
    repository_url = repository.read_yaml("galaxy.yml")["repository"]
    assert about["$id"] == f"{repository_url}/raw/main/schemas/{name}.schema.json"
    for example in about["examples"]:
        Draft202012Validator(about).validate(example)


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_key_explains_itself(name: str) -> None:
    """An editor has a title, a sentence and an example to show."""
    about = schema(name)
    parts = [about, *about["$defs"].values()]
    for part in (part for part in parts if part.get("additionalProperties") is False):
        for key, rules in part["properties"].items():
            assert rules["title"], key
            assert rules["description"].endswith("."), key
            for example in rules["examples"]:
                Draft202012Validator({**rules, "$defs": about["$defs"]}).validate(example)


def test_each_playbook_has_an_argument_file() -> None:
    """And each argument file a playbook, or playbooks that share what it says."""
    assert list(reference.playbooks(FILES)) == PLAYBOOKS
    shared = {name for file in FILES.values() for name in file.get("options_from", [])}
    assert shared == FILES.keys() - {*PLAYBOOKS}


@pytest.mark.parametrize("name", FILES)
def test_an_argument_file_keeps_to_the_schema(name: str) -> None:
    """An editor knows which schema that is."""
    part = "playbook" if name in PLAYBOOKS else "shared"
    mistakes = validator(part).iter_errors(FILES[name])
    assert [f"{error.json_path}: {error.message}" for error in mistakes] == []
    modeline = f"# yaml-language-server: $schema={schema('arguments')['$id']}\n"
    assert repository.read(f"playbooks/arguments/{name}.yml").startswith(f"---\n{modeline}")


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_an_option_is_said_once(playbook: str) -> None:
    """By the playbook or in one of the files that it shares, with what is taken without it."""
    files = [FILES[playbook], *(FILES[n] for n in FILES[playbook].get("options_from", []))]
    names = [name for file in files for name in file["options"]]
    assert len(names) == len({*names})
    for name, option in reference.options(FILES, playbook).items():
        assert {"required", "default", "default_text"} & option.keys(), name


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_every_variable_is_documented(playbook: str) -> None:
    """What a playbook takes is in its argument file, and nothing else is."""
    code = Playbook(repository.ROOT / "playbooks" / f"{playbook}.yml")
    documented = {*reference.options(FILES, playbook)}
    of_roles = tuple(f"{role}_" for role in code.roles)
    strange = code.taken - documented - HOST_VARIABLES
    assert {name for name in strange if not name.startswith(of_roles)} == set()
    roles = [file.name for file in (repository.ROOT / "roles").iterdir()] if code.roles else []
    assert documented - code.taken <= {name for role in roles for name in role_options(role)}


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_roles_take_their_variables(playbook: str) -> None:
    """Those that an argument file names are run by the playbook, and each says what it takes."""
    roles = FILES[playbook].get("roles", [])
    assert {*roles} <= Playbook(repository.ROOT / "playbooks" / f"{playbook}.yml").roles
    assert all(role_options(role) for role in roles)


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_an_example_gives_what_is_needed(playbook: str) -> None:
    """It stands in the playbook's head too, which says where the variables are."""
    example = FILES[playbook]["example"]
    given = set(re.findall(r"-e (\w+)=", example))
    options = reference.options(FILES, playbook)
    needed = {name for name, option in options.items() if option.get("required")}
    assert needed <= given <= options.keys() | HOST_VARIABLES
    assert f"postroom.email.{playbook} " in example
    assert f"arguments/{playbook}.yml and docs/playbooks.md" in head(playbook)
    assert f"postroom.email.{playbook} " in head(playbook)


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_awx_takes_the_survey(playbook: str) -> None:
    """It is valid by the schema, AWX stores it, and takes its defaults for answers."""
    survey = survey_spec(FILES[playbook])
    Draft202012Validator(schema("survey")).validate(survey)
    assert not survey["spec"] or surveys.problem_of(survey) is None
    assert surveys.problems_of_defaults(survey) == []


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_awx_asks_for_secrets_as_for_passwords(playbook: str) -> None:
    """Their names tell that they are secret, wherever else they are given."""
    kinds = {one["variable"]: one["type"] for one in survey_spec(FILES[playbook])["spec"]}
    for name, option in reference.options(FILES, playbook).items():
        assert name.startswith("vault_") == option.get("no_log", False), name
        assert kinds.get(name) != "password" or option["no_log"]


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_what_is_false_is_not_taken_for_nothing(playbook: str) -> None:
    """`default(X, true)` takes X for false, 0 and an empty list, too, which are answers."""
    code = Playbook(repository.ROOT / "playbooks" / f"{playbook}.yml")
    kinds = {name: option["type"] for name, option in reference.options(FILES, playbook).items()}
    swallowed = {name for name in code.swallowed if kinds.get(name, "str") not in TEXTS}
    assert swallowed - NEVER_EMPTY == set()


def test_the_reference_is_what_the_tool_prints() -> None:
    """`python tools/playbook_reference.py > docs/playbooks.md` writes it anew."""
    assert repository.read("docs/playbooks.md") == reference.reference(FILES)


def test_the_readme_lists_every_playbook() -> None:
    """By the name to run it by, with what it does and a link to its variables."""
    rows = re.findall(
        r"^\| \[`postroom\.email\.(\w+)`\]\(docs/playbooks\.md#(\w+)\) \| (.+) \|$",
        repository.read("README.md"),
        re.MULTILINE,
    )
    told = {name: f"{FILES[name]['short_description']}." for name in PLAYBOOKS}
    for name in (name for name in PLAYBOOKS if FILES[name].get("reads_only")):
        told[name] += " Reads only."
    assert rows == [(name, name, sentence) for name, sentence in told.items()]
