# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A company for the bots that these tests start and end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ansible_collections.postroom.email.tests.support.company import Company, company
from ansible_collections.postroom.email.tests.support.kept_log import kept_log


@pytest.fixture(autouse=True)
def own_log() -> Iterator[None]:
    """Leave the log of this process to other tests as it was: commands set it up anew."""
    with kept_log():
        yield


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Company]:
    """Give the company."""
    with company(tmp_path_factory.mktemp("company")) as found:
        yield found
