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
    """Return what a job gets: `file` by label, such as `template.passwords`, `env`, `extra_vars`.

    :param values: the credential's inputs, with secrets in plain text
    :param folder: the folder of the files
    """
    labels = [key.partition(".")[2] for key in injectors["file"]]
    filename = SimpleNamespace(**{label: f"{folder}/template_{label}" for label in labels})
    names = {**values, "tower": SimpleNamespace(filename=filename)}
    render = ImmutableSandboxedEnvironment().from_string
    return {
        kind: {key: render(template).render(names) for key, template in injectors[kind].items()}
        for kind in ("file", "env", "extra_vars")
    }
