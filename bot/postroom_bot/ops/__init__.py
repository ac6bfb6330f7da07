# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Operations: the web server, health checks, metrics, logs and online checks."""
