# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the bot says and what it understands: pure texts, blocks, forms and the parser."""
