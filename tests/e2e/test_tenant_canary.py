# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""No password and no token of a whole tenant shows anywhere, not even one in the wrong place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from ansible_collections.postroom.email.tests.e2e.canary_stage import Stage, canary_stage
from ansible_collections.postroom.email.tests.support.secrets import leaks

DEFINITION = {
    "domains": ["one.example", "two.example"],
    "mailboxes": [
        {"name": "ann@one.example", "aliases": ["hello@one.example", "hello@two.example"]},
        {"name": "bob@one.example", "aliases": []},
    ],
    "forwarders": [{"name": "team@two.example", "members": ["ann@one.example"]}],
}
#: Is in no option, so that nothing but the error itself can hide it.
STRAY = "stray-secret-FOXTROT-6612"
ENTRY = "mailboxes:\n  - name: ann@one.example\n"
#: Files that hold a password by mistake, by their endings.
MISTAKES = [
    ("yml", f"{ENTRY}    password: {STRAY}\n"),
    ("yml", f"{ENTRY}    pass: {STRAY}\n"),
    ("yml", f"{ENTRY}    passwords: [{STRAY}, {STRAY}]\n"),
    ("yml", f"{ENTRY}    aliases: [{{address: x@one.example, secret: {STRAY}}}]\n"),
    ("yml", f"passwords:\n  ann@one.example: {STRAY}\n"),
    ("yml", f"mailboxes:\n  - ann@one.example: {STRAY}\n"),
    ("yml", f"mailboxes:\n  - ann@one.example:{STRAY}\n"),
    ("yml", f"mailboxes:\n  - ann@one.example {STRAY}\n"),
    ("yml", f"mailboxes: {STRAY}\n"),
    ("yml", f"{ENTRY}    password: {STRAY}\n    password: {STRAY}\n"),
    # What YAML takes for something else.
    *(("yml", f"{ENTRY}    password: {sign}{STRAY}\n") for sign in "*!@%&\"'{[`|>"),
    ("yml", f"{ENTRY}    password: !!{STRAY}\n"),
    ("yml", f"{ENTRY}    password: a: {STRAY}\n"),
    ("yml", f'{ENTRY}    password: "\\{STRAY}"\n'),
    ("yml", f"{ENTRY}    password: {STRAY}\x01\n"),
    ("yml", f"{ENTRY}    <<: {STRAY}\n"),
    ("yml", f"{ENTRY}---\npassword: {STRAY}\n"),
    ("yml", STRAY),
    ("json", json.dumps({"mailboxes": [{"name": "ann@one.example", "password": STRAY}]})),
    ("json", f'{{"mailboxes": [{{"password": "{STRAY}'),
    ("json", f'{{"mailboxes": [{{"password": {STRAY}}}]}}'),
    ("json", f'{{"mailboxes": [{{"password": "\\{STRAY}"}}]}}'),
    ("json", f'{{"password": "{STRAY}", "password": "{STRAY}"}}'),
    ("json", f'"{STRAY}"'),
]


@pytest.fixture
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Return a stage with its services, a definition, and files that are mistaken."""
    stage_folder = tmp_path_factory.mktemp("stage")
    with canary_stage(stage_folder) as stage:
        folder = stage_folder / "given"
        (folder / "tenant.yml").write_text(yaml.safe_dump(DEFINITION), "utf-8")
        files = [folder / f"{number}.{ending}" for number, (ending, _text) in enumerate(MISTAKES)]
        for file, (_ending, text) in zip(files, MISTAKES, strict=True):
            file.write_text(text, "utf-8")
        stage.give("definition", str(folder / "tenant.yml"))
        stage.give("mistaken", list(map(str, files)))
        stage.give("stray", STRAY)
        yield stage


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("in_process", "told"), [("1", " runs in process "), ("0", " POSTROOM_IN_PROCESS is off")]
)
def test_nothing_shows(in_process: str, told: str, stage: Stage) -> None:
    """A run at -vvvv with failing tasks and a service that is killed gives no secret away."""
    played = stage.play("tenant_canary.yml", POSTROOM_IN_PROCESS=in_process)
    assert (played.status, played.recap.failed) == (0, 0), played.output
    assert told in played.output
    secrets = [*stage.secrets, STRAY]
    assert leaks(secrets, [stage.run_folder]) == []
    for service in stage.services:
        database = Path(service.database)
        assert leaks(secrets, [service.log_path, *database.parent.glob("*.sqlite3*")]) == []
