# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The embedded mail server, SMTP on aiosmtpd and IMAP on pymap, for small private use and tests."""
