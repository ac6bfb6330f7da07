# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The life of a token, by the commands that manage it."""

from __future__ import annotations

import pytest

from ansible_collections.postroom.email.tests.service.api import Api, check_problem
from ansible_collections.postroom.email.tests.support.service import RunningService, ServiceError


def status(service: RunningService, token: str) -> int:
    """Try a token."""
    with Api(service.url, token) as api:
        response = api.call("GET", "/api/principal")
    return response.status_code


def test_tokens_are_created_listed_and_revoked(file_service: RunningService) -> None:
    """A token opens its tenant at once, is never shown again, and ends when it is revoked."""
    token = file_service.new_token("acme", "--label", "for the bot")
    assert status(file_service, token) == 200
    listed = file_service.command("token", "list")
    assert token not in listed
    header, *rows = [line.split("\t") for line in listed.splitlines()]
    assert header == ["ID", "TENANT", "LABEL", "CREATED", "EXPIRES", "STATE"]
    (row,) = [row for row in rows if row[1] == "acme"]
    assert (row[2], row[4], row[5]) == ("for the bot", "-", "active")
    file_service.command("token", "revoke", row[0])
    file_service.command("token", "revoke", row[0])
    with Api(file_service.url, token) as api:
        check_problem(api.call("GET", "/api/principal"), 401, "token_invalid")
    assert "revoked" in file_service.command("token", "list")
    assert status(file_service, file_service.token) == 200


def test_tokens_of_one_tenant_open_the_same(file_service: RunningService) -> None:
    """Two tokens of a tenant see one account, a third of another sees another."""
    tokens = [file_service.new_token(tenant) for tenant in ("acme", "acme", "other")]
    first, second, other = (Api(file_service.url, token) for token in tokens)
    with first, second, other:
        domain = first.domain()
        assert second.get(domain).status_code == 200
        assert other.get(domain).status_code == 404


def test_tokens_expire(file_service: RunningService) -> None:
    """A token with a term opens until then and not after it."""
    lasting = file_service.new_token("acme", "--expires-days", "1")
    brief = file_service.new_token("acme", "--expires-days", "0.000001")
    assert status(file_service, lasting) == 200
    assert status(file_service, brief) == 401
    states = [
        line.rpartition("\t")[2] for line in file_service.command("token", "list").splitlines()
    ]
    assert states == ["STATE", "active", "active", "expired"]


def test_an_unknown_token_can_not_be_revoked(file_service: RunningService) -> None:
    """Revoking what isn't there is an error."""
    with pytest.raises(ServiceError, match="there is no token 77"):
        file_service.command("token", "revoke", "77")


def test_a_memory_database_has_no_commands(file_service: RunningService) -> None:
    """A memory database is in its process only, which is said instead of making a useless token."""
    with pytest.raises(ServiceError, match="a memory database lives in its serving process only"):
        file_service.command("token", "create", "--tenant", "x", "--database", "memory")
