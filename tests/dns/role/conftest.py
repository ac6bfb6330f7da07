# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of the role share."""

from __future__ import annotations

from ansible_collections.postroom.email.tests.support.fixtures import direct, service

__all__ = ["direct", "service"]
