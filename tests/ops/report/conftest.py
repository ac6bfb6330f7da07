# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A tenant with name servers, its report, and a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from ansible_collections.postroom.email.tests.ops.report.stage import (
    PASSWORDS,
    Leaf,
    Stage,
    staged,
)
from ansible_collections.postroom.email.tests.support.browser import browser
from ansible_collections.postroom.email.tests.support.fixtures import direct, service
from ansible_collections.postroom.email.tests.support.playbooks import Run
from ansible_collections.postroom.email.tests.support.recorded import recorder
from ansible_collections.postroom.email.tests.support.recorder import Recorder
from ansible_collections.postroom.email.tests.support.service import RunningService

__all__ = ["browser", "direct", "recorder", "service"]


@pytest.fixture(scope="session")
def stage(
    service: RunningService, recorder: Recorder, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    """Set up the tenant that the reports are of, with its name servers."""
    with staged(service, recorder, tmp_path_factory.mktemp("stage")) as stage:
        yield stage


@pytest.fixture(scope="session")
def run(stage: Stage, service: RunningService) -> Run:
    """Write the report of that tenant, given its definition and all that is secret."""
    secrets = {"vault_mail_token": service.token, "vault_mail_passwords": PASSWORDS}
    files = {"mail_definition_files": "tenant.yml"}
    run = stage.report("report.html", "-vvv", **files, **secrets)
    assert (run.status, run.recap.changed) == (0, 1), run.output
    return run


@pytest.fixture(scope="session")
def written(stage: Stage, run: Run) -> Path:
    """Return where that report is."""
    return stage.folder / "report.html"


@pytest.fixture
def page(browser: Browser, written: Path) -> Iterator[Leaf]:
    """Open the report in a window of a desktop computer."""
    with Leaf.opened(browser, written) as leaf:
        yield leaf
