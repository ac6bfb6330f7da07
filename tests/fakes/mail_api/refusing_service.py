# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Mail services that refuse some requests, and plans that change the contents of such services."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.postroom.email.plugins.module_utils._api.client.endpoints import (
    read_principal,
)
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.apply import Result
from ansible_collections.postroom.email.plugins.module_utils._api.tenant.plan import Plan
from ansible_collections.postroom.email.tests.fakes.mail_api.in_memory_service import (
    InMemoryService,
    domain,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import Reply, Request
from ansible_collections.postroom.email.tests.support.planning import Parts, mail, plan


def service_of(*principals: dict[str, Any]) -> InMemoryService:
    """Return a service with a domain and these principals."""
    return InMemoryService(None, domain("example.com"), *principals)


def plan_for(service: InMemoryService, parts: Parts, **options: Any) -> Plan:
    """Return a plan for the service's current contents."""
    return plan([read_principal(row) for row in service.principals.values()], parts, **options)


def names_of(planned: Plan, results: list[Result]) -> dict[str, str]:
    """Return the outcome of each subject's last step, keyed by the subject's local part."""
    pairs = zip(planned.changes, results, strict=True)
    return {change.subject.name.key.partition("@")[0]: r.outcome for change, r in pairs}


class RefusingService:
    """A handler that forwards requests to a service, but refuses some of them.

    :param refusals: permanent responses, keyed by a part of ``METHOD name``
    """

    def __init__(self, service: InMemoryService, refusals: Mapping[str, Reply]) -> None:
        self.service = service
        self.refusals = dict(refusals)

    def __call__(self, request: Request) -> Reply:
        """Respond to a request."""
        name = request.json["name"] if request.method == "POST" else request.target
        line = f"{request.method} {name}".replace("%40", "@")
        for part, reply in self.refusals.items():
            if part in line:
                return reply
        return self.service(request)


def holders(service: InMemoryService) -> dict[str, str]:
    """Return the owner of each alias."""
    return {
        alias.partition("@")[0]: row["name"].partition("@")[0]
        for row in service.principals.values()
        for alias in row.get("emails", [])[1:]
    }


def many(service: InMemoryService, count: int) -> Plan:
    """Return a plan that creates many mailboxes."""
    names = [f"b{number:03}" for number in range(count)]
    return plan_for(service, {"mailboxes": list(map(mail, names))}, passwords=names)
