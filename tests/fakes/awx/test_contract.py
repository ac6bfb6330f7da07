# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The fake of AWX enforces the rules of AWX that our guarantees rest on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from ansible_collections.postroom.email.tests.fakes.awx.controller import (
    Controller,
    running_controller,
)

RULE = "DTSTART:20260101T020000Z RRULE:FREQ=DAILY;INTERVAL=1"
QUESTION = {"question_name": "Alias", "variable": "mail_alias", "type": "text", "required": True}
CHOICE = {**QUESTION, "type": "multiplechoice"}
FIELD = {"id": "token", "type": "string", "label": "Token", "secret": True}
TYPE: dict[str, Any] = {"name": "T", "kind": "cloud", "inputs": {"fields": [FIELD]}}
UNKNOWN = "object does not exist"


class Client:
    """A client of the API with a token, by default the superuser's."""

    def __init__(self, controller: Controller, token: str | None = None) -> None:
        headers = {"Authorization": f"Bearer {controller.token if token is None else token}"}
        self.http = httpx.Client(base_url=f"{controller.url}/api/v2/", headers=headers)
        self.state = controller.state

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Send a request; return the status and the body of the response."""
        answer = self.http.request(method, path, json=body)
        return answer.status_code, answer.json() if answer.content else None

    def make(self, kind: str, /, **fields: Any) -> int:
        """Create a resource and return its id."""
        status, body = self.ask("POST", f"{kind}/", fields)
        assert status == 201, body
        number: int = body["id"]
        return number

    def refused(self, method: str, path: str, sent: Any, field: str, words: str) -> None:
        """Assert that a request is refused with status 400, for a field and a reason."""
        status, body = self.ask(method, path, sent)
        assert status == 400, sent
        assert words in str(body[field]), sent


@pytest.fixture
def controller() -> Iterator[Controller]:
    """Run an empty controller."""
    with running_controller() as controller:
        yield controller


@pytest.fixture
def admin(controller: Controller) -> Iterator[Client]:
    """Return a client of the superuser."""
    client = Client(controller)
    with client.http:
        yield client


@pytest.fixture
def ids(admin: Client) -> dict[str, int]:
    """Create one resource of each kind that others need; return their ids."""
    admin.state.playbooks["mail"] = frozenset({"add_alias.yml"})
    org = admin.make("organizations", name="O")
    kind = admin.make("credential_types", **TYPE)
    project = admin.make("projects", name="P", organization=org, local_path="mail")
    inventory = admin.make("inventories", name="I", organization=org)
    owned = {"project": project, "inventory": inventory, "playbook": "add_alias.yml"}
    return {
        "organization": org,
        "project": project,
        "credential_type": kind,
        "credential": admin.make("credentials", name="C", organization=org, credential_type=kind),
        "template": admin.make("job_templates", name="J", **owned),
    }


def survey(*questions: Any) -> dict[str, Any]:
    """Return a survey."""
    return {"name": "", "description": "", "spec": list(questions)}


def test_fields_are_validated(admin: Client, ids: dict[str, int]) -> None:
    """A field that is missing, unknown, of a wrong type or not unique is refused."""
    org = ids["organization"]
    for kind, sent, field, words in (
        ("organizations", {}, "name", "required"),
        ("organizations", {"name": ""}, "name", "blank"),
        ("organizations", {"name": "X", "colour": "red"}, "colour", "Unknown"),
        ("schedules", {"enabled": "yes"}, "enabled", "Expected bool"),
        ("organizations", {"name": "O"}, "__all__", "already exists"),
        ("teams", {"name": "X", "organization": 99}, "organization", UNKNOWN),
    ):
        admin.refused("POST", f"{kind}/", sent, field, words)
    credential = {"name": "D", "credential_type": ids["credential_type"], "organization": org}
    inputs = {"inputs": {"colour": "red"}}
    admin.refused("POST", "credentials/", {**credential, **inputs}, "inputs", "not allowed")


def test_surveys_are_validated(admin: Client, ids: dict[str, int]) -> None:
    """A survey that AWX refuses does not replace the template's survey."""
    path = f"job_templates/{ids['template']}/survey_spec/"
    assert admin.ask("POST", path, survey(QUESTION))[0] == 200
    for sent, words in (
        (survey(), "doesn't contain any items"),
        (survey({**QUESTION, "type": "list"}), "not one of"),
        (survey(QUESTION, QUESTION), "duplicated"),
        (survey({**QUESTION, "default": 7}), "expected to be string"),
        (survey(CHOICE), "must specify choices"),
        (survey({**CHOICE, "choices": ["a"], "default": "b"}), "choices listed"),
    ):
        admin.refused("POST", path, sent, "error", words)
    assert admin.ask("GET", path)[1] == survey(QUESTION)


def test_job_templates_need_a_playbook_of_their_project(admin: Client, ids: dict[str, int]) -> None:
    """AWX finds a playbook after the project was updated, and requires an inventory."""
    template, project = f"job_templates/{ids['template']}/", f"projects/{ids['project']}/"
    admin.refused("PATCH", template, {"inventory": None}, "inventory", "must provide")
    admin.state.playbooks["u"] = frozenset({"add_alias.yml"})
    admin.ask("PATCH", project, {"scm_type": "git", "scm_url": "u"})
    admin.state.playbooks["u"] |= {"drift.yml"}
    admin.refused("PATCH", template, {"playbook": "drift.yml"}, "playbook", "not found")
    assert admin.ask("POST", f"{project}update/")[0] == 202
    assert admin.ask("PATCH", template, {"playbook": "drift.yml"})[0] == 200


def test_schedules_are_validated(admin: Client, ids: dict[str, int]) -> None:
    """A schedule has a complete rule, answers the survey, and gives only what is prompted for."""
    template = ids["template"]
    sent = {"name": "S", "rrule": RULE, "unified_job_template": template}
    for changed, field, words in (
        ({"rrule": "RRULE:FREQ=DAILY;INTERVAL=1"}, "rrule", "DTSTART required"),
        ({"rrule": RULE.replace("Z", "")}, "rrule", "DTSTART"),
        ({"rrule": RULE.replace(";INTERVAL=1", "")}, "rrule", "INTERVAL required"),
        ({"job_type": "check"}, "job_type", "not configured to prompt"),
        ({"extra_data": {"a": "b"}}, "extra_data", "not allowed on launch"),
    ):
        admin.refused("POST", "schedules/", {**sent, **changed}, field, words)
    admin.ask("POST", f"job_templates/{template}/survey_spec/", survey(QUESTION))
    admin.ask("PATCH", f"job_templates/{template}/", {"survey_enabled": True})
    admin.refused("POST", "schedules/", sent, "variables_needed_to_start", "mail_alias")
    assert admin.ask("POST", "schedules/", {**sent, "extra_data": {"mail_alias": "a"}})[0] == 201


def test_a_template_has_one_credential_of_a_type(admin: Client, ids: dict[str, int]) -> None:
    """Another credential of the same type is refused, and so is one that does not exist."""
    path = f"job_templates/{ids['template']}/credentials/"
    admin.refused("POST", path, {"id": 99}, "msg", "does not exist")
    assert admin.ask("POST", path, {"id": ids["credential"]})[0] == 204
    owner = {name: ids[name] for name in ("organization", "credential_type")}
    other = admin.make("credentials", name="D", **owner)
    admin.refused("POST", path, {"id": other}, "error", "multiple")


def test_launches_answer_the_survey(admin: Client, ids: dict[str, int]) -> None:
    """A launch needs valid answers, and drops variables that nothing asks for."""
    path = f"job_templates/{ids['template']}/"
    question = {**QUESTION, "variable": "quota", "type": "integer"}
    admin.ask("POST", f"{path}survey_spec/", survey(question))
    admin.ask("PATCH", path, {"survey_enabled": True})
    for given in ({}, {"quota": "5"}):
        sent = {"extra_vars": given}
        admin.refused("POST", f"{path}launch/", sent, "variables_needed_to_start", "quota")
    status, job = admin.ask("POST", f"{path}launch/", {"extra_vars": {"quota": 5, "other": 1}})
    assert (status, job["ignored_fields"]) == (201, {"extra_vars": {"other": 1}})
    assert job["extra_vars"] == '{"quota": 5}'


def test_permissions_are_enforced(
    controller: Controller, admin: Client, ids: dict[str, int]
) -> None:
    """A user sees and launches what a role allows, directly or by a team, and changes nothing."""
    with Client(controller, "unknown").http as http:
        assert http.get("teams/").status_code == 401
    team = admin.make("teams", name="T", organization=ids["organization"])
    user = admin.make("users", username="ann", password="of-ann")
    controller.tokens["token-of-ann"] = user
    ann = Client(controller, "token-of-ann")
    launch = f"job_templates/{ids['template']}/launch/"
    steps = (
        (ids["template"], "execute", "teams", team, 404),
        (team, "read", "users", user, 404),
        (ids["template"], "read", "users", user, 403),
        (team, "member", "users", user, 201),
    )
    with ann.http:
        for resource, role, actors, number, status in steps:
            path = f"roles/{admin.state.role(resource, role).id}/{actors}/"
            assert admin.ask("POST", path, {"id": number})[0] == 204
            assert ann.ask("POST", launch)[0] == status
        assert ann.ask("GET", "credentials/")[1]["count"] == 0
        assert ann.ask("PATCH", f"job_templates/{ids['template']}/", {"name": "X"})[0] == 403


def test_lists_are_filtered_and_paged(admin: Client, ids: dict[str, int]) -> None:
    """Filters follow references, pages link to the next, and unknown fields are refused."""
    other = admin.make("organizations", name="Other")
    for name in ("a", "b", "c"):
        admin.make("teams", name=name, organization=ids["organization"])
    admin.make("teams", name="a", organization=other)
    _status, page = admin.ask("GET", "teams/?name=a&organization__name=Other")
    assert [row["organization"] for row in page["results"]] == [other]
    _status, page = admin.ask("GET", "teams/?page_size=3")
    assert [row["name"] for row in page["results"]] == ["a", "b", "c"]
    assert page["count"] == 4
    _status, page = admin.ask("GET", page["next"].removeprefix("/api/v2/"))
    assert ([row["name"] for row in page["results"]], page["next"]) == (["a"], None)
    assert admin.ask("GET", "teams/?colour=red")[0] == 400
