# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The embedded mail server, for tests and small private use: SMTP on aiosmtpd, IMAP on pymap."""
