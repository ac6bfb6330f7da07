# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The daemon of a mail host, which works with Postfix, Dovecot and PostgreSQL."""
