# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Carrying approved wishes out: over the mail API, or through AWX."""
