# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The guide on AWX, followed on a stand-in for it."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.postroom.email.tests.docs import readme
from ansible_collections.postroom.email.tests.docs.guides import Reader
from ansible_collections.postroom.email.tests.ops.awx.stage import Stage
from ansible_collections.postroom.email.tests.support.service import running_service

GUIDE = readme.CHECKOUT / "docs" / "awx.md"


def test_the_guide_does_what_it_says(tmp_path: Path, stage: Stage) -> None:
    """It makes everything, and then changes the one thing that it says."""
    folder = tmp_path / "desk"
    folder.mkdir()
    with running_service(tmp_path / "service") as service:
        Reader(folder, service, variables=stage.connection).follow(GUIDE)
    schedule = stage.controller.named("schedules", "Postroom nightly drift")
    assert "Europe/Berlin" in schedule["rrule"]
    changes = [(method, path) for method, path, _ in stage.controller.written if method == "PATCH"]
    assert changes == [("PATCH", f"schedules/{schedule['id']}")]
    user = stage.controller.named("users", "postroom-bot")
    assert user["password"] == "a-long-password-for-the-bot"
