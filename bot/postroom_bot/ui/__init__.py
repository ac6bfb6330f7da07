# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The user interface: the parser, the views and all texts. This package does no I/O."""
