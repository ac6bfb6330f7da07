# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The Slack app: the transports, Bolt's app, its handlers and the manifest."""
