# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of the report share: a tenant with name servers, its page, and a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from ansible_collections.postroom.email.tests.ops.report.browsing import Leaf
from ansible_collections.postroom.email.tests.ops.report.stage import (
    PASSWORDS,
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
def told(stage: Stage, service: RunningService) -> Run:
    """Write the report of that tenant, given its definition and all that is secret."""
    secrets = {"vault_mail_token": service.token, "vault_mail_passwords": PASSWORDS}
    files = {"mail_definition_files": "tenant.yml"}
    told = stage.report("report.html", "-vvv", **files, **secrets)
    assert (told.status, told.recap.changed) == (0, 1), told.output
    return told


@pytest.fixture(scope="session")
def written(stage: Stage, told: Run) -> Path:
    """Return where that report is."""
    return stage.folder / "report.html"


@pytest.fixture
def page(browser: Browser, written: Path) -> Iterator[Leaf]:
    """Open the report as on a desk."""
    with Leaf.opened(browser, written) as leaf:
        yield leaf


@pytest.fixture
def phone(browser: Browser, written: Path) -> Iterator[Leaf]:
    """Open the report as on a small telephone."""
    small = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}
    with Leaf.opened(browser, written, **small) as leaf:
        yield leaf
