# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The systems that the bot calls: the mail API, AWX, and Slack's Web API."""
