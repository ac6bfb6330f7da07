# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Which files the inventory plugin takes for its own. What it makes of them is in tests/e2e."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.postroom.email.plugins.inventory.email_domains import InventoryModule


@pytest.mark.parametrize(
    ("name", "is_its_own"),
    [
        ("email_domains.yml", True),
        ("some.email_domains.yaml", True),
        ("email_domains.json", False),
        ("email_domains", False),
        ("hosts.yml", False),
    ],
)
def test_a_file_is_known_by_its_name(name: str, is_its_own: bool, tmp_path: Path) -> None:
    """Its end has to be email_domains.yml or email_domains.yaml, and the file has to be there."""
    plugin = InventoryModule()
    assert not plugin.verify_file(str(tmp_path / name))
    (tmp_path / name).touch()
    assert plugin.verify_file(str(tmp_path / name)) is is_its_own
