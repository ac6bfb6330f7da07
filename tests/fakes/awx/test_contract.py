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


@pytest.fixture
def controller() -> Iterator[Controller]:
    """Run a controller with a job template and a user, whose token is `of-ann`."""
    with running_controller() as controller:
        template = {"name": "J", "playbook": "add_alias.yml"}
        controller.add("job_templates", template)
        user = controller.add("users", {"username": "ann", "is_superuser": False})
        controller.tokens["of-ann"] = user["id"]
        yield controller


def status_of(
    controller: Controller, method: str, path: str, body: Any = None, token: str = ""
) -> int:
    """Send a request, by default as the superuser, and return the status of the response."""
    headers = {"Authorization": f"Bearer {token or controller.token}"}
    url = f"{controller.url}/api/v2/{path}"
    return httpx.request(method, url, json=body, headers=headers, trust_env=False).status_code


def test_permissions_are_enforced(controller: Controller) -> None:
    """A user sees and launches what a role allows, directly or by a team, and changes nothing."""
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
