# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Switchable faults for drills."""

from __future__ import annotations

class FaultError(ValueError):
    pass
class Faults: ...
def parse_plan(spec: str) -> object: ...
