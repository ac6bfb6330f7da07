# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The running process: what it is wired of, how Slack reaches it, and how it ends."""
