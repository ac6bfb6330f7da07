# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Output, events, logs, temporary files and databases never contain a password or token."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from ansible_collections.postroom.email.tests.e2e.secrets_project import PASSWORDS, SecretsProject
from ansible_collections.postroom.email.tests.support.secrets import leaks
from ansible_collections.postroom.email.tests.support.service import running_service

#: A secret that no option contains, so only the code that reports errors can hide it.
STRAY = "stray-secret-FOXTROT-6612"
FAULTS = (
    "rate429=0.05,retry_after=0,error_before=0.05,error_after=0.08,reset_before=0.05,"
    "reset_after=0.08,truncate=0.05,status=502/503,seed=2"
)
DEFINITION = {
    "domains": ["one.example", "two.example"],
    "mailboxes": [
        {"name": "ann@one.example", "aliases": ["hello@one.example", "hello@two.example"]},
        {"name": "bob@one.example", "aliases": []},
    ],
    "forwarders": [{"name": "team@two.example", "members": ["ann@one.example"]}],
}
ENTRY = "mailboxes:\n  - name: ann@one.example\n"
#: Files with a password in the wrong place, each with its file extension.
MISTAKES = [
    ("yml", f"{ENTRY}    passwords: [{STRAY}, {STRAY}]\n"),
    ("yml", f"passwords:\n  ann@one.example: {STRAY}\n"),
    ("yml", f"mailboxes:\n  - ann@one.example {STRAY}\n"),
    ("yml", f"{ENTRY}    password: {STRAY}\n    password: {STRAY}\n"),
    # YAML parses these as an alias, a tag, a quoted string and so on.
    *(("yml", f"{ENTRY}    password: {sign}{STRAY}\n") for sign in ("*", "!!", "@", '"', "{", "|")),
    ("yml", STRAY),
    ("json", f'{{"mailboxes": [{{"password": "{STRAY}'),
    ("json", f'{{"password": "{STRAY}", "password": "{STRAY}"}}'),
]


@pytest.fixture
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecretsProject]:
    """Run two services: one that often fails, and one that the playbook kills."""
    # The directory has a short path, because Ansible creates Unix sockets in it.
    folder = tmp_path_factory.mktemp("project")
    definition = folder / "tenant.yml"
    definition.write_text(yaml.safe_dump(DEFINITION), "utf-8")
    mistaken = []
    for number, (ending, text) in enumerate(MISTAKES):
        mistaken.append(folder / f"{number}.{ending}")
        mistaken[-1].write_text(text, "utf-8")
    with (
        running_service(folder / "faulty", faults=FAULTS) as faulty,
        running_service(folder / "doomed", faults="latency=900ms") as doomed,
    ):
        project = SecretsProject(folder, faulty, doomed)
        project.give("stray", STRAY)
        project.give("definition", str(definition))
        project.give("mistaken", list(map(str, mistaken)))
        yield project


@pytest.mark.parametrize(
    ("playbook", "in_process"),
    [
        pytest.param("canary.yml", "1", marks=pytest.mark.matrix),
        pytest.param("canary.yml", "0", marks=pytest.mark.full),
        pytest.param("tenant_canary.yml", "1", marks=(pytest.mark.full, pytest.mark.matrix)),
        pytest.param("tenant_canary.yml", "0", marks=pytest.mark.full),
    ],
)
def test_no_secret_shows(playbook: str, in_process: str, project: SecretsProject) -> None:
    """No secret is exposed after tasks fail in many ways at -vvvv and a service is killed."""
    played = project.play(playbook, POSTROOM_IN_PROCESS=in_process)
    assert (played.status, played.recap.failed) == (0, 0), played.output
    way = " runs in process " if in_process == "1" else " POSTROOM_IN_PROCESS is off"
    assert way in played.output
    places = [project.run_folder, *(service.log_path for service in project.services)]
    for service in project.services:
        places += Path(service.database).parent.glob("*.sqlite3*")
    assert leaks([*project.secrets, STRAY], places) == []


@pytest.mark.full
def test_a_leak_would_be_found(project: SecretsProject) -> None:
    """As a control, secrets that a playbook prints are found in the output, events and log."""
    project.play("leak.yml")
    for place in (project.output, project.events, project.log):
        assert leaks(PASSWORDS["bob@one.example"], [place]), place
    # A loop label hides an item only on the screen.
    assert leaks(PASSWORDS["ann@one.example"], [project.events])
