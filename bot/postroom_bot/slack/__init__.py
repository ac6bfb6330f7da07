# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Everything that speaks to Slack: its Web API, the transports, and the handlers."""
