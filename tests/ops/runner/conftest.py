# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of jobs share: one service for all of them, wiped before each."""

from __future__ import annotations

from ansible_collections.postroom.email.tests.support.fixtures import direct, service
from ansible_collections.postroom.email.tests.support.recorded import recorder, site

__all__ = ["direct", "recorder", "service", "site"]
