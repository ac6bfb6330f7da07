# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What `playbooks/awx.yml` makes, how often it says so, and what the bot may do with it.

The playbook runs four times for all of these tests, so they are in one file, which goes to one
process where several share the tests.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import jsonschema
import pytest
import yaml
from pydantic import SecretStr

from ansible_collections.postroom.email.tests.fakes.awx import injectors
from ansible_collections.postroom.email.tests.fakes.awx.controller import Controller
from ansible_collections.postroom.email.tests.ops.awx.stage import (
    ALL,
    PASSWORD,
    SECRETS,
    Stage,
    spec_of,
    staged,
)
from ansible_collections.postroom.email.tests.ops.awx.test_example_project import RUN_BY_HAND
from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tests.support.playbooks import Run
from ansible_collections.postroom.email.tests.support.secrets import shown
from postroom_bot.executors import controller as executors
from postroom_bot.executors.awx import REQUEST_VARIABLE, variables_for
from postroom_bot.model import Action, Wish

#: deploy_bot gets a template only where it is named.
PLAYBOOKS = [name for name in repository.playbooks() if name not in RUN_BY_HAND | {"deploy_bot"}]
USER, USERS_PASSWORD = "postroom-bot", SECRETS["vault_awx_bot_password"]
ALIAS, ALICE, TEAM = "sales@example.com", "alice@example.com", "team@example.com"
WISHES = {
    "add_alias": Wish(Action.ALIAS_ADD, ALIAS, ALICE),
    "remove_alias": Wish(Action.ALIAS_REMOVE, ALIAS, ALICE),
    "forwarder": Wish(Action.FORWARD_ADD, TEAM, destinations=(ALICE, "bob@example.com")),
}


@dataclass
class Runs:
    """Four runs of the playbook with the same variables, and what each sent that was to change.

    :param foreseen: in check mode, before anything was there
    :param checked: in check mode, at the end
    """

    stage: Stage
    foreseen: Run
    first: Run
    second: Run
    checked: Run
    sent: list[int]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    """Give the runs; nobody changes what they made."""
    with staged(tmp_path_factory.mktemp("awx")) as stage:
        sent = []

        def counted(done: Run) -> Run:
            sent.append(len(stage.controller.written))
            return done

        yield Runs(
            stage,
            counted(stage.play(ALL, "--check", "--diff", "-vvvv")),
            counted(stage.play(ALL, "--diff", "-vvvv")),
            counted(stage.play(ALL, "--diff", "-vvvv")),
            counted(stage.play(ALL, "--check", "--diff")),
            sent,
        )


@pytest.fixture(scope="module")
def made(runs: Runs) -> Controller:
    """Give the controller after the runs."""
    assert runs.first.status == 0, runs.first.output[-3000:]
    return runs.stage.controller


def counts(done: Run) -> tuple[int, int]:
    """Return how many tasks changed something, and how many failed."""
    assert done.status == 0, done.output[-3000:]
    return done.recap.changed, done.recap.failed


def test_the_second_run_changes_nothing(runs: Runs) -> None:
    """The first makes all of it; the next one sends nothing that would change anything."""
    assert counts(runs.first) == (20, 0)
    assert counts(runs.second) == (0, 0)
    assert runs.sent[2] == runs.sent[1]


def test_check_mode_finds_it_so(runs: Runs) -> None:
    """Check mode has nothing to change either, and sends nothing."""
    assert counts(runs.checked) == (0, 0)
    assert runs.sent[3] == runs.sent[2]


def test_check_mode_foresees_the_first_run(runs: Runs) -> None:
    """On an empty controller check mode counts what the run then changes, and sends nothing."""
    assert counts(runs.foreseen) == counts(runs.first)
    assert runs.sent[0] == 0


def test_no_secret_is_told(runs: Runs) -> None:
    """What is printed holds no secret in any form, with all details and differences asked for."""
    assert len(runs.stage.outputs) == 4
    known = [*SECRETS.values(), PASSWORD, runs.stage.controller.token]
    assert shown(known, "".join(runs.stage.outputs).encode()) == []


def test_the_bot_s_settings_are_shown(runs: Runs) -> None:
    """The numbers of its templates come last, as the bot's settings want them."""
    end = runs.second.output.rpartition("TASK [")[2]
    for playbook in ("add_alias", "remove_alias", "forwarder"):
        row = runs.stage.controller.named("job_templates", f"Postroom {playbook}")
        assert f"awx_{playbook}_template: {row['id']}" in end


def template(made: Controller, name: str) -> dict[str, Any]:
    """Return the job template of a playbook."""
    return made.named("job_templates", f"Postroom {name}")


def test_there_is_a_template_for_each_playbook(made: Controller) -> None:
    """And two more, for the review and for what applies its plan."""
    wanted = [f"Postroom {name}" for name in (*PLAYBOOKS, "review", "apply")]
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
    assert len(of_the_bot) == (playbook in WISHES)
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


@pytest.mark.parametrize("kind", ["job_templates", "workflow_job_templates"])
def test_nobody_gives_variables_at_launch(made: Controller, kind: str) -> None:
    """Else the token would go wherever whoever launches says, and any plan would be applied."""
    rows = made.state.rows[kind].values()
    asking = ("ask_variables_on_launch", "ask_inventory_on_launch")
    assert [row["name"] for row in rows if any(row.get(name) for name in asking)] == []
    of_workflow = [row for row in rows if row["name"].split()[-1] in ("review", "apply")]
    prompts = [name for row in of_workflow for name in row if name.startswith("ask_")]
    assert not any(row[name] for row in of_workflow for name in prompts)


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
    review, apply = template(made, "review"), template(made, "apply")
    assert nodes["review"]["unified_job_template"] == review["id"]
    assert nodes["apply"]["unified_job_template"] == apply["id"]
    assert (review["job_type"], apply["job_type"]) == ("check", "run")
    assert {review["playbook"], apply["playbook"]} == {"converge.yml"}
    of_review, of_apply = (json.loads(row["extra_vars"]) for row in (review, apply))
    assert of_apply == {**of_review, "mail_plan_needed": True}
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


@pytest.fixture
def http(made: Controller) -> Iterator[httpx.Client]:
    """Give what asks as the bot's user."""
    with httpx.Client(base_url=f"{made.url}/api/v2/", auth=(USER, USERS_PASSWORD)) as http:
        yield http


def number(made: Controller, name: str) -> int:
    """Return the number of a playbook's template."""
    id_: int = template(made, name)["id"]
    return id_


@pytest.mark.parametrize("playbook", sorted(WISHES))
def test_the_bot_launches_its_own(made: Controller, playbook: str) -> None:
    """The bot's executor launches the template; AWX drops none of the variables."""
    bot = executors.Controller(made.url, executors.Basic(USER, SecretStr(USERS_PASSWORD)))
    wish = WISHES[playbook]
    variables = {REQUEST_VARIABLE: f"of-{playbook}", **variables_for(wish, wish)}
    launched = number(made, playbook)
    bot.check_template(launched, variables)
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


def test_the_bot_sees_its_own_only(http: httpx.Client) -> None:
    """Lists show the three templates, no credential, and of people itself and the superuser."""
    shown = http.get("job_templates/").json()["results"]
    assert sorted(row["name"] for row in shown) == [f"Postroom {name}" for name in sorted(WISHES)]
    for kind in ("credentials", "projects", "workflow_job_templates"):
        assert http.get(f"{kind}/").json()["count"] == 0
    people = http.get("users/").json()["results"]
    assert sorted(row["username"] for row in people) == ["admin", USER]


@pytest.mark.parametrize("playbook", ["converge", "offboard_mailbox", "review", "apply"])
def test_the_bot_launches_no_other(made: Controller, http: httpx.Client, playbook: str) -> None:
    """To it, there is no such template."""
    before = len(made.jobs.jobs)
    said = http.post(f"job_templates/{number(made, playbook)}/launch/", json={"extra_vars": {}})
    assert said.status_code == 404
    assert len(made.jobs.jobs) == before


def test_the_bot_changes_nothing_in_awx(made: Controller, http: httpx.Client) -> None:
    """Not even its own templates."""
    path = f"job_templates/{number(made, 'add_alias')}/"
    assert http.patch(path, json={"playbook": "converge.yml"}).status_code == 403
    assert http.post("job_templates/", json={"name": "X"}).status_code == 403


def test_a_survey_is_answered_or_refused(made: Controller, http: httpx.Client) -> None:
    """What is missing or can't be chosen starts no job; a named URL finds the template, too."""
    path = "job_templates/Postroom forwarder++Postroom/launch/"
    missing = http.post(path, json={"extra_vars": {}})
    assert missing.json() == {"variables_needed_to_start": ["'mail_forwarder' value missing"]}
    wrong = {"mail_forwarder": TEAM, "mail_state": "gone"}
    refused = http.post(path, json={"extra_vars": wrong})
    assert "expected to be one of" in refused.json()["variables_needed_to_start"][0]


def test_a_token_does_for_the_bot_s_password(made: Controller, http: httpx.Client) -> None:
    """The bot's user makes one for itself; who has none is not let in."""
    token = http.post("tokens/", json={}).json()["token"]
    bot = executors.Controller(made.url, executors.Token(SecretStr(token)))
    variables = variables_for(WISHES["add_alias"], WISHES["add_alias"])
    bot.check_template(number(made, "add_alias"), variables)
    assert httpx.get(f"{made.url}/api/v2/job_templates/").status_code == 401
