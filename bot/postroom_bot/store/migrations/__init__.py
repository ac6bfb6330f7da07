# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Alembic's folder: how a database got from each version's schema to the next one's."""
