# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The fake AWX enforces the rules of AWX on which the project relies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from ansible_collections.postroom.email.tests.fakes.awx.controller import (
    Controller,
    running_controller,
)


@pytest.fixture
def controller() -> Iterator[Controller]:
    """Run a controller with a job template and a user whose token is `of-ann`."""
    with running_controller() as controller:
        template = {"name": "J", "playbook": "add_alias.yml"}
        controller.add("job_templates", template)
        user = controller.add("users", {"username": "ann", "is_superuser": False})
        controller.tokens["of-ann"] = user["id"]
        yield controller


def send(
    controller: Controller, method: str, path: str, body: Any = None, token: str = ""
) -> httpx.Response:
    """Send a request, by default as the superuser."""
    headers = {"Authorization": f"Bearer {token or controller.token}"}
    url = f"{controller.url}/api/v2/{path}"
    return httpx.request(method, url, json=body, headers=headers, trust_env=False)


def status_of(
    controller: Controller, method: str, path: str, body: Any = None, token: str = ""
) -> int:
    """Send a request and return the status of the response."""
    return send(controller, method, path, body, token).status_code


def test_permissions_are_enforced(controller: Controller) -> None:
    """Users can see and launch only the templates for which they or their teams have a role."""
    assert status_of(controller, "GET", "teams/", token="unknown") == 401
    ann = controller.named("users", "ann")["id"]
    template = controller.named("job_templates", "J")["id"]
    team = controller.add("teams", {"name": "T"})["id"]
    for resource, role, actors, actor, status in (
        (template, "execute", "teams", team, 404),
        (team, "read", "users", ann, 404),
        (template, "read", "users", ann, 403),
        (team, "member", "users", ann, 201),
    ):
        path = f"roles/{controller.role(resource, role).id}/{actors}/"
        assert status_of(controller, "POST", path, {"id": actor}) == 204
        launch = f"job_templates/{template}/launch/"
        assert status_of(controller, "POST", launch, {}, "of-ann") == status
    change = ("PATCH", f"job_templates/{template}/", {"name": "X"}, "of-ann")
    assert status_of(controller, *change) == 403


def test_jobs_of_an_invisible_template_are_denied(controller: Controller) -> None:
    """A user without a role on a job's template gets 403 for the job."""
    ann = controller.named("users", "ann")["id"]
    template = controller.named("job_templates", "J")["id"]
    workflow = controller.add("workflow_job_templates", {"name": "W"})["id"]
    approval = f"roles/{controller.role(workflow, 'approval').id}/users/"
    assert status_of(controller, "POST", approval, {"id": ann}) == 204
    assert status_of(controller, "POST", f"job_templates/{template}/launch/", {}) == 201
    (job,) = controller.jobs.jobs
    for status in (403, 200):
        assert status_of(controller, "GET", f"jobs/{job}/", token="of-ann") == status
        controller.role(template, "read").holders["users"].append(ann)


def test_a_launch_ignores_what_is_not_prompted_for(controller: Controller) -> None:
    """A launch ignores fields without an enabled prompt, and the response names them."""
    template = controller.named("job_templates", "J")
    body = {"limit": "x", "scm_branch": "other"}
    for prompts, ignored in (({}, body), ({"ask_limit_on_launch": True}, {"scm_branch": "other"})):
        template |= prompts
        answer = send(controller, "POST", f"job_templates/{template['id']}/launch/", body).json()
        assert answer["ignored_fields"] == {"extra_vars": {}, **ignored}


def test_a_token_expires(controller: Controller) -> None:
    """By default, a token is valid for a thousand years. An expired token is refused."""
    for seconds, status in ((controller.token_seconds, 200), (0.0, 401)):
        controller.token_seconds = seconds
        token = send(controller, "POST", "tokens/", {}).json()["token"]
        assert status_of(controller, "GET", "teams/", token=token) == status
