# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The bot's database, SQLite or PostgreSQL: a module for each table, and the transactions.

The functions take the connection of a transaction that `Database.read` or `Database.write` began.
Nothing above this package knows SQL, and nothing in it knows Slack or the mail service.
"""
