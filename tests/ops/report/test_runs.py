# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What a run of the report changes, needs and keeps to itself."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.postroom.email.tests.ops.report.stage import PASSWORDS, Stage
from ansible_collections.postroom.email.tests.support.desk import words
from ansible_collections.postroom.email.tests.support.playbooks import Run
from ansible_collections.postroom.email.tests.support.secrets import leaks
from ansible_collections.postroom.email.tests.support.service import RunningService


def test_a_second_run_changes_nothing(stage: Stage, written: Path) -> None:
    """With the same date. The tenant is only read, and only its owner may read the file."""
    before = written.read_bytes()
    with stage.recorder.forbidding_writes():
        told = stage.report("report.html", mail_definition_files=["tenant.yml"])
    assert (told.status, told.recap.changed) == (0, 0), told.output
    assert written.read_bytes() == before
    assert written.stat().st_mode & 0o777 == 0o600


def test_check_mode_writes_nothing(stage: Stage) -> None:
    """And says that it would."""
    told = stage.report("unwritten.html", "--check", mail_verify_dns=False)
    assert (told.status, told.recap.changed) == (0, 1), told.output
    assert not (stage.folder / "unwritten.html").exists()


def test_a_file_is_needed(stage: Stage) -> None:
    """Without one, as with a question that nobody answered, the sentence names the variable."""
    told = stage.desk.play("report", mail_report_file="")
    assert told.status == 2
    assert "Give mail_report_file, the path to write to" in words(told)


def test_no_secret_is_in_it(written: Path, told: Run, service: RunningService) -> None:
    """Neither the token nor a password, also where they are given as variables."""
    output = written.with_name("output.txt")
    output.write_text(told.output, "utf-8")
    assert leaks([service.token, *PASSWORDS.values()], [written, output]) == []
