# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A Slack bot that handles requests for email addresses, forwarding and passwords."""
