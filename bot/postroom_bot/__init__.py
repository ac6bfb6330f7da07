# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A Slack bot that handles email requests, with a policy, approvals and an audit trail."""
