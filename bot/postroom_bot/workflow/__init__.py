# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What becomes of requests: taken in at the desk, and carried through by the worker."""
