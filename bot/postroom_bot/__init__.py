# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The Slack bot: email requests by slash command, with policy, approvals and an audit trail."""
