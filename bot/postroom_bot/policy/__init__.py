# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The policy: its file format, its rules and its decisions. Only the loader does I/O."""
