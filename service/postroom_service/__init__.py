# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The Postroom reference service: domains, mailboxes, aliases, forwarders and DNS records over HTTP."""
