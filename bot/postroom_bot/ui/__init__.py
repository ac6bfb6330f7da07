# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The user interface: the parser, the modals, the Home tab and all texts. Nothing here does I/O."""
