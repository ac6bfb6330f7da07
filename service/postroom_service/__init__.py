# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The Postroom reference service: hosted email with an HTTP API."""

from __future__ import annotations

# The API version in the OpenAPI document. The API contract does not define a version.
__version__ = "1.0.0"
