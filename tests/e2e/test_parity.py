# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tasks that run in Ansible's worker have the same results and output as their modules."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.e2e.parity_runs import (
    PLAYBOOKS,
    ParityProject,
    RunResult,
    tasks_of,
    without,
)
from ansible_collections.postroom.email.tests.support.playbooks import environment
from ansible_collections.postroom.email.tests.support.recording_proxy import Recorder
from ansible_collections.postroom.email.tests.support.service import (
    RunningService,
    running_service,
)
from ansible_collections.postroom.email.tests.support.tenant import Api, RecordedTenant

WRONG_TOKEN = "wrong-token-DELTA-8842-qwpo"
SWITCHED_OFF = "as a module: the environment variable POSTROOM_IN_PROCESS is off"
PASSWORDS = {
    "ann@one.example": ["Zx9#kPq!secret-ALPHA-7731-wvut"],
    "Bob@bücher.example": [
        'qT"b\\s/ü&=?+%41#<é>secret-BRAVO',
        "{{ braces }} {% are %} no template",
    ],
}
#: Tasks that fail, and tasks that change something.
OUTCOMES = {
    "Predict the changes to a tenant": (False, True),
    "Create the tenant's objects": (False, True),
    "Predict a purge": (False, True),
    "Apply the expected plan": (False, True),
    "Apply part of a plan": (True, True),
    "Refuse a definition": (True, False),
}
Both = tuple[RunResult, RunResult]


def unsafe(text: str) -> object:
    """Return a string whose braces are not a template."""
    return {"__ansible_unsafe": text}


def other_python(folder: Path) -> Path:
    """Return another path to this Python, in a different environment."""
    python = folder / "other" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    return python


@pytest.fixture(scope="module")
def tenant(service: RunningService, recorder: Recorder) -> Iterator[RecordedTenant]:
    """Provide a tenant for all runs in this file."""
    tenant = RecordedTenant(service.url, service.token, recorder)
    yield tenant
    tenant.close()


@pytest.fixture(scope="module")
def bulk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """Provide a slow service for two runs, which only have time to create part of a tenant."""
    with running_service(tmp_path_factory.mktemp("bulk"), faults="latency=500ms") as service:
        yield service


def encrypted(text: str, folder: Path) -> str:
    """Return a string encrypted by ansible-vault.

    ansible-vault runs in a separate process, because it would add warnings to this process.
    """
    command = ["encrypt", "--vault-password-file", str(folder / "vault"), "--output", "-", "-"]
    return subprocess.run(
        [sys.executable, "-m", "ansible", "vault", *command],
        input=text,
        capture_output=True,
        text=True,
        check=True,
        env=environment(folder),
    ).stdout


@pytest.fixture(scope="module")
def project(
    tenant: RecordedTenant, bulk: RunningService, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ParityProject]:
    """Provide a project with everything that the playbooks require."""
    folder = tmp_path_factory.mktemp("parity")
    (folder / "vault").write_text("key to the vault", "utf-8")
    vaulted = encrypted("vaulted-ECHO-4417", folder)
    with (
        running_service(folder / "broken", faults="status=503,error_before=1.0") as broken,
        running_service(folder / "slow", faults="latency=1500ms") as slow,
    ):
        variables = {
            "vault_passwords": {name: list(map(unsafe, them)) for name, them in PASSWORDS.items()},
            "wrong_token": WRONG_TOKEN,
            "braces": unsafe("{{ lookup('pipe', 'id') }}"),
            "broken_url": broken.url,
            "slow_url": slow.url,
            "slow_token": slow.token,
            "bulk_url": bulk.url,
            "bulk_token": bulk.token,
            "bulk_forwarders": [
                {"name": f"f{number}@one.example", "members": ["x@far.example"]}
                for number in range(200)
            ],
            "other_python": str(other_python(folder)),
            "vaulted_text": {"__ansible_vault": vaulted},
        }
        yield ParityProject(folder, tenant, variables)


@pytest.fixture(scope="module")
def both(project: ParityProject, tmp_path_factory: pytest.TempPathFactory) -> Both:
    """Run the playbook in Ansible's worker and as modules."""
    vault = tmp_path_factory.getbasetemp() / "vault"
    vault.write_text("key to the vault", "utf-8")
    return project.both(PLAYBOOKS / "parity.yml", "--vault-password-file", str(vault))


@pytest.mark.full
@pytest.mark.matrix
def test_results_are_the_same(both: Both) -> None:
    """The results and the output at -vvv don't depend on how the tasks are run."""
    here, modules = both
    ours = [task for task in tasks_of("parity.yml") if task != "Show the braces"]
    # This ensures that the test does not compare modules with themselves.
    assert list(here.routes) == list(modules.routes) == ours
    for task in ours:
        assert all(route.startswith("in process ") for route in here.routes[task])
        assert [SWITCHED_OFF] * len(here.routes[task]) == modules.routes[task]
        assert here.results[task] == modules.results[task], task
    assert here.shown == modules.shown
    # A loop runs in one process, so its items share a connection.
    assert len(set(here.routes["Use or bypass a proxy in the environment"])) == 1
    # The compared results include failures and successes, with and without changes.
    for task, (failed, changed) in OUTCOMES.items():
        result = here.results[task][0]
        assert ("failure" in result, result["changed"]) == (failed, changed)
        assert not any(password in str(result) for them in PASSWORDS.values() for password in them)


@pytest.fixture(scope="module")
def as_modules(project: ParityProject) -> Both:
    """Run a playbook whose tasks need a module process."""
    return project.both(PLAYBOOKS / "parity_modules.yml")


@pytest.mark.full
@pytest.mark.matrix
@pytest.mark.parametrize(
    ("task", "reason"),
    [
        ("Run as a module because of a variable", "the variable postroom_in_process is off"),
        ("Run in the background", "it is asynchronous"),
        ("Become another user", "it becomes another user"),
        ("Run on another Python", "its Python is"),
        ("Run on a Python that a shell would find", "its Python is python3, but Ansible's own is"),
        ("Change how Python runs", "environment sets PYTHONWARNINGS"),
        ("Change how a library is loaded", "environment sets LD_LIBRARY_PATH"),
        ("Set an invalid environment variable", "environment sets 'not-a-name'"),
        ("Run on another host", "its connection is ssh"),
    ],
)
def test_a_module_process_where_one_is_needed(task: str, reason: str, as_modules: Both) -> None:
    """The output at -vvv states why a task needs a module process, and the result is the same."""
    here, modules = as_modules
    assert [route.startswith(f"as a module: {reason}") for route in here.routes[task]] == [True]
    assert set(modules.routes[task]) == {SWITCHED_OFF}
    # A traceback contains the path of the module's temporary file.
    own = ("ansible_job_id", "results_file", "exception")
    assert without(here.results[task], *own) == without(modules.results[task], *own)


@pytest.mark.full
def test_a_task_that_runs_out_of_time(project: ParityProject, bulk: RunningService) -> None:
    """A task that exceeds its timeout is stopped, and the next task gets a new connection."""
    here, modules = project.both(PLAYBOOKS / "parity_cut_short.yml")
    assert all(route.startswith("in process ") for them in here.routes.values() for route in them)
    for task in tasks_of("parity_cut_short.yml"):
        # The exact point at which the task was stopped differs between runs.
        place = ("frame", "exception")
        assert without(here.results[task], *place) == without(modules.results[task], *place)
    cut, whole = here.results["Run out of time in a loop"][-1]["results"]
    assert "domains" not in cut
    assert "domains" in whole
    filled = Api(bulk.url, bulk.token)
    try:
        assert 1 < len(filled.listing()) <= 200
    finally:
        filled.close()


@pytest.mark.full
def test_without_httpx(project: ParityProject, tmp_path: Path) -> None:
    """If Ansible's own Python lacks httpx, the module fails with Ansible's usual message."""
    (tmp_path / "httpx.py").write_text("raise ImportError('not here')", "utf-8")
    access = {"POSTROOM_API_URL": "http://127.0.0.1:9", "POSTROOM_API_TOKEN": "of-no-use"}
    way = project.run(PLAYBOOKS / "environment.yml", PYTHONPATH=str(tmp_path), **access)
    assert way.routes == {
        "Register a domain": [f"as a module: httpx is missing in {sys.executable}"]
    }
    (result,) = way.results["Register a domain"]
    assert "Failed to import the required Python library (httpx)" in result["msg"]
