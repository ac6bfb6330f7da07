# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A company for the bots that these tests start and end."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from ansible_collections.postroom.email.tests.support.company import Company, company


@pytest.fixture(autouse=True)
def root_log() -> Iterator[logging.Logger]:
    """Give the root logger, and restore its handlers and level: commands configure it."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield root
    logging.captureWarnings(capture=False)
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Company]:
    """Give the company."""
    with company(tmp_path_factory.mktemp("company")) as found:
        yield found
