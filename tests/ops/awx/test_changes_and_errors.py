# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""More runs of `playbooks/awx.yml`: changes, invalid variables, a job in AWX, and the guide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.docs import fenced_blocks
from ansible_collections.postroom.email.tests.docs.guide_runner import Reader
from ansible_collections.postroom.email.tests.ops.awx.awx_playbook import (
    ALL,
    PASSWORD,
    PROJECT,
    SECRETS,
    WRAPPERS,
    AwxProject,
    awx_project,
)
from ansible_collections.postroom.email.tests.ops.runner.job import Account, job_of, run_job
from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tests.support.secrets import shown
from ansible_collections.postroom.email.tests.support.service import running_service

SOME = {
    **ALL,
    "awx_playbooks": ["add_alias", "converge"],
    "awx_template_credentials": {"converge": ["Vault"]},
    "awx_bot_user": "",
}
CHANGED = {
    **SOME,
    "awx_playbooks": "add_alias",
    "mail_api_url": "https://new.example",
    "awx_slack_channels": "#a, #b",
}
#: Templates that the bot does not need and that the second run leaves out.
OTHERS = {
    "Postroom converge": "job_templates",
    "Postroom review": "job_templates",
    "Postroom apply": "job_templates",
    "Postroom reviewed converge": "workflow_job_templates",
}
MINIMAL = {
    "mail_api_url": "https://mail.example.net",
    "vault_mail_token": SECRETS["vault_mail_token"],
    "awx_project_path": "mail",
    "awx_playbooks": ["drift", "deploy_bot"],
    "awx_bot_inventory": "Servers",
    "awx_definition_files": "tenant.yml, more.yml",
    "awx_organization": "Second",
    "awx_template_prefix": "Mail: ",
    "awx_template_variables": {
        "drift": {"mail_ignore": ["*@old.example"]},
        "deploy_bot": {"bot_hosts": "chat"},
    },
    "awx_template_credentials": {"drift": "Vault"},
}
#: Variables with which AWX's modules create a token and later revoke it.
ADMIN = {
    "CONTROLLER_OAUTH_TOKEN": "",
    "CONTROLLER_USERNAME": "admin",
    "CONTROLLER_PASSWORD": "adm1n/of+tests",
}


@pytest.fixture
def awx(tmp_path: Path) -> Iterator[AwxProject]:
    """Provide a project with an empty controller."""
    with awx_project(tmp_path) as awx:
        yield awx


def test_a_second_run_repairs_manual_changes(awx: AwxProject) -> None:
    """A second run reverts manual changes and applies new variables.

    It changes nothing else.
    """
    controller = awx.controller
    vault = awx.vault()
    first = awx.play(SOME)
    assert first.status == 0, first.output[-3000:]
    template = controller.named("job_templates", "Postroom add_alias")
    controller.surveys[template["id"]]["spec"].pop()
    template["ask_variables_on_launch"] = True
    team = controller.named("teams", "Postroom bot")
    others = [controller.named(kind, name)["id"] for name, kind in OTHERS.items()]
    names = ("Postroom tenant", "Postroom bot definition")
    credentials = [vault, *(controller.named("credentials", name)["id"] for name in names)]
    for of_converge in others[:3]:
        linked = controller.linked(of_converge, "credentials")
        assert sorted(linked) == sorted(credentials)
    roles = [controller.role(number, "execute") for number in others]
    for role in roles:
        role.holders["teams"].append(team["id"])
    before = len(controller.written)
    again = awx.play(CHANGED)
    assert (again.status, again.recap.changed) == (0, 4), again.output[-3000:]
    assert [(method, path.split("/")[0]) for method, path, _ in controller.written[before:]] == [
        ("PATCH", "credentials"),
        ("PATCH", "notification_templates"),
        ("PATCH", "job_templates"),
        ("POST", "job_templates"),
        *[("POST", "roles")] * len(OTHERS),
    ]
    assert [role.holders["teams"] for role in roles] == [[]] * len(OTHERS)
    assert not template["ask_variables_on_launch"]
    questions = controller.surveys[template["id"]]["spec"]
    assert [one["variable"] for one in questions][-1] == "postroom_request"
    inputs = controller.named("credentials", "Postroom tenant")["inputs"]
    assert inputs["api_url"] == "https://new.example"
    slack = controller.named("notification_templates", "Postroom Slack")
    assert slack["notification_configuration"] == {
        "token": SECRETS["vault_awx_slack_token"],
        "channels": ["#a", "#b"],
    }


def test_settings_that_are_removed_are_removed_in_awx(awx: AwxProject) -> None:
    """A setting that is removed from the variables is removed in AWX, as --diff shows."""
    controller = awx.controller
    git = {"awx_project_branch": "main", "awx_project_credential": "Vault"}
    registry = {"awx_registry_credential": "Vault"}
    awx.vault()
    first = awx.play({**SOME, "awx_playbooks": "add_alias", **git, **registry})
    assert first.status == 0, first.output[-3000:]
    without = {**SOME, "awx_playbooks": "add_alias", "mail_api_url": "https://new.example"}
    without |= {"awx_slack_channels": [], "vault_awx_slack_token": ""}
    environment = controller.named("execution_environments", "Postroom")
    credential = environment["credential"]
    before = len(controller.written)
    predicted = awx.play(without, "--check", "--diff", "-vvvv")
    assert len(controller.written) == before
    for line in (
        'inputs.api_url: \\"https://mail.example.net\\" -> \\"https://new.example\\"',
        'scm_branch: \\"main\\" -> \\"\\"',
        "Postroom: credential: Vault -> none",
        'notification_templates_error: [\\"Postroom Slack\\"] -> []',
    ):
        assert line in predicted.output, predicted.output[-3000:]
    assert shown([*SECRETS.values(), controller.token], predicted.output.encode()) == []
    second = awx.play(without)
    assert (second.status, second.recap.changed) == (0, predicted.recap.changed), second.output
    project = controller.named("projects", "Postroom")
    assert (project["scm_branch"], project["credential"]) == ("", None)
    assert credential is not None
    assert environment["credential"] is None
    template = controller.named("job_templates", "Postroom add_alias")
    assert controller.linked(template["id"], "notification_templates_error") == []
    bare = {**without, "awx_execution_environment_image": ""}
    assert awx.play(bare).status == 0
    assert template["execution_environment"] is None
    assert awx.play(bare).recap.changed == 0
    project["status"] = "failed"
    failed = awx.play(bare)
    assert failed.status != 0
    assert 'The last update of the project \\"Postroom\\" has the status failed' in failed.output
    assert awx.play({**bare, "awx_project_branch": "fixed"}, "--check").status == 0


def test_approvers_and_the_helpdesk_get_their_roles(awx: AwxProject) -> None:
    """Approvers and the helpdesk get their roles, and `awx_state: absent` removes the objects."""
    controller = awx.controller
    dana = controller.add("users", {"username": "dana", "is_superuser": False, "password": "d"})
    labels = {"awx_labels": "mail, prod", "awx_other_notifications": "Mattermost"}
    controller.add("notification_templates", {"name": "Mattermost"})
    variables = {
        **SOME,
        **labels,
        "awx_template_credentials": {},
        "awx_bot_user": "postroom-bot",
        "awx_approvers": {"teams": "Approvers", "users": ["dana"]},
        "awx_helpdesk": {"teams": "Helpdesk, Desk", "playbooks": ["add_alias"]},
    }
    run = awx.play(variables)
    assert run.status == 0, run.output[-3000:]
    kinds = {"Postroom reviewed converge": ("approval", "read"), "Postroom review": ("read",)}
    teams = {name: controller.named("teams", name)["id"] for name in ("Approvers", "Helpdesk")}
    for name, roles in kinds.items():
        for role in roles:
            holders = controller.role(controller.named(OTHERS[name], name)["id"], role).holders
            assert holders == {"users": [dana["id"]], "teams": [teams["Approvers"]]}
    template = controller.named("job_templates", "Postroom add_alias")
    assert teams["Helpdesk"] in controller.role(template["id"], "execute").holders["teams"]
    converge = controller.named("job_templates", "Postroom converge")
    assert controller.role(converge["id"], "execute").holders["teams"] == []
    assert len(controller.linked(template["id"], "labels")) == len(["mail", "prod"])
    assert len(controller.linked(template["id"], "notification_templates_error")) == len(
        ["Slack", "Mattermost"]
    )
    more = {**variables, "awx_helpdesk": {"teams": ["Helpdesk"], "playbooks": ["converge"]}}
    rows = controller.rows["workflow_job_template_nodes"].values()
    nodes = {row["identifier"]: row["id"] for row in rows}
    always = controller.linked(nodes["review"], "always_nodes")
    always.append(nodes["apply"])
    workflow = controller.named("workflow_job_templates", "Postroom reviewed converge")
    workflow["ask_variables_on_launch"] = True
    predicted = awx.play(more, "--check", "--diff")
    assert 'always_nodes: [\\"apply\\"] -> []' in predicted.output
    assert (predicted.recap.changed, awx.play(more).recap.changed) == (4, 4)
    assert (always, workflow["ask_variables_on_launch"]) == ([], False)
    byhand = {"identifier": "by hand", "workflow_job_template": workflow["id"]}
    byhand = controller.add("workflow_job_template_nodes", byhand)
    assert "create: by hand. They could run" in awx.play(more).output
    controller.rows["workflow_job_template_nodes"].pop(byhand["id"])
    assert teams["Helpdesk"] not in controller.role(template["id"], "execute").holders["teams"]
    assert awx.play({"awx_state": "absent"}).status != 0
    absent = {"awx_state": "absent", "awx_organization": "Postroom"}
    gone = awx.play(absent)
    assert gone.status == 0, gone.output[-3000:]
    assert controller.names("teams") == ["Approvers", "Desk", "Helpdesk"]
    assert controller.names("users") == ["admin", "dana", "postroom-bot"]
    for kind in ("job_templates", "projects", "credentials", "inventories"):
        assert controller.names(kind) == []
    assert awx.play(absent).recap.changed == 0


def test_few_variables_create_few_objects(awx: AwxProject) -> None:
    """Only the objects that the variables name are created.

    If AWX refuses a schedule, the error explains why.
    """
    controller = awx.controller
    controller.playbooks["mail"] = WRAPPERS
    key = awx.vault()
    servers = controller.add("inventories", {"name": "Servers", "organization": None})
    run = awx.play(MINIMAL, "-vvvv", **ADMIN)
    assert run.status == 0, run.output[-3000:]
    tokens = [token for token, _expires in controller.grants.values()]
    assert shown([ADMIN["CONTROLLER_PASSWORD"], *tokens], run.output.encode()) == []
    for kind, names in {
        "job_templates": ["Mail: deploy_bot", "Mail: drift"],
        "projects": ["Second"],
        "schedules": ["Second nightly drift"],
        "users": ["admin"],
        "teams": ["Second bot"],
        "credential_types": ["Second tenant", "Vault"],
        "execution_environments": [],
        "notification_templates": [],
        "workflow_job_templates": [],
        "inventory_sources": [],
    }.items():
        assert controller.names(kind) == names
    drift = controller.named("job_templates", "Mail: drift")
    assert drift["execution_environment"] is None
    files = '"mail_definition_files": ["tenant.yml", "more.yml"]'
    assert drift["extra_vars"] == f'{{{files}, "mail_ignore": ["*@old.example"]}}'
    bot = controller.named("job_templates", "Mail: deploy_bot")
    assert (bot["inventory"], bot["extra_vars"]) == (servers["id"], '{"bot_hosts": "chat"}')
    assert bot["ask_job_type_on_launch"]
    tenant = controller.named("credentials", "Second tenant")
    assert "passwords" not in tenant["inputs"]
    assert sorted(controller.linked(drift["id"], "credentials")) == sorted([tenant["id"], key])
    # No token that the run created is left.
    assert list(controller.tokens) == [controller.token]
    daily = "DTSTART:20260101T020000Z RRULE:FREQ=DAILY"
    refused = awx.play({**MINIMAL, "awx_drift_rrule": daily}, **ADMIN)
    assert refused.status != 0
    assert "awx_drift_rrule" in refused.output
    assert f'{daily}\\": INTERVAL required in rrule: ' in refused.output


def test_a_job_sets_awx_up(awx: AwxProject, tmp_path: Path) -> None:
    """The playbook can run as an AWX job, with its account from a credential."""
    account = Account(
        "https://mail.example.net", "t0ken/of+the-job-Vu72", {"a@b.example": PASSWORD}
    )
    of_the_credential = {"mail_api_url", "vault_mail_token", "vault_mail_passwords"}
    variables = {name: value for name, value in SOME.items() if name not in of_the_credential}
    variables = {**variables, "awx_playbooks": ["drift"], "awx_template_credentials": {}}
    job = job_of("awx", variables, environment=awx.connection)
    ended = run_job(tmp_path / "job", account, job)
    assert ended.status == "successful", ended.output
    assert ended.changed > 0
    assert ended.leaks(account, *SECRETS.values(), awx.controller.token) == []
    kept = awx.controller.named("credentials", "Postroom tenant")
    assert kept["inputs"]["api_token"] == account.token


def test_the_guide_works(tmp_path: Path, awx: AwxProject) -> None:
    """The guide's commands create all templates and then change one schedule."""
    folder = tmp_path / "desk"
    folder.mkdir()
    with running_service(tmp_path / "service") as service:
        reader = Reader(folder, service, variables=awx.connection)
        reader.follow(fenced_blocks.CHECKOUT / "docs" / "guides" / "awx.md")
    templates = {name.removeprefix("Postroom ") for name in awx.controller.names("job_templates")}
    of_hosts = {"awx", "deploy_bot", *repository.mail_host_playbooks()}
    assert templates >= {*repository.playbooks()} - of_hosts
    schedule = awx.controller.named("schedules", "Postroom nightly drift")
    assert "Europe/Berlin" in schedule["rrule"]
    changes = [(method, path) for method, path, _ in awx.controller.written if method == "PATCH"]
    assert changes == [("PATCH", f"schedules/{schedule['id']}")]
    user = awx.controller.named("users", "postroom-bot")
    assert user["password"] == "a-long-password-for-the-bot"


VALID: Mapping[str, Any] = {
    "mail_api_url": "https://mail.example.net",
    "vault_mail_token": SECRETS["vault_mail_token"],
    "awx_project_url": PROJECT,
}
ANOTHER_USER = {"CONTROLLER_OAUTH_TOKEN": "", "CONTROLLER_USERNAME": "admin"}
#: Variables, additional environment variables, and words that the message must contain.
CASES: dict[str, tuple[dict[str, Any], dict[str, str], str]] = {
    "no login": ({}, ANOTHER_USER, "Set CONTROLLER_HOST"),
    "two projects": ({"awx_project_path": "mail"}, {}, "Set either awx_project_url"),
    "half of Slack": ({"awx_slack_channels": "#mail"}, {}, "Set both vault_awx_slack_token"),
    "no password": ({"awx_bot_user": "postroom-bot"}, {}, "Set vault_awx_bot_password"),
    "unknown playbooks": (
        {"awx_playbooks": "drift, site"},
        {},
        "awx_playbooks contains unknown playbooks: site.",
    ),
    "a list of variables": (
        {"awx_template_variables": {"drift": ["x"]}},
        {},
        "awx_template_variables must be a map",
    ),
    "no number": ({"awx_approval_timeout": "1h"}, {}, "awx_approval_timeout is 1h."),
    "no such inventory": (
        {"awx_playbooks": "drift, deploy_bot", "awx_bot_inventory": "Servers"},
        {},
        'the inventory \\"Servers\\"',
    ),
    "no inventory of the bot": ({"awx_playbooks": "deploy_bot"}, {}, "set awx_bot_inventory"),
    "no map of approvers": ({"awx_approvers": ["dana"]}, {}, "awx_approvers must be a map"),
    "a helpdesk without template": (
        {"awx_playbooks": "drift", "awx_helpdesk": {"playbooks": "add_alias"}},
        {},
        "in awx_helpdesk, but not in awx_playbooks: add_alias.",
    ),
    "approvers of nothing": (
        {"awx_playbooks": "drift", "awx_approvers": {"teams": "Approvers"}},
        {},
        "Add converge to awx_playbooks",
    ),
    "the bot's team": (
        {"awx_helpdesk": {"teams": "Postroom bot", "playbooks": "drift"}},
        {},
        "awx_helpdesk contains the bot's team or user",
    ),
    "no such user": ({"awx_approvers": {"users": "dana"}}, {}, 'the user \\"dana\\"'),
    "no such credential": (
        {"awx_galaxy_credentials": "Ansible Galaxy, ours"},
        {},
        'the credential \\"Ansible Galaxy\\"',
    ),
    "a wrong token": ({"awx_playbooks": []}, {"CONTROLLER_OAUTH_TOKEN": "another"}, "(HTTP 401)"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_wrong_variable_is_refused(awx: AwxProject, case: str) -> None:
    """The message names the invalid variable but no secret, and AWX receives no write."""
    variables, environment, words = CASES[case]
    run = awx.play({**VALID, **variables}, **environment)
    assert run.status != 0
    assert words in run.output
    assert shown(SECRETS.values(), run.output.encode()) == []
    assert awx.controller.written == []


def test_the_user_of_another_tenant_is_refused(awx: AwxProject) -> None:
    """Another tenant's bot user is refused, because organizations share user names."""
    theirs = {"username": "postroom-bot", "password": "of-the-first", "is_superuser": False}
    user = awx.controller.add("users", theirs)
    mine = {
        "awx_organization": "Second",
        "awx_bot_user": "postroom-bot",
        "vault_awx_bot_password": SECRETS["vault_awx_bot_password"],
    }
    run = awx.play({**VALID, **mine})
    assert run.status != 0
    assert "The user postroom-bot already exists" in run.output
    assert awx.controller.written == []
    assert user["password"] == "of-the-first"
