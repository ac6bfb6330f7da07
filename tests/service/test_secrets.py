# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Secrets and tokens appear only where they are needed."""

from __future__ import annotations

import base64
import contextlib
import json
import re
import sqlite3
import subprocess
from pathlib import Path

import pytest
from argon2 import PasswordHasher, extract_parameters

from ansible_collections.postroom.email.tests.service.api import (
    Api,
    check_problem,
    forwarder_body,
    mailbox_body,
)
from ansible_collections.postroom.email.tests.support.postgresql import binaries
from ansible_collections.postroom.email.tests.support.service import RunningService, running_service

SECRETS = [f"canary-{n}-Zx9%pq" for n in range(8)]
FAILING_DELETE = """
CREATE TRIGGER fail BEFORE DELETE ON principal BEGIN SELECT RAISE(ABORT, 'canary'); END
"""


def use_secrets(api: Api) -> str:
    """Send secrets in many ways, valid and invalid, and return all responses."""
    domain = api.domain()
    ann, info = f"ann@{domain}", f"info@{domain}"
    secrets = iter(SECRETS)
    responses = [
        api.create(mailbox_body(ann, secrets=[next(secrets), next(secrets)])),
        api.create(mailbox_body(ann, secrets=[next(secrets)])),
        api.create(mailbox_body(f"x@{domain}", secrets=[next(secrets) * 100])),
        api.create({**forwarder_body(info, ["x@y.example"]), "secrets": [next(secrets)]}),
        api.create({"name": domain, "type": "domain", "secrets": next(secrets)}),
        api.patch(ann, secrets=[next(secrets)]),
        api.patch(ann, secrets={"password": next(secrets)}),
        api.call("POST", "/api/principal", content=f'{{"secrets": "{SECRETS[0]}"'),
        api.get(ann),
        api.call("GET", "/api/principal"),
        api.dns(domain),
        api.call("GET", "/openapi.json"),
    ]
    statuses = [response.status_code for response in responses[:7]]
    assert statuses == [201, 409, 422, 422, 422, 200, 422]
    return "".join(response.text + str(response.headers) for response in responses)


def dump(service: RunningService) -> str:
    """Return the contents of the database, both as files and as a dump."""
    if service.database.startswith("postgresql"):
        command = [str(binaries() / "pg_dump"), service.database]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
    connection = sqlite3.connect(service.database)
    text = "\n".join(connection.iterdump())
    connection.close()
    files = Path(service.database).parent.glob("service.sqlite3*")
    return text + "".join(path.read_bytes().decode("latin-1") for path in files)


@pytest.mark.parametrize("backend", ["file", pytest.param("postgresql", marks=pytest.mark.full)])
def test_secrets_and_tokens_turn_up_nowhere(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """No response, log line or dump of the database contains a secret or token."""
    database = request.getfixturevalue("postgresql_url") if backend == "postgresql" else None
    faults = "error_after=0.3,truncate=0.0,seed=3,methods=GET"
    arguments = ["--log-level", "debug"]
    with running_service(
        tmp_path, database=database, tenant="canary", faults=faults, extra_args=arguments
    ) as service:
        with Api(service.url, service.token) as api:
            answers = use_secrets(api)
        searched = {"answers": answers, "log": service.log_path.read_text(), "dump": dump(service)}
        command_line = Path(f"/proc/{service.pid}/cmdline")
        if command_line.exists():
            searched["command line"] = command_line.read_text()
        canaries = [*SECRETS, service.token]
    canaries += [base64.b64encode(canary.encode()).decode() for canary in canaries]
    assert "argon2id" in searched["dump"]
    for place, text in searched.items():
        for canary in canaries:
            assert canary not in text, place


def test_a_failure_is_logged_under_its_request_id(file_service: RunningService) -> None:
    """An internal error is logged with the request's ID but without names, and changes nothing."""
    with Api(file_service.url, file_service.token) as api:
        domain = api.domain()
        with contextlib.closing(sqlite3.connect(file_service.database)) as database:
            database.execute(FAILING_DELETE)
        response = api.delete(domain)
        check_problem(response, 500, "internal_error")
        # A request is logged after its response and before the next request.
        assert api.get(domain).status_code == 200
        number = response.headers["X-Request-Id"]
        lines = [json.loads(line) for line in file_service.log().splitlines() if number in line]
        assert [line["event"] for line in lines] == ["failure", "request"]
        assert "IntegrityError" in str(lines[0])
        assert not re.search(f"canary|{re.escape(domain)}", file_service.log())


def test_secrets_are_argon2id_of_the_cost_that_was_set(tmp_path: Path) -> None:
    """Secrets are hashed with argon2id, with separate salts and the configured cost."""
    with (
        running_service(tmp_path, secret_cost="m=64,t=3,p=2") as service,
        Api(service.url, service.token) as api,
    ):
        ann = api.mailbox(f"ann@{api.domain()}", secrets=["first", "second"])
        assert verified(service, ["first", "second"]) == 2
        api.patch(ann, secrets=["third", "third"])
        assert verified(service, ["third", "third"]) == 2
        api.delete(ann)
        assert verified(service, []) == 0


def verified(service: RunningService, secrets: list[str]) -> int:
    """Check the stored hashes against the secrets, in order, and return their number."""
    connection = sqlite3.connect(service.database)
    hashes = [row[0] for row in connection.execute("SELECT hash FROM secret ORDER BY position")]
    connection.close()
    assert len(set(hashes)) == len(hashes)
    for hashed, secret in zip(hashes, secrets, strict=True):
        cost = extract_parameters(hashed)
        assert (cost.memory_cost, cost.time_cost, cost.parallelism) == (64, 3, 2)
        assert hashed.startswith("$argon2id$")
        assert PasswordHasher().verify(hashed, secret)
    return len(hashes)


def test_the_default_cost_is_the_one_that_was_chosen() -> None:
    """The default cost of a hash is the one for which the mail host's Dovecot is configured."""
    from postroom_service.passwords import hasher

    cost = extract_parameters(hasher().hash("x"))
    assert (cost.memory_cost, cost.time_cost, cost.parallelism) == (19456, 2, 1)
