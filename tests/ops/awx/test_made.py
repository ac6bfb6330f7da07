# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the playbook made is what a team needs, and hangs together."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
import yaml

from ansible_collections.postroom.email.tests.ops.awx.stage import ALL, PASSWORD, spec_of
from ansible_collections.postroom.email.tests.ops.awx.test_example_project import (
    NOT_OF_A_TENANT,
    stems,
)
from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tests.support.controller import injectors
from ansible_collections.postroom.email.tests.support.controller.controller import Controller

PLAYBOOKS = sorted(stems("playbooks") - NOT_OF_A_TENANT)
OF_THE_BOT = ("add_alias", "remove_alias", "forwarder")


def template(made: Controller, name: str) -> dict[str, Any]:
    """Return the job template of a playbook."""
    return made.named("job_templates", f"Postroom {name}")


def test_there_is_a_template_for_each_playbook(made: Controller) -> None:
    """And one more, for the review."""
    wanted = [f"Postroom {name}" for name in (*PLAYBOOKS, "review")]
    assert made.names("job_templates") == sorted(wanted)


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_a_template_asks_what_the_arguments_say(made: Controller, playbook: str) -> None:
    """The survey is the one of the argument file, without what the template carries anyway."""
    row = template(made, playbook)
    carried = json.loads(row["extra_vars"])
    asked = [one for one in spec_of(playbook) if one["variable"] not in carried]
    found = made.state.surveys.get(row["id"], {"name": "", "description": "", "spec": []})
    of_the_bot = [one for one in found["spec"] if one["variable"] == "postroom_request"]
    assert [one for one in found["spec"] if one not in of_the_bot] == asked
    assert len(of_the_bot) == (playbook in OF_THE_BOT)
    assert row["survey_enabled"] == bool(found["spec"])
    schema = json.loads(repository.read("schemas/survey.schema.json"))
    jsonschema.validate(found, schema)


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_a_template_has_what_its_job_needs(made: Controller, playbook: str) -> None:
    """Project, inventory, credential, execution environment, and where failures are told."""
    row = template(made, playbook)
    arguments = repository.read_yaml(f"playbooks/arguments/{playbook}.yml")
    assert row["description"] == arguments["short_description"]
    assert row["project"] == made.named("projects", "Postroom")["id"]
    assert row["inventory"] == made.named("inventories", "Postroom domains")["id"]
    assert row["execution_environment"] == made.named("execution_environments", "Postroom")["id"]
    credential = made.named("credentials", "Postroom tenant")
    assert made.state.linked(row["id"], "credentials") == [credential["id"]]
    slack = made.named("notification_templates", "Postroom Slack")
    assert made.state.linked(row["id"], "notification_templates_error") == [slack["id"]]
    for option, value in arguments.get("job_template", {}).items():
        assert row[option] == value


def test_a_job_gets_the_account(made: Controller) -> None:
    """The credential becomes environment, a file of passwords, and the variable that names it."""
    kind = made.named("credential_types", "Postroom tenant")
    inputs = made.named("credentials", "Postroom tenant")["inputs"]
    got = injectors.injected(kind["injectors"], inputs, "/runner")
    assert got["env"] == {
        "POSTROOM_API_URL": ALL["mail_api_url"],
        "POSTROOM_API_TOKEN": ALL["vault_mail_token"],
    }
    assert got["extra_vars"] == {"mail_passwords_file": "/runner/template_passwords"}
    assert yaml.safe_load(got["file"]["template.passwords"]) == {"alice@example.com": [PASSWORD]}


def test_a_job_gets_an_empty_file_where_there_are_no_passwords(made: Controller) -> None:
    """A credential may do without passwords."""
    kind = made.named("credential_types", "Postroom tenant")
    got = injectors.injected(kind["injectors"], {"api_url": "u", "api_token": "t"}, "/runner")
    assert got["file"]["template.passwords"] == ""


def test_the_workflow_goes_from_review_to_apply(made: Controller) -> None:
    """A check, an approval, then converge; each only after the one before was successful."""
    state = made.state
    nodes = {row["identifier"]: row for row in state.rows["workflow_job_template_nodes"].values()}
    ways = {
        name: [state.linked(row["id"], f"{when}_nodes") for when in ("success", "failure")]
        for name, row in nodes.items()
    }
    assert ways == {
        "review": [[nodes["approval"]["id"]], []],
        "approval": [[nodes["apply"]["id"]], []],
        "apply": [[], []],
    }
    review, apply = template(made, "review"), template(made, "converge")
    assert nodes["review"]["unified_job_template"] == review["id"]
    assert nodes["apply"]["unified_job_template"] == apply["id"]
    assert (review["job_type"], apply["job_type"]) == ("check", "run")
    assert review["extra_vars"] == apply["extra_vars"]
    approval = state.get("workflow_approval_templates", nodes["approval"]["unified_job_template"])
    assert approval is not None


def test_approvals_are_told(made: Controller) -> None:
    """The workflow tells Slack when it waits for somebody."""
    workflow = made.named("workflow_job_templates", "Postroom reviewed converge")
    slack = made.named("notification_templates", "Postroom Slack")
    told = made.state.linked(workflow["id"], "notification_templates_approvals")
    assert told == [slack["id"]]
    assert slack["notification_configuration"]["channels"] == ["#mail"]


def test_drift_is_looked_for_every_night(made: Controller) -> None:
    """The schedule launches the template of drift."""
    row = made.named("schedules", "Postroom nightly drift")
    assert row["unified_job_template"] == template(made, "drift")["id"]
    assert row["enabled"]


def test_the_inventory_comes_from_the_project(made: Controller) -> None:
    """Its source is the file that the example project has, with the tenant's credential."""
    row = made.named("inventory_sources", "Postroom domains source")
    assert f"playbooks/examples/awx_project/{row['source_path']}" in map(str, repository.files())
    assert row["credential"] == made.named("credentials", "Postroom tenant")["id"]
