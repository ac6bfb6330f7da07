# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of AWX share: an empty controller, and one to run the playbook against."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.fakes.awx.controller import (
    Controller,
    running_controller,
)
from ansible_collections.postroom.email.tests.ops.awx.stage import Stage, staged


@pytest.fixture
def controller() -> Iterator[Controller]:
    """Give an empty controller."""
    with running_controller() as controller:
        yield controller


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """Give a stage with an empty controller."""
    with staged(tmp_path) as stage:
        yield stage
