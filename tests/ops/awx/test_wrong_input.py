# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What is missing, or can't be, is told in one sentence before anything is sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.ops.awx.stage import PROJECT, SECRETS, Stage
from ansible_collections.postroom.email.tests.support.secrets import shown

ENOUGH: Mapping[str, Any] = {
    "mail_api_url": "https://mail.example.net",
    "vault_mail_token": SECRETS["vault_mail_token"],
    "awx_project_url": PROJECT,
}
SHARED = {
    "awx_organization": "Second",
    "awx_bot_user": "postroom-bot",
    "vault_awx_bot_password": SECRETS["vault_awx_bot_password"],
}
CASES: list[tuple[dict[str, Any], dict[str, str], str]] = [
    (
        {},
        {"CONTROLLER_OAUTH_TOKEN": "", "CONTROLLER_USERNAME": "admin"},
        "Set CONTROLLER_HOST to the address of AWX, and CONTROLLER_OAUTH_TOKEN to a token of ",
    ),
    (
        {"awx_project_path": "mail"},
        {},
        "Give awx_project_url, the address of the project's repository, or else awx_project_path,",
    ),
    (
        {"vault_mail_token": ""},
        {},
        "Give mail_api_url and vault_mail_token, such as -e @account.yml, or set POSTROOM_API_URL",
    ),
    (
        {"vault_awx_slack_token": SECRETS["vault_awx_slack_token"]},
        {},
        "Give both vault_awx_slack_token and awx_slack_channels for notifications, or neither.",
    ),
    (
        {"awx_bot_user": "postroom-bot"},
        {},
        "Give vault_awx_bot_password, the password of the user postroom-bot.",
    ),
    (
        {"awx_playbooks": "drift, site, awx, nightly"},
        {},
        "awx_playbooks names awx, nightly, site. There are job templates for converge, ",
    ),
    (
        {"awx_template_variables": {"onboard-domain": {"dns_provider": "cloudflare"}}},
        {},
        "awx_template_variables names onboard-domain. There are job templates for converge, ",
    ),
    (
        {"awx_template_credentials": {"drfit": "Vault"}},
        {},
        "awx_template_credentials names drfit. There are job templates for converge, ",
    ),
    (
        {"awx_template_variables": "x=1"},
        {},
        "awx_template_variables is to be a map by the names of playbooks. Write it as ",
    ),
    (
        {"awx_template_variables": {"drift": ["x"]}},
        {},
        "awx_template_variables is to be a map by the names of playbooks. Write it as ",
    ),
    (
        {"awx_template_credentials": ["DNS"]},
        {},
        "Write it as {onboard_domain: [DNS of example.com]}.",
    ),
    (
        {"awx_approval_timeout": "1h"},
        {},
        "awx_approval_timeout is 1h. Write seconds as a whole number, or 0 to wait for ever.",
    ),
    (
        {"awx_update_secrets": "ture"},
        {},
        "awx_update_secrets is ture. Write true or false.",
    ),
    (
        {"awx_playbooks": "drift, deploy_bot", "awx_bot_inventory": "Servers"},
        {},
        'awx_playbooks names deploy_bot, and the controller has no inventory \\"Servers\\", or ',
    ),
    (
        {"awx_galaxy_credentials": "Ansible Galaxy, ours"},
        {},
        'The controller has no credential \\"Ansible Galaxy\\", or several.',
    ),
    (
        {"awx_playbooks": []},
        {"CONTROLLER_OAUTH_TOKEN": "another"},
        "Invalid authentication credentials for /api/v2/organizations/ (HTTP 401).",
    ),
]


@pytest.mark.parametrize(("variables", "environment", "sentence"), CASES)
def test_it_is_told_first(
    stage: Stage, variables: dict[str, Any], environment: dict[str, str], sentence: str
) -> None:
    """The play fails with the sentence, shows no secret, and the controller stays as it was."""
    done = stage.play({**ENOUGH, **variables}, **environment)
    assert done.status != 0
    assert sentence in done.output
    assert shown(SECRETS.values(), done.output.encode()) == []
    assert stage.controller.written == []


def test_the_user_of_another_tenant_is_refused(stage: Stage) -> None:
    """All organizations share users, so a second tenant's bot is not to get the first one's."""
    theirs = {"username": "postroom-bot", "password": "of-the-first", "is_superuser": False}
    user = stage.controller.state.add("users", theirs)
    done = stage.play({**ENOUGH, **SHARED})
    assert done.status != 0
    told = "There is a user postroom-bot already, and it is no member of the organization Second."
    assert told in done.output
    assert stage.controller.written == []
    assert user["password"] == "of-the-first"
