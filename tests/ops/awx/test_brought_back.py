# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What somebody has changed in AWX is brought back, and what was told anew gets there."""

from __future__ import annotations

from ansible_collections.postroom.email.tests.ops.awx.stage import ALL, SECRETS, Stage

FEW = {**ALL, "awx_playbooks": ["add_alias", "export"], "awx_bot_user": ""}


def test_a_second_run_mends(stage: Stage) -> None:
    """A survey, a role that the bot has no need of, a channel, and the address of the service."""
    first = stage.play(FEW)
    assert first.status == 0, first.output[-3000:]
    state, controller = stage.controller.state, stage.controller
    template = controller.named("job_templates", "Postroom add_alias")
    state.surveys[template["id"]]["spec"].pop()
    other = controller.named("job_templates", "Postroom export")
    team = controller.named("teams", "postroom-bot")
    role = next(one for one in state.roles_of(other["id"]) if one.name == "execute")
    role.holders["teams"].append(team["id"])
    sent = len(controller.written)
    again = stage.play({**FEW, "mail_api_url": "https://new.example", "awx_slack_channels": ["#a"]})
    assert (again.status, again.recap.changed) == (0, 4), again.output[-3000:]
    assert [(method, path.split("/")[0]) for method, path, _ in controller.written[sent:]] == [
        ("PATCH", "credentials"),
        ("PATCH", "notification_templates"),
        ("POST", "job_templates"),
        ("POST", "roles"),
    ]
    assert role.holders["teams"] == []
    questions = state.surveys[template["id"]]["spec"]
    assert [one["variable"] for one in questions][-1] == "postroom_request"
    inputs = controller.named("credentials", "Postroom tenant")["inputs"]
    assert inputs["api_url"] == "https://new.example"
    slack = controller.named("notification_templates", "Postroom Slack")
    assert slack["notification_configuration"] == {
        "token": SECRETS["vault_awx_slack_token"],
        "channels": ["#a"],
    }
