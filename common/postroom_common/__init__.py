# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Code that the bot and the mail service share: databases, migrations and logging."""
