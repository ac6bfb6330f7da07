# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Code shared by the bot and the mail service: databases, migrations and logging."""
