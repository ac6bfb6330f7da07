# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of the report on a run of several sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.support import system_programs
from ansible_collections.postroom.email.tools import report


def test_missing_programs_fail_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests without their program are skipped, and one command installs all missing programs."""
    for number, packages in enumerate(["zoo", "bear ant", "bear"]):
        monkeypatch.setitem(system_programs.PACKAGES, f"no-such-program-{number}", packages)
    with pytest.raises(pytest.skip.Exception) as skipped:
        system_programs.require("no-such-program-0")
    reasons = {
        "stores": str(skipped.value),
        "publishes": system_programs.not_installed("no-such-program-1", "no-such-program-2"),
        "is impossible": "only root can start hosts",
    }
    report.write_junit(tmp_path / "results" / "tests", "suite", ["succeeds"], reasons)
    (tmp_path / "nox.json").write_text(
        '{"sessions": [{"name": "tests", "result": "success", "duration": 1}]}'
    )
    outcomes = report.read([tmp_path / "nox.json"], tmp_path / "results", ["tests"])
    lines = list(report.render(outcomes))
    assert [outcome.ok for outcome in outcomes] == [True]
    assert lines[-1] == "1 passed, 0 failed, 3 skipped"
    [command] = [line for line in lines if "apt-get" in line]
    assert command.endswith("sudo apt-get install ant bear zoo")
