# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The OpenAPI document and the README agree with the service."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.service.api import Api
from ansible_collections.postroom.email.tests.support.service import RunningService
from postroom_service.__main__ import main
from postroom_service.faults import READERS
from postroom_service.openapi import DOCUMENT
from postroom_service.problems import KINDS

ROOT = Path(__file__).parents[2]
README = (ROOT / "service" / "README.md").read_text(encoding="utf-8")
# All checks are on. A schema can't express that the domain of an address must be registered or
# that emails includes name: such requests are refused with 422 though the schema allows them.
CONFIGURATION = """
headers = { Authorization = "Bearer ${TOKEN}" }

[[operations]]
include-method = ["POST", "PATCH"]
checks.positive_data_acceptance.expected-statuses = ["2xx", "404", "409", "422"]
"""


@pytest.mark.full
def test_the_service_conforms_to_its_document(file_service: RunningService, tmp_path: Path) -> None:
    """Examples, boundary values, generated calls and sequences of calls all conform."""
    with Api(file_service.url, file_service.token) as api:
        api.domain("example.com")
    (tmp_path / "schemathesis.toml").write_text(CONFIGURATION)
    program = Path(sys.executable).with_name("schemathesis")
    phases = ["--phases", "examples,coverage,fuzzing,stateful", "--max-examples", "10"]
    result = subprocess.run(
        [
            *(program, "run", f"{file_service.url}/openapi.json"),
            *("--checks", "all", "--seed", "1", *phases),
        ],
        cwd=tmp_path,
        env={**os.environ, "TOKEN": file_service.token, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert '"status": 500' not in file_service.log_path.read_text()


def test_every_operation_and_code_is_described() -> None:
    """The document has the contract's six endpoints and the stable codes."""
    described = json.loads(DOCUMENT)
    operations = {(method, path) for path, item in described["paths"].items() for method in item}
    assert {operation for operation in operations if operation[0] != "parameters"} == {
        ("get", "/api/principal"),
        ("post", "/api/principal"),
        ("get", "/api/principal/{name}"),
        ("patch", "/api/principal/{name}"),
        ("delete", "/api/principal/{name}"),
        ("get", "/api/dns/{domain}"),
        ("get", "/healthz"),
    }
    codes = described["components"]["schemas"]["Problem"]["properties"]["code"]["enum"]
    assert codes == list(KINDS)


def test_the_tables_of_the_readme_are_complete(capsys: pytest.CaptureFixture[str]) -> None:
    """Codes, options, faults and required packages are all in a table, and no others are."""
    rows = re.findall(r"^\| (\d{3}) \| `(\w+)` \|", README, re.MULTILINE)
    assert {code: int(status) for status, code in rows} == {
        code: kind.status for code, kind in KINDS.items()
    }
    faults = README.split("## Faults")[1].split("## Storage")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", faults, re.MULTILINE)) == set(READERS)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements = README.split("## Requirements")[1]
    packages = re.findall(r"^\| ([\w\[\]-]+) \| ([\d.]+) \|", requirements, re.MULTILINE)
    assert [">=".join(row) for row in packages] == project["optional-dependencies"]["service"]
    assert f"Python {project['requires-python'].removeprefix('>=')} or newer" in requirements
    for arguments in (["serve"], ["token", "create"], ["token", "list"], ["token", "revoke"]):
        with pytest.raises(SystemExit, match="0"):
            main([*arguments, "--help"])
    known = set(re.findall(r"--[a-z][a-z-]+", capsys.readouterr().out))
    assert known - {"--help"} == set(re.findall(r"(?<=[`\[ ])--[a-z][a-z-]+", README))
