# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The policy: its file, its rules, and the decisions on changes. Only the loader does I/O."""
