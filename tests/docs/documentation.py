# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Read what modules document, without importing them."""

from __future__ import annotations

import ast
from typing import Any

import yaml

from ansible_collections.postroom.email.tests.support import repository


def texts(module: str) -> dict[str, Any]:
    """Return a module's DOCUMENTATION, EXAMPLES and RETURN as data."""
    found = {}
    for node in ast.parse(repository.read(f"plugins/modules/{module}.py")).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            found[ast.unparse(node.targets[0])] = yaml.safe_load(str(node.value.value))
    return found
