# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Clients of the services that the bot calls: the mail API, AWX and Slack's Web API."""
