# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Clients of the mail API, AWX and Slack's Web API, and the executors that use them."""
