# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The bot's tables in SQLite or PostgreSQL, and the functions that read and write them.

Each function takes the connection of a transaction that `Database.read` or `Database.write` began.
Other packages contain no SQL, and this package does not call Slack or the mail service.
"""
