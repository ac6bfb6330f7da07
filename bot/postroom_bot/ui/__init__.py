# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The user interface: the parser, forms, views and all texts. Nothing here does I/O."""
