# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The stand-in for AWX refuses what AWX refuses: else a test against it would show nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.fakes.awx.controller import Controller
from ansible_collections.postroom.email.tests.ops.awx.asking import QUESTION, TYPE, Asker

RULE = "DTSTART:20260101T020000Z RRULE:FREQ=DAILY;INTERVAL=1"
SLACK = {"token": "xoxb", "channels": ["#mail"]}
OBJECT = "object does not exist"


@pytest.fixture
def asker(controller: Controller) -> Iterator[Asker]:
    """Give the superuser of an empty controller."""
    asker = Asker(controller)
    yield asker
    asker.close()


def spec(*questions: Any) -> dict[str, Any]:
    """Return a survey."""
    return {"name": "", "description": "", "spec": list(questions)}


def typed(**changes: Any) -> dict[str, Any]:
    """Return a credential type with something changed."""
    return {**TYPE, "name": "U", **changes}


def injecting(**injectors: Any) -> dict[str, Any]:
    """Return a credential type with these injectors."""
    return typed(injectors=injectors)


FIELDS = [
    ("organizations", {}, "name", "This field is required."),
    ("organizations", {"name": ""}, "name", "This field may not be blank."),
    ("organizations", {"name": None}, "name", "This field may not be null."),
    ("organizations", {"name": 7}, "name", "Not a valid string."),
    ("organizations", {"name": "x" * 513}, "name", "no more than 512"),
    ("organizations", {"name": "X", "colour": "red"}, "colour", "Unknown field."),
    ("organizations", {"name": "X", "max_hosts": "7"}, "max_hosts", "valid integer"),
    ("organizations", {"name": "O"}, "__all__", "already exists"),
    ("organizations", {"name": "X", "default_environment": 99}, "default_environment", OBJECT),
    ("execution_environments", {"name": "E"}, "image", "required"),
    ("inventories", {"name": "X"}, "organization", "required"),
    ("inventories", {"name": "X", "organization": "O"}, "organization", "Expected pk value"),
    ("teams", {"name": "X", "organization": 99}, "organization", OBJECT),
    ("users", {"username": "bot"}, "password", "required for new User"),
    ("projects", {"name": "X", "scm_type": "git"}, "scm_url", "SCM URL is required."),
    ("projects", {"name": "X", "scm_type": "cvs"}, "scm_type", "not a valid choice"),
    ("projects", {"name": "X"}, "local_path", "required"),
    ("projects", {"name": "X", "local_path": "other"}, "local_path", "not a valid choice"),
    ("projects", {"name": "X", "local_path": "mail"}, "local_path", "already being used"),
]


@pytest.mark.parametrize(("kind", "sent", "field", "words"), FIELDS)
def test_a_field_is_refused(
    asker: Asker, kind: str, sent: dict[str, Any], field: str, words: str
) -> None:
    """Status 400 names the field and says what is wrong with it, and nothing is made."""
    asker.ground()
    before = asker.controller.names(kind)
    said = asker.ask("POST", f"{kind}/", sent)
    assert said.status == 400
    assert words in said.body[field][0]
    assert asker.controller.names(kind) == before


TYPES = [
    (typed(kind="ssh"), "kind", "not a valid choice"),
    (typed(inputs={"fields": [{"id": "a"}]}), "inputs", "'label' is a required property"),
    (typed(inputs={"fields": [{"id": "tower", "label": "L"}]}), "inputs", "reserved"),
    (typed(inputs={"fields": [{"id": "a", "label": "L"}] * 2}), "inputs", "must be unique"),
    (
        typed(inputs={"fields": [{"id": "a", "label": "L", "type": "boolean", "secret": True}]}),
        "inputs",
        "secret not allowed for boolean",
    ),
    (injecting(env={"TOKEN": "{{ token"}), "injectors", "Syntax error rendering template"),
    (injecting(env={"TOKEN": "{{ tokn }}"}), "injectors", "undefined field"),
    (injecting(env={"ANSIBLE_CONFIG": "x"}), "injectors", "not allowed"),
    (injecting(env={"A-B": "x"}), "injectors", "does not match any"),
    (injecting(headers={"A": "x"}), "injectors", "headers"),
    (injecting(extra_vars={"f": "{{ tower.filename.ca }}"}), "injectors", "undefined field"),
    (injecting(file={"template": "x", "template.ca": "y"}), "injectors", "multi-file"),
]


@pytest.mark.parametrize(("sent", "field", "words"), TYPES)
def test_a_credential_type_is_refused(
    asker: Asker, sent: dict[str, Any], field: str, words: str
) -> None:
    """Inputs and injectors follow AWX's schema, and templates use what there is."""
    said = asker.ask("POST", "credential_types/", sent)
    assert said.status == 400
    assert words in said.body[field][0]


SURVEYS = [
    (spec(), "doesn't contain any items"),
    ({"name": "", "spec": [QUESTION]}, "'description' is missing"),
    ({**spec(QUESTION), "spec": {}}, "Expected list of items"),
    (spec("What?"), "not a json object"),
    (spec({**QUESTION, "type": "list"}), "not one of"),
    (spec({**QUESTION, "required": "yes"}), "expected to be boolean"),
    (spec({key: QUESTION[key] for key in QUESTION if key != "variable"}), "'variable' missing"),
    (spec(QUESTION, QUESTION), "duplicated in survey question 1"),
    (spec({**QUESTION, "default": 7}), "expected to be string"),
    (spec({**QUESTION, "type": "integer", "default": "7"}), "expected to be integer"),
    (spec({**QUESTION, "max": "254"}), "max limit"),
    (spec({**QUESTION, "type": "multiplechoice"}), "must specify choices"),
    (spec({**QUESTION, "type": "multiplechoice", "choices": ["a"], "default": "b"}), "from the"),
    (spec({**QUESTION, "type": "password", "default": "$encrypted$"}), "reserved keyword"),
]


@pytest.mark.parametrize(("sent", "words"), SURVEYS)
def test_a_survey_is_refused(asker: Asker, sent: dict[str, Any], words: str) -> None:
    """AWX has one sentence, under `error`, and keeps the survey that it has."""
    path = f"job_templates/{asker.ground()['template']}/survey_spec/"
    assert asker.ask("POST", path, spec(QUESTION)).status == 200
    said = asker.ask("POST", path, sent)
    assert said.status == 400
    assert words in said.body["error"]
    assert asker.ask("GET", path).body == spec(QUESTION)


def test_a_default_of_a_password_is_not_shown(asker: Asker) -> None:
    """So a survey that has one differs from what was sent, each time."""
    path = f"job_templates/{asker.ground()['template']}/survey_spec/"
    asker.ask("POST", path, spec({**QUESTION, "type": "password", "default": "secret"}))
    assert asker.ask("GET", path).body["spec"][0]["default"] == "$encrypted$"


TEMPLATES = [
    ({"project": None}, "project", "required"),
    ({"playbook": ""}, "playbook", "Must select playbook"),
    ({"playbook": "other.yml"}, "playbook", "not found for project"),
    ({"inventory": None}, "inventory", "must provide 'inventory'"),
    ({"job_type": "scan"}, "job_type", "not a valid choice"),
    ({"survey_enabled": "yes"}, "survey_enabled", "valid boolean"),
    ({"extra_vars": {"a": 1}}, "extra_vars", "Not a valid string."),
]


@pytest.mark.parametrize(("changed", "field", "words"), TEMPLATES)
def test_a_job_template_is_refused(
    asker: Asker, changed: dict[str, Any], field: str, words: str
) -> None:
    """It needs a project that has its playbook, and an inventory."""
    path = f"job_templates/{asker.ground()['template']}/"
    said = asker.ask("PATCH", path, changed)
    assert said.status == 400
    assert words in said.body[field][0]


def test_a_playbook_is_there_once_the_project_is_updated(asker: Asker) -> None:
    """What was pushed since is not found; a new address, or somebody, makes AWX look again."""
    made, repositories = asker.ground(), asker.controller.state.playbooks
    project, template = (f"projects/{made['project']}/", f"job_templates/{made['template']}/")
    repositories["u"] = frozenset({"add_alias.yml"})
    asker.ask("PATCH", project, {"scm_type": "git", "scm_url": "u"})
    repositories["u"] |= {"drift.yml"}
    asker.ask("PATCH", project, {"description": "Another"})
    missing = asker.ask("PATCH", template, {"playbook": "drift.yml"})
    assert missing.body == {"playbook": ["Playbook not found for project."]}
    assert asker.ask("POST", f"{project}update/").status == 202
    assert asker.ask("PATCH", template, {"playbook": "drift.yml"}).status == 200


SCHEDULES = [
    ({"rrule": "RRULE:FREQ=DAILY;INTERVAL=1"}, "rrule", "Valid DTSTART required"),
    ({"rrule": RULE.replace("Z", "")}, "rrule", "naive datetime"),
    ({"rrule": f"DTSTART:20260101T020000Z {RULE}"}, "rrule", "Multiple DTSTART"),
    ({"rrule": "DTSTART:20260101T020000Z"}, "rrule", "One or more rule required"),
    ({"rrule": RULE.replace(";INTERVAL=1", "")}, "rrule", "INTERVAL required"),
    ({"rrule": RULE.replace("DAILY", "SECONDLY")}, "rrule", "SECONDLY is not supported"),
    ({"rrule": RULE.replace("DAILY", "NIGHTLY")}, "rrule", "parsing failed"),
    ({"rrule": f"{RULE};COUNT=1;UNTIL=20270101T000000Z"}, "rrule", "both COUNT and UNTIL"),
    ({"rrule": f"{RULE};BYDAY=5MO"}, "rrule", "numeric prefix"),
    ({"job_type": "check"}, "job_type", "not configured to prompt"),
    ({"extra_data": {"a": "b"}}, "extra_data", "not allowed on launch"),
    ({"unified_job_template": 99}, "unified_job_template", OBJECT),
]


@pytest.mark.parametrize(("changed", "field", "words"), SCHEDULES)
def test_a_schedule_is_refused(
    asker: Asker, changed: dict[str, Any], field: str, words: str
) -> None:
    """Its rule follows AWX's rules, and it gives nothing that the template lets nobody give."""
    sent = {"name": "S", "rrule": RULE, "unified_job_template": asker.ground()["template"]}
    said = asker.ask("POST", "schedules/", {**sent, **changed})
    assert said.status == 400
    assert words in said.body[field][0]


def test_a_schedule_answers_a_survey(asker: Asker) -> None:
    """If it is enabled: a question that needs an answer gets none at night."""
    number = asker.ground()["template"]
    asker.ask("POST", f"job_templates/{number}/survey_spec/", spec(QUESTION))
    sent = {"name": "S", "rrule": RULE, "unified_job_template": number}
    answering = {**sent, "name": "T", "extra_data": {"mail_alias": "a"}}
    unasked = asker.ask("POST", "schedules/", answering)
    assert "not allowed on launch" in unasked.body["extra_data"][0]
    asker.ask("PATCH", f"job_templates/{number}/", {"survey_enabled": True})
    said = asker.ask("POST", "schedules/", sent)
    assert said.body == {"variables_needed_to_start": ["'mail_alias' value missing"]}
    assert asker.ask("POST", "schedules/", answering).status == 201


NOTIFICATIONS = [
    ({"notification_configuration": {"token": "x"}}, 400, "Missing required fields"),
    (
        {"notification_configuration": {**SLACK, "channels": "#mail"}},
        400,
        "expected list",
    ),
    ({"messages": {"other": {}}}, 400, "Unknown message type"),
    ({"messages": {"error": {"message": "{{ job"}}}, 400, "Unable to render"),
    ({"messages": {"error": {"body": "{{ job"}}}, 500, "server error"),
    ({"messages": {"workflow_approval": {"running": {"body": "{{"}}}}, 500, "server error"),
]


@pytest.mark.parametrize(("changed", "status", "words"), NOTIFICATIONS)
def test_a_notification_is_refused(
    asker: Asker, changed: dict[str, Any], status: int, words: str
) -> None:
    """It has what Slack needs, and templates for messages; for a broken body AWX has status 500."""
    sent = {"name": "N", "organization": asker.ground()["organization"]}
    sent |= {"notification_type": "slack", "notification_configuration": SLACK}
    said = asker.ask("POST", "notification_templates/", {**sent, **changed})
    assert said.status == status
    assert words in str(said.body)


def test_a_credential_is_refused(asker: Asker) -> None:
    """It belongs to somebody, and has inputs of its type only."""
    made = asker.ground()
    sent = {"name": "D", "credential_type": made["credential_type"]}
    assert "Missing 'user'" in asker.ask("POST", "credentials/", sent).body["detail"][0]
    owned = {**sent, "organization": made["organization"]}
    for inputs, words in (({"colour": "red"}, "was unexpected"), ({"token": 7}, "not of type")):
        said = asker.ask("POST", "credentials/", {**owned, "inputs": inputs})
        assert (said.status, words in said.body["inputs"][0]) == (400, True)


def test_an_inventory_source_is_refused(asker: Asker) -> None:
    """It takes a file out of a project with a repository."""
    made = asker.ground()
    sent = {"name": "S", "inventory": made["inventory"], "source": "scm"}
    path = "inventory_sources/"
    assert "Project required" in asker.ask("POST", path, sent).body["source_project"][0]
    manual = {**sent, "source_project": made["project"]}
    assert "manual project" in asker.ask("POST", path, manual).body["source_project"][0]
    asker.ask("PATCH", f"projects/{made['project']}/", {"scm_type": "git", "scm_url": "u"})
    assert "required" in asker.ask("POST", path, manual).body["source_path"][0]


def test_associations_are_refused(asker: Asker) -> None:
    """What is associated exists, fits, and is not the thing itself."""
    made = asker.ground()
    path = f"job_templates/{made['template']}/credentials/"
    assert asker.ask("POST", path, {"id": 99}).status == 400
    assert asker.ask("POST", path, {"id": made["credential"]}).status == 204
    owner = {"organization": made["organization"], "credential_type": made["credential_type"]}
    other = asker.make("credentials", name="D", **owner)
    assert "multiple" in asker.ask("POST", path, {"id": other}).body["error"]
    gone = {"id": made["credential"], "disassociate": True}
    assert asker.ask("POST", path, gone).status == 204
    assert asker.ask("GET", path).body["count"] == 0


def test_a_role_is_held_once(asker: Asker) -> None:
    """To give one that somebody holds, or to take one that nobody does, is no error."""
    asker.ground()
    user = asker.make("users", username="ann", password="of-ann")
    role = next(iter(asker.controller.state.roles))
    taking = {"id": user, "disassociate": True}
    for sent, held in ((taking, 0), ({"id": user}, 1), ({"id": user}, 1), (taking, 0)):
        assert asker.ask("POST", f"roles/{role}/users/", sent).status == 204
        assert asker.ask("GET", f"roles/{role}/users/").body["count"] == held


def test_nodes_are_refused(asker: Asker) -> None:
    """A node follows others of its own workflow, and is given only what is prompted for."""
    made = asker.ground()
    node = {"workflow_job_template": made["workflow"], "unified_job_template": made["template"]}
    one = asker.make("workflow_job_template_nodes", identifier="a", **node)
    path = f"workflow_job_template_nodes/{one}/success_nodes/"
    assert asker.ask("POST", path, {"id": one}).body == {"error": "Cycle detected."}
    elsewhere = asker.make("workflow_job_templates", name="V", organization=made["organization"])
    other = asker.make(
        "workflow_job_template_nodes", identifier="b", workflow_job_template=elsewhere
    )
    assert "different workflows" in asker.ask("POST", path, {"id": other}).body["error"]
    sent = {"identifier": "c", "job_type": "check", **node}
    said = asker.ask("POST", "workflow_job_template_nodes/", sent)
    assert "not configured to prompt" in said.body["job_type"][0]


def test_a_launch_is_given_numbers(asker: Asker) -> None:
    """A question for a number takes one, and no text."""
    path = f"job_templates/{asker.ground()['template']}/"
    question = {**QUESTION, "variable": "mail_quota", "type": "integer"}
    asker.ask("POST", f"{path}survey_spec/", spec(question))
    asker.ask("PATCH", path, {"survey_enabled": True})
    for answer, status in ((5, 201), ("5", 400)):
        said = asker.ask("POST", f"{path}launch/", {"extra_vars": {"mail_quota": answer}})
        assert said.status == status


def test_a_launch_is_refused(asker: Asker) -> None:
    """To who only sees a team that may launch; members may, and answer a survey that is enabled."""
    made, state = asker.ground(), asker.controller.state
    path = f"job_templates/{made['template']}/launch/"
    team = asker.make("teams", name="T", organization=made["organization"])
    user = asker.make("users", username="ann", password="of-ann")
    asker.controller.tokens["token-of-ann"] = user
    ann = Asker(asker.controller, "token-of-ann")

    def give(resource: int, role: str, actors: str, number: int) -> None:
        (found,) = (one for one in state.roles_of(resource) if one.name == role)
        assert asker.ask("POST", f"roles/{found.id}/{actors}/", {"id": number}).status == 204

    give(made["template"], "execute", "teams", team)
    give(team, "read", "users", user)
    assert ann.ask("POST", path).status == 404
    give(team, "member", "users", user)
    asker.ask("POST", f"job_templates/{made['template']}/survey_spec/", spec(QUESTION))
    assert ann.ask("POST", path).status == 201
    asker.ask("PATCH", f"job_templates/{made['template']}/", {"survey_enabled": True})
    assert "variables_needed_to_start" in ann.ask("POST", path).body
    ann.close()
