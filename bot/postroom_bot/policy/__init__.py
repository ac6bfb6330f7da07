# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Who may have what: a file's rules, and what they say of a wish. Nothing here waits."""
