# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Wrong variables of `playbooks/awx.yml` are refused before anything is sent to AWX."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.ops.awx.stage import PROJECT, SECRETS, Stage
from ansible_collections.postroom.email.tests.support.secrets import shown

VALID: Mapping[str, Any] = {
    "mail_api_url": "https://mail.example.net",
    "vault_mail_token": SECRETS["vault_mail_token"],
    "awx_project_url": PROJECT,
}
ANOTHER_USER = {"CONTROLLER_OAUTH_TOKEN": "", "CONTROLLER_USERNAME": "admin"}
#: Variables, more environment, and what the message names.
CASES: dict[str, tuple[dict[str, Any], dict[str, str], str]] = {
    "no login": ({}, ANOTHER_USER, "Set CONTROLLER_HOST"),
    "two projects": ({"awx_project_path": "mail"}, {}, "Give awx_project_url"),
    "no account": ({"vault_mail_token": ""}, {}, "Give mail_api_url and vault_mail_token"),
    "half of Slack": (
        {"vault_awx_slack_token": SECRETS["vault_awx_slack_token"]},
        {},
        "Give both vault_awx_slack_token and awx_slack_channels",
    ),
    "no password": ({"awx_bot_user": "postroom-bot"}, {}, "Give vault_awx_bot_password"),
    "unknown playbooks": (
        {"awx_playbooks": "drift, site, awx, nightly"},
        {},
        "awx_playbooks names awx, nightly, site.",
    ),
    "a list of variables": (
        {"awx_template_variables": {"drift": ["x"]}},
        {},
        "awx_template_variables is to be a map",
    ),
    "a list of credentials": (
        {"awx_template_credentials": ["DNS"]},
        {},
        "awx_template_credentials is to be a map",
    ),
    "no number": ({"awx_approval_timeout": "1h"}, {}, "awx_approval_timeout is 1h."),
    "no boolean": ({"awx_update_secrets": "ture"}, {}, "awx_update_secrets is ture."),
    "no such inventory": (
        {"awx_playbooks": "drift, deploy_bot", "awx_bot_inventory": "Servers"},
        {},
        'no inventory \\"Servers\\"',
    ),
    "no such credential": (
        {"awx_galaxy_credentials": "Ansible Galaxy, ours"},
        {},
        'no credential \\"Ansible Galaxy\\"',
    ),
    "a wrong token": ({"awx_playbooks": []}, {"CONTROLLER_OAUTH_TOKEN": "another"}, "(HTTP 401)"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_wrong_variable_is_refused(stage: Stage, case: str) -> None:
    """The message names the variable, shows no secret, and the controller receives no write."""
    variables, environment, words = CASES[case]
    run = stage.play({**VALID, **variables}, **environment)
    assert run.status != 0
    assert words in run.output
    assert shown(SECRETS.values(), run.output.encode()) == []
    assert stage.controller.written == []


def test_the_user_of_another_tenant_is_refused(stage: Stage) -> None:
    """Organizations share user names, so a second tenant's bot can't take over the first one's."""
    theirs = {"username": "postroom-bot", "password": "of-the-first", "is_superuser": False}
    user = stage.controller.state.add("users", theirs)
    mine = {
        "awx_organization": "Second",
        "awx_bot_user": "postroom-bot",
        "vault_awx_bot_password": SECRETS["vault_awx_bot_password"],
    }
    run = stage.play({**VALID, **mine})
    assert run.status != 0
    assert "There is a user postroom-bot already" in run.output
    assert stage.controller.written == []
    assert user["password"] == "of-the-first"
