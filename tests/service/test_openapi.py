# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The OpenAPI document is true: schemathesis calls the running service by it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.service.api import Api
from ansible_collections.postroom.email.tests.support.service import RunningService
from postroom_service.problems import KINDS

# All checks are on. What no schema can say, such as that the domain of an address must be
# registered or that emails includes name, is refused with 422 though the schema allows it.
CONFIGURATION = """
headers = { Authorization = "Bearer ${TOKEN}" }

[[operations]]
include-method = ["POST", "PATCH"]
checks.positive_data_acceptance.expected-statuses = ["2xx", "404", "409", "422"]
"""


def test_the_service_does_what_its_document_says(
    file_service: RunningService, tmp_path: Path
) -> None:
    """Examples, boundary values, generated calls and sequences of calls all conform."""
    with Api(file_service.url, file_service.token) as api:
        api.domain("example.com")
    (tmp_path / "schemathesis.toml").write_text(CONFIGURATION)
    program = Path(sys.executable).with_name("schemathesis")
    phases = ["--phases", "examples,coverage,fuzzing,stateful", "--max-examples", "10"]
    result = subprocess.run(
        [
            program,
            "run",
            f"{file_service.url}/openapi.json",
            "--checks",
            "all",
            "--seed",
            "1",
            *phases,
        ],
        cwd=tmp_path,
        env={**os.environ, "TOKEN": file_service.token, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert '"status": 500' not in file_service.log_path.read_text()


@pytest.mark.parametrize("backend", ["memory"], indirect=True, scope="session")
def test_every_operation_and_code_is_described(api: Api) -> None:
    """The document has the contract's six endpoints and the stable codes."""
    document = json.loads(api.call("GET", "/openapi.json").content)
    operations = {(method, path) for path, item in document["paths"].items() for method in item}
    assert {operation for operation in operations if operation[0] != "parameters"} == {
        ("get", "/api/principal"),
        ("post", "/api/principal"),
        ("get", "/api/principal/{name}"),
        ("patch", "/api/principal/{name}"),
        ("delete", "/api/principal/{name}"),
        ("get", "/api/dns/{domain}"),
        ("get", "/healthz"),
    }
    assert document["components"]["schemas"]["Problem"]["properties"]["code"]["enum"] == list(KINDS)
