# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The objects that `playbooks/awx.yml` creates in AWX, and what the bot's user may do with them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import jsonschema
import pytest
import yaml
from pydantic import SecretStr

from ansible_collections.postroom.email.plugins.filter.survey_spec import survey_spec
from ansible_collections.postroom.email.tests.fakes.awx.controller import Controller
from ansible_collections.postroom.email.tests.fakes.awx.jobs import injected
from ansible_collections.postroom.email.tests.fakes.awx.resource_types import DEFAULTS
from ansible_collections.postroom.email.tests.ops.awx.awx_playbook import (
    ALL,
    PASSWORD,
    SECRETS,
    AwxProject,
    awx_project,
)
from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tests.support.playbooks import Run
from ansible_collections.postroom.email.tests.support.secrets import shown
from postroom_bot.backends.awx_client import AwxClient
from postroom_bot.backends.awx_executor import REQUEST_VARIABLE, variables_for
from postroom_bot.domain import Action, Change

#: Some of the playbooks, including the bot's. The guide's test creates templates for all of them.
PLAYBOOKS = ["add_alias", "converge", "drift", "forwarder", "offboard_mailbox", "remove_alias"]
USER, USERS_PASSWORD = "postroom-bot", SECRETS["vault_awx_bot_password"]
ALIAS, ALICE, TEAM = "sales@example.com", "alice@example.com", "team@example.com"
REQUEST_PLAYBOOKS = {
    "add_alias": Change(Action.ALIAS_ADD, ALIAS, ALICE),
    "remove_alias": Change(Action.ALIAS_REMOVE, ALIAS, ALICE),
    "forwarder": Change(Action.FORWARD_ADD, TEAM, destinations=(ALICE, "bob@example.com")),
}


@dataclass
class Runs:
    """Four runs of the playbook with the same variables.

    :param written: the number of writes that the controller had received after each run
    """

    awx: AwxProject
    predicted: Run
    first: Run
    second: Run
    checked: Run
    written: list[int]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    """Run the playbook in check mode, twice for real, and in check mode again."""
    with awx_project(tmp_path_factory.mktemp("awx")) as awx:
        written: list[int] = []

        def play(*options: str) -> Run:
            run = awx.play({**ALL, "awx_playbooks": PLAYBOOKS}, "--diff", *options)
            written.append(len(awx.controller.written))
            return run

        predicted, first, second = play("--check", "-vvvv"), play("-vvvv"), play("-vvvv")
        yield Runs(awx, predicted, first, second, play("--check"), written)


@pytest.fixture(scope="module")
def made(runs: Runs) -> Controller:
    """Provide the controller after all runs."""
    assert runs.first.status == 0, runs.first.output[-3000:]
    return runs.awx.controller


def template(made: Controller, name: str) -> dict[str, Any]:
    """Return a playbook's job template."""
    return made.named("job_templates", f"Postroom {name}")


def test_a_second_run_and_check_mode_write_nothing(runs: Runs) -> None:
    """Check mode predicts the changes and writes nothing, and a second run changes nothing."""
    counts = [(run.recap.changed, run.status) for run in (runs.predicted, runs.first)]
    assert counts == [(21, 0)] * 2, runs.predicted.output[-3000:]
    assert [(run.recap.changed, run.status) for run in (runs.second, runs.checked)] == [(0, 0)] * 2
    before, first, *others = runs.written
    assert before == 0
    assert others == [first, first]


def test_no_secret_is_printed(runs: Runs) -> None:
    """The output, with all details and diffs, contains no secret in any encoding."""
    secrets = [*SECRETS.values(), PASSWORD, runs.awx.controller.token]
    assert shown(secrets, "".join(runs.awx.outputs).encode()) == []


def test_the_output_ends_with_what_to_do_next(runs: Runs) -> None:
    """The next steps name the credential and the templates, and check mode omits them."""
    end = runs.first.output.rpartition("TASK [Show what to do next")[2]
    assert f"{runs.awx.controller.url} is set up for the organization Postroom. Next:\n" in end
    assert "are in the credential Postroom tenant." in end
    assert "- Launch the job template Postroom drift." in end
    assert "is set up for" not in runs.predicted.output + runs.checked.output


def test_the_bot_s_settings_are_printed(runs: Runs) -> None:
    """The output ends with the IDs of the bot's job templates, as settings for the bot."""
    end = runs.second.output.rpartition("TASK [Show the bot's settings")[2]
    for playbook in REQUEST_PLAYBOOKS:
        assert f"awx_{playbook}_template: {template(runs.awx.controller, playbook)['id']}" in end


def test_each_playbook_has_a_template(made: Controller) -> None:
    """Each playbook has a job template with everything it needs, including the survey."""
    names = [f"Postroom {name}" for name in (*PLAYBOOKS, "review", "apply")]
    assert made.names("job_templates") == sorted(names)
    references = {
        "project": made.named("projects", "Postroom")["id"],
        "inventory": made.named("inventories", "Postroom domains")["id"],
        "execution_environment": made.named("execution_environments", "Postroom")["id"],
    }
    credential = made.named("credentials", "Postroom tenant")
    of_the_definition = made.named("credentials", "Postroom bot definition")
    slack = made.named("notification_templates", "Postroom Slack")
    schema = json.loads(repository.read("schemas/survey.schema.json"))
    for playbook in PLAYBOOKS:
        row = template(made, playbook)
        arguments = repository.read_yaml(f"playbooks/arguments/{playbook}.yml")
        wanted = {**references, **arguments.get("job_template", {})}
        assert {key: row[key] for key in wanted} == wanted
        reads_the_bot = "bot_definition" in arguments["options_from"]
        credentials = [credential, *([of_the_definition] if reads_the_bot else [])]
        linked = made.linked(row["id"], "credentials")
        assert sorted(linked) == sorted(one["id"] for one in credentials)
        assert made.linked(row["id"], "notification_templates_error") == [slack["id"]]
        survey = made.surveys.get(row["id"], {"name": "", "description": "", "spec": []})
        jsonschema.validate(survey, schema)
        assert row["survey_enabled"] == bool(survey["spec"])
        set_by_template = json.loads(row["extra_vars"])
        variables = [one["variable"] for one in survey_spec(arguments)["spec"]]
        asked = [name for name in variables if name not in set_by_template]
        of_the_bot = [REQUEST_VARIABLE] if playbook in REQUEST_PLAYBOOKS else []
        assert [one["variable"] for one in survey["spec"]] == [*asked, *of_the_bot]


@pytest.mark.parametrize("kind", ["job_templates", "workflow_job_templates"])
def test_a_launch_chooses_nothing_but_answers(made: Controller, kind: str) -> None:
    """A launch can only answer the survey, because other prompts could expose the token."""
    sent = [body for _, path, body in made.written if path == kind]
    prompts = {name for name in DEFAULTS[kind] if name.startswith("ask_")}
    for body in sent:
        assert prompts <= body.keys()
        job_type = body.pop("ask_job_type_on_launch", False)
        assert job_type == (body["name"] == "Postroom converge")
        assert not any(body[name] for name in prompts & body.keys())
        assert not body["limit"] + body["scm_branch"] + body["job_tags"] + body["skip_tags"]
    assert len(sent) == len(made.rows[kind])
    assert made.named("projects", "Postroom")["allow_override"] is False


def test_a_job_gets_the_account(made: Controller) -> None:
    """A job gets the credential as environment variables and a password file."""
    kind = made.named("credential_types", "Postroom tenant")
    inputs = made.named("credentials", "Postroom tenant")["inputs"]
    found = injected(kind["injectors"], inputs, "/runner")
    assert found["env"] == {
        "POSTROOM_API_URL": ALL["mail_api_url"],
        "POSTROOM_API_TOKEN": ALL["vault_mail_token"],
    }
    assert found["extra_vars"] == {"mail_passwords_file": "/runner/template_passwords"}
    file = found["file"]["template.passwords"]
    assert yaml.safe_load(file) == {"alice@example.com": [PASSWORD]}
    without = injected(kind["injectors"], {"api_url": "u", "api_token": "t"}, "/runner")
    assert without["file"]["template.passwords"] == ""


def test_a_job_gets_the_url_and_the_token_of_the_bot_s_definition(made: Controller) -> None:
    """A job gets the URL together with the token, and nobody who launches it can change the URL.

    Otherwise, they could send the token to their own server.
    """
    kind = made.named("credential_types", "Postroom bot definition")
    inputs = made.named("credentials", "Postroom bot definition")["inputs"]
    assert injected(kind["injectors"], inputs, "/runner")["extra_vars"] == {
        "mail_bot_url": ALL["mail_bot_url"],
        "vault_mail_bot_token": ALL["vault_mail_bot_token"],
    }
    secret = {one["id"]: one.get("secret", False) for one in kind["inputs"]["fields"]}
    assert secret == {"url": False, "token": True}
    asked = {one["variable"] for survey in made.surveys.values() for one in survey["spec"]}
    assert not asked & {"mail_bot_url", "vault_mail_bot_token"}
    for name in ("review", "apply"):
        linked = made.linked(template(made, name)["id"], "credentials")
        assert made.named("credentials", "Postroom bot definition")["id"] in linked


def test_the_workflow_applies_after_review_and_approval(made: Controller) -> None:
    """The workflow applies the reviewed plan once it has been approved."""
    nodes = {row["identifier"]: row for row in made.rows["workflow_job_template_nodes"].values()}
    edges = {
        name: [made.linked(row["id"], f"{when}_nodes") for when in ("success", "failure")]
        for name, row in nodes.items()
    }
    assert edges == {
        "review": [[nodes["approval"]["id"]], []],
        "approval": [[nodes["apply"]["id"]], []],
        "apply": [[], []],
    }
    review, apply = template(made, "review"), template(made, "apply")
    assert nodes["review"]["unified_job_template"] == review["id"]
    assert nodes["apply"]["unified_job_template"] == apply["id"]
    assert (review["job_type"], apply["job_type"]) == ("check", "run")
    assert {review["playbook"], apply["playbook"]} == {"converge.yml"}
    of_review, of_apply = (json.loads(row["extra_vars"]) for row in (review, apply))
    assert of_apply == {**of_review, "mail_plan_needed": True}
    approval = nodes["approval"]["unified_job_template"]
    assert approval in made.rows["workflow_approval_templates"]
    workflow = made.named("workflow_job_templates", "Postroom reviewed converge")
    slack = made.named("notification_templates", "Postroom Slack")
    assert made.linked(workflow["id"], "notification_templates_approvals") == [slack["id"]]
    # A denial makes the workflow fail, but it is not an error.
    assert made.linked(workflow["id"], "notification_templates_error") == []
    assert slack["notification_configuration"]["channels"] == ["#mail"]


def test_schedule_and_inventory_source(made: Controller) -> None:
    """The schedule launches the drift check, and the inventory source uses the project's file."""
    schedule = made.named("schedules", "Postroom nightly drift")
    assert (schedule["unified_job_template"], schedule["enabled"]) == (
        template(made, "drift")["id"],
        True,
    )
    source = made.named("inventory_sources", "Postroom domains source")
    file = f"playbooks/examples/awx_project/{source['source_path']}"
    assert file in map(str, repository.files())
    # AWX reads the inventory before the job, so a cache would hide new domains.
    assert source["update_cache_timeout"] == 0
    assert source["credential"] == made.named("credentials", "Postroom tenant")["id"]


@pytest.fixture
def http(made: Controller) -> Iterator[httpx.Client]:
    """Provide a client that sends requests as the bot's user."""
    with httpx.Client(base_url=f"{made.url}/api/v2/", auth=(USER, USERS_PASSWORD)) as http:
        yield http


@pytest.mark.parametrize("playbook", sorted(REQUEST_PLAYBOOKS))
def test_the_bot_launches_its_templates(
    made: Controller, http: httpx.Client, playbook: str
) -> None:
    """The bot can launch its templates with a password or a token, and find its jobs."""
    token = http.post("tokens/", json={}).json()["token"]
    change, launched = REQUEST_PLAYBOOKS[playbook], template(made, playbook)["id"]
    variables = {
        REQUEST_VARIABLE: f"of-{playbook}",
        **variables_for(change, frozenset(change.destinations)),
    }
    AwxClient(made.url, SecretStr(token)).check_template(launched, variables)
    bot = AwxClient(made.url, (USER, SecretStr(USERS_PASSWORD)))
    job, ignored = bot.launch(launched, variables)
    assert ignored == frozenset()
    assert made.jobs.jobs[job.id].variables == variables
    found = bot.launched(launched, REQUEST_VARIABLE, f"of-{playbook}")
    assert found is not None
    assert found.id == job.id
    made.jobs.wait()
    ended = bot.job(job.id)
    assert ended is not None
    assert ended.status == "successful"


def test_the_bot_may_do_nothing_else(made: Controller, http: httpx.Client) -> None:
    """The bot's user sees only its own templates, and can't launch or change others."""
    visible = http.get("job_templates/").json()["results"]
    assert sorted(row["name"] for row in visible) == [
        f"Postroom {name}" for name in sorted(REQUEST_PLAYBOOKS)
    ]
    for kind in ("credentials", "projects", "workflow_job_templates"):
        assert http.get(f"{kind}/").json()["count"] == 0
    users = http.get("users/").json()["results"]
    assert sorted(row["username"] for row in users) == ["admin", USER]
    before = len(made.jobs.jobs)
    for playbook in ("converge", "offboard_mailbox", "review", "apply"):
        path = f"job_templates/{template(made, playbook)['id']}/launch/"
        assert http.post(path, json={"extra_vars": {}}).status_code == 404
    assert len(made.jobs.jobs) == before
    path = f"job_templates/{template(made, 'add_alias')['id']}/"
    assert http.patch(path, json={"playbook": "converge.yml"}).status_code == 403
    assert http.post("job_templates/", json={"name": "X"}).status_code == 403


FOLDER = "playbooks/examples/awx_project"
#: Playbooks that operators run by hand, for the controller and for the mail service's hosts.
RUN_BY_HAND = {"awx", *repository.mail_host_playbooks()}
DEFAULT = re.compile(r"\b(awx_\w+) \| default\((?P<value>'[^']*'|\w+|\[\]|\{\}), true\)")
#: Defaults that represent a missing value or the value of another variable.
NO_DEFAULTS: tuple[Any, ...] = ("", [], {}, "omit", "awx_playbooks_of_tenants", "awx_owner")


def test_the_project_has_a_wrapper_for_each_playbook() -> None:
    """The example project contains a valid definition and a wrapper for each playbook."""
    files = [file for file in repository.files() if file.parent.as_posix() == FOLDER]
    wrappers = {file.stem for file in files if file.suffix == ".yml"} - {"tenant"}
    assert wrappers == {*repository.playbooks()} - RUN_BY_HAND
    for name in sorted(wrappers):
        (play,) = repository.read_yaml(f"{FOLDER}/{name}.yml")
        assert play["ansible.builtin.import_playbook"] == f"postroom.email.{name}"
    schema = json.loads(repository.read("schemas/definition.schema.json"))
    jsonschema.validate(repository.read_yaml(f"{FOLDER}/tenant.yml"), schema)
    # AWX can't update a project whose requirements contain a collection that is not on Galaxy.
    assert not [file for file in repository.files() if file.match(f"{FOLDER}/*/requirements.yml")]


def test_documented_defaults_are_in_force() -> None:
    """The defaults in a playbook's files are the same as in its argument file."""
    files = ["playbooks/awx.yml", "playbooks/vars/awx.yml"]
    files += [str(file) for file in repository.files() if file.match("playbooks/tasks/awx/*.yml")]
    text = "\n".join(repository.read(file) for file in files)
    found = {match[1]: yaml.safe_load(match["value"]) for match in DEFAULT.finditer(text)}
    options = repository.read_yaml("playbooks/arguments/awx.yml")["options"]
    documented = {name: one["default"] for name, one in options.items() if "default" in one}
    assert {name: value for name, value in found.items() if value not in NO_DEFAULTS} == {
        # A list option also accepts a string, as a list with one entry.
        name: value[0] if isinstance(value, list) else value
        for name, value in documented.items()
    }
