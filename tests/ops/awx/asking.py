# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Requests to the stand-in for AWX, and the resources that others need to be there."""

from __future__ import annotations

from typing import Any, NamedTuple

import httpx

from ansible_collections.postroom.email.tests.fakes.awx.controller import Controller

TYPE: dict[str, Any] = {
    "name": "T",
    "kind": "cloud",
    "inputs": {"fields": [{"id": "token", "type": "string", "label": "Token", "secret": True}]},
    "injectors": {"env": {"TOKEN": "{{ token }}"}},
}
QUESTION: dict[str, Any] = {
    "question_name": "Alias",
    "variable": "mail_alias",
    "type": "text",
    "required": True,
}


class Said(NamedTuple):
    """An answer."""

    status: int
    body: Any


class Asker:
    """Somebody who asks; by default the superuser."""

    def __init__(self, controller: Controller, token: str | None = None) -> None:
        self.controller = controller
        token = controller.token if token is None else token
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = httpx.Client(base_url=f"{controller.url}/api/v2/", headers=headers)

    def ask(self, method: str, path: str, body: Any = None) -> Said:
        """Send one request."""
        answer = self._http.request(method, path, json=body)
        return Said(answer.status_code, answer.json() if answer.content else None)

    def make(self, kind: str, /, **fields: Any) -> int:
        """Make a resource and return its number."""
        said = self.ask("POST", f"{kind}/", fields)
        assert said.status == 201, said.body
        number: int = said.body["id"]
        return number

    def ground(self) -> dict[str, int]:
        """Make one of each resource that others need; return their numbers by kind."""
        self.controller.state.playbooks["mail"] = frozenset({"add_alias.yml"})
        org = self.make("organizations", name="O")
        type_ = self.make("credential_types", **TYPE)
        project = self.make("projects", name="P", organization=org, local_path="mail")
        inventory = self.make("inventories", name="I", organization=org)
        owned = {"project": project, "inventory": inventory, "playbook": "add_alias.yml"}
        return {
            "organization": org,
            "credential_type": type_,
            "credential": self.make(
                "credentials", name="C", organization=org, credential_type=type_
            ),
            "project": project,
            "inventory": inventory,
            "template": self.make("job_templates", name="J", **owned),
            "workflow": self.make("workflow_job_templates", name="W", organization=org),
        }

    def close(self) -> None:
        """Close the connection."""
        self._http.close()
