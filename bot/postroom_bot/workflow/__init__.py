# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The processing of requests, from submission to notification, and the worker that runs it."""
