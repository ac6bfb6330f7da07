# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A Slack bot for email requests by slash command, with a policy, approvals and an audit trail."""
