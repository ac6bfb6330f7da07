# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the role's variables come to, without a run."""

from __future__ import annotations

from typing import Any

import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

from ansible_collections.postroom.email.tests.support import ansible_yaml, repository


def templated(text: str, **given: object) -> Any:
    """Return what a template of the role comes to, with these variables in place of its own."""
    templar = Templar(loader=DataLoader(), variables={**_variables(), **given})
    return templar.template(trust_as_template(text))


def _variables() -> dict[str, Any]:
    """Return the variables of the role, as Ansible has them when they come from one."""
    found: dict[str, Any] = {}
    for file in ("defaults", "vars"):
        found |= yaml.safe_load(repository.read(f"roles/bot/{file}/main.yml"))
    trusted: dict[str, Any] = ansible_yaml.with_texts(found, trust_as_template)
    return trusted
