# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the role's variables come to, without a run."""

from __future__ import annotations

from typing import Any

import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

from ansible_collections.postroom.email.tests.support import repository


def templated(text: str, **given: object) -> Any:
    """Return what a template of the role comes to, with these variables in place of its own."""
    templar = Templar(loader=DataLoader(), variables={**_variables(), **given})
    return templar.template(trust_as_template(text))


def _variables() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for file in ("defaults", "vars"):
        text = repository.read(f"roles/bot/{file}/main.yml")
        found |= {name: _trusted(value) for name, value in yaml.safe_load(text).items()}
    return found


def _trusted(value: Any) -> Any:
    """Return a variable as Ansible has it when it comes from a role."""
    if isinstance(value, dict):
        return {name: _trusted(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_trusted(inner) for inner in value]
    return trust_as_template(value) if isinstance(value, str) else value
