# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Operation: health, metrics, logs, startup checks, and the policy in force."""
