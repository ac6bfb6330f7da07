# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The playbook without anything that it can do without, on a project that is a folder."""

from __future__ import annotations

from ansible_collections.postroom.email.tests.ops.awx.stage import SECRETS, WRAPPERS, Stage

LITTLE = {
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

#: AWX's modules make a token with these, and revoke it.
ADMIN = {
    "CONTROLLER_OAUTH_TOKEN": "",
    "CONTROLLER_USERNAME": "admin",
    "CONTROLLER_PASSWORD": "adm1n/of+tests",
}


def test_little_is_enough(stage: Stage) -> None:
    """There is what was asked for, by its own name, and no more."""
    state = stage.controller.state
    state.playbooks["mail"] = WRAPPERS
    key = stage.vault()
    servers = state.add("inventories", {"name": "Servers", "organization": None})
    done = stage.play(LITTLE, **ADMIN)
    assert done.status == 0, done.output[-3000:]
    assert ADMIN["CONTROLLER_PASSWORD"] not in done.output
    names = stage.controller.names
    assert names("job_templates") == ["Mail: deploy_bot", "Mail: drift"]
    assert names("projects") == ["Second"]
    assert names("schedules") == ["Second nightly drift"]
    assert names("users") == ["admin"]
    assert names("teams") == ["Second bot"]
    assert names("credential_types") == ["Second tenant", "Vault"]
    for kind in ("execution_environments", "notification_templates", "workflow_job_templates"):
        assert names(kind) == []
    assert names("inventory_sources") == []
    drift = stage.controller.named("job_templates", "Mail: drift")
    assert drift["execution_environment"] is None
    files = '"mail_definition_files": ["tenant.yml", "more.yml"]'
    assert drift["extra_vars"] == f'{{{files}, "mail_ignore": ["*@old.example"]}}'
    bot = stage.controller.named("job_templates", "Mail: deploy_bot")
    assert (bot["inventory"], bot["extra_vars"]) == (servers["id"], '{"bot_hosts": "chat"}')
    assert bot["ask_job_type_on_launch"]
    tenant = stage.controller.named("credentials", "Second tenant")
    assert "passwords" not in tenant["inputs"]
    assert sorted(state.linked(drift["id"], "credentials")) == sorted([tenant["id"], key])
    told_why_a_schedule_is_refused(stage)


def told_why_a_schedule_is_refused(stage: Stage) -> None:
    """AWX's own reason is part of the sentence, also where the schedule is there already."""
    daily = "DTSTART:20260101T020000Z RRULE:FREQ=DAILY"
    done = stage.play({**LITTLE, "awx_drift_rrule": daily}, **ADMIN)
    assert done.status != 0
    assert "AWX does not take the schedule with awx_drift_rrule" in done.output
    assert f'{daily}\\": INTERVAL required in rrule: ' in done.output
