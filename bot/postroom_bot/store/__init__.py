# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The bot's database, in SQLite or PostgreSQL: its tables, and functions to read and write them.

The functions take the connection of a transaction that `Database.read` or `Database.write` began.
Other packages contain no SQL, and this package does not call Slack or the mail service.
"""
