# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The service's tables, queries and migrations."""

from __future__ import annotations

from postroom_common.migrations import Schema

SCHEMA = Schema("postroom_service.store:migrations", "postroom-service migrate", "service_revision")
