# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Operation: the web server, health, metrics, logs, and startup checks."""
