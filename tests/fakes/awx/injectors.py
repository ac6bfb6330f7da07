# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What a job gets from a credential."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from jinja2.sandbox import ImmutableSandboxedEnvironment


def injected(
    injectors: Mapping[str, Any], values: Mapping[str, Any], folder: str
) -> dict[str, dict[str, str]]:
    """Return what a job gets: `file` by label, `env` and `extra_vars`.

    :param values: the credential's inputs, with secrets in plain text
    :param folder: the folder of the files
    """
    names = {label: f"{folder}/{label.replace('.', '_')}" for label in injectors.get("file", {})}
    namespace = _namespace(values, names)
    environment = ImmutableSandboxedEnvironment()
    return {
        kind: {
            key: environment.from_string(template).render(namespace)
            for key, template in injectors.get(kind, {}).items()
        }
        for kind in ("file", "env", "extra_vars")
    }


def _namespace(values: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return the variables of templates; a file without a label is the only one."""
    labelled = {key.partition(".")[2]: name for key, name in names.items()}
    filename: Any = labelled.get("") or SimpleNamespace(**labelled)
    return {**values, "tower": SimpleNamespace(filename=filename)}
