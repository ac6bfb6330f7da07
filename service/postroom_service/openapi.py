# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The OpenAPI document."""

from __future__ import annotations

DOCUMENT = b'{"openapi":"3.1.0","info":{"title":"Postroom","version":"1"},"paths":{}}'
