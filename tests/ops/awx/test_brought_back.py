# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What somebody has changed in AWX is brought back, and what was told anew gets there."""

from __future__ import annotations

from ansible_collections.postroom.email.tests.ops.awx.stage import ALL, SECRETS, Stage

SOME = {
    **ALL,
    "awx_playbooks": ["add_alias", "converge"],
    "awx_template_credentials": {"converge": ["Vault"]},
    "awx_bot_user": "",
}
FEWER = {
    **SOME,
    "awx_playbooks": "add_alias",
    "mail_api_url": "https://new.example",
    "awx_slack_channels": "#a, #b",
}
#: What may be launched, and the bot has no need of; the second run does not keep it either.
OTHERS = {
    "Postroom converge": "job_templates",
    "Postroom review": "job_templates",
    "Postroom apply": "job_templates",
    "Postroom reviewed converge": "workflow_job_templates",
}


def test_a_second_run_mends(stage: Stage) -> None:
    """A survey, what the bot might launch, the channels, and the address of the service."""
    state, controller = stage.controller.state, stage.controller
    vault = stage.vault()
    first = stage.play(SOME)
    assert first.status == 0, first.output[-3000:]
    template = controller.named("job_templates", "Postroom add_alias")
    state.surveys[template["id"]]["spec"].pop()
    template["ask_variables_on_launch"] = True
    team = controller.named("teams", "Postroom bot")
    others = [controller.named(kind, name)["id"] for name, kind in OTHERS.items()]
    tenant = controller.named("credentials", "Postroom tenant")
    for of_converge in others[:3]:
        assert sorted(state.linked(of_converge, "credentials")) == sorted([tenant["id"], vault])
    roles = [one for id_ in others for one in state.roles_of(id_) if one.name == "execute"]
    for role in roles:
        role.holders["teams"].append(team["id"])
    sent = len(controller.written)
    again = stage.play(FEWER)
    assert (again.status, again.recap.changed) == (0, 4), again.output[-3000:]
    assert [(method, path.split("/")[0]) for method, path, _ in controller.written[sent:]] == [
        ("PATCH", "credentials"),
        ("PATCH", "notification_templates"),
        ("PATCH", "job_templates"),
        ("POST", "job_templates"),
        *[("POST", "roles")] * len(OTHERS),
    ]
    assert [role.holders["teams"] for role in roles] == [[]] * len(OTHERS)
    assert not template["ask_variables_on_launch"]
    questions = state.surveys[template["id"]]["spec"]
    assert [one["variable"] for one in questions][-1] == "postroom_request"
    inputs = controller.named("credentials", "Postroom tenant")["inputs"]
    assert inputs["api_url"] == "https://new.example"
    slack = controller.named("notification_templates", "Postroom Slack")
    assert slack["notification_configuration"] == {
        "token": SECRETS["vault_awx_slack_token"],
        "channels": ["#a", "#b"],
    }
