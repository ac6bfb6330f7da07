# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What Slack sends comes in here: each listener reads it, makes one call, and answers."""
