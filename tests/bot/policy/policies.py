# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Small policies for tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postroom_bot.policy.model import Policy

BASE: dict[str, Any] = {
    "version": 1,
    "groups": {
        "admins": {"users": ["U00000001", "U00000002", "U00000003"]},
        "security": {"usergroups": ["S00000001"], "channel": "C00000009"},
    },
    "approvers": "admins",
    "channels": {"approvals": "C00000001"},
}


def data_of(*rules: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return the data of a policy with these rules.

    A rule without a name is named after its position.
    """
    named = [{"name": f"rule-{n}", **rule} for n, rule in enumerate(rules, 1)]
    return {**BASE, "rules": named, **more}


def policy_of(*rules: Mapping[str, Any], **more: Any) -> Policy:
    """Return a policy with these rules, without the checks that apply to a file."""
    return Policy.model_validate(data_of(*rules, **more))
