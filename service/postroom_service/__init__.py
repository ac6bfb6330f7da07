# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The Postroom reference service: hosted email by HTTP API."""

from __future__ import annotations

# The version of the interface that the OpenAPI document tells; the contract itself numbers none.
__version__ = "1.0.0"
