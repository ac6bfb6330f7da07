# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the playbook deploy_bot looks at before the role does."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.support import playbooks, repository

PLAYBOOK = repository.ROOT / "playbooks" / "deploy_bot.yml"


@pytest.mark.parametrize(
    ("options", "missing"),
    [([], "postroom_bot"), (["-i", "bot.example.com,", "-e", "bot_hosts=bots"], "bots")],
)
def test_no_host_is_a_mistake(tmp_path: Path, options: list[str], missing: str) -> None:
    """Where Ansible would say that it skips, and end well, the playbook says what to give."""
    run = playbooks.run_playbook(PLAYBOOK, playbooks.environment(tmp_path), *options)
    assert run.status != 0
    assert f"No host of the inventory is in {missing}. Give an inventory with -i" in run.output
