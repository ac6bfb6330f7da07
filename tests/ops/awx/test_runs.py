# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The playbook makes everything once, then finds it so, and foresees both in check mode."""

from __future__ import annotations

import pytest

from ansible_collections.postroom.email.tests.ops.awx.conftest import Runs
from ansible_collections.postroom.email.tests.ops.awx.stage import PASSWORD, SECRETS
from ansible_collections.postroom.email.tests.support.playbooks import Run


def counts(done: Run) -> tuple[int, int]:
    """Return how many tasks changed something, and how many failed."""
    assert done.status == 0, done.output[-3000:]
    return done.recap.changed, done.recap.failed


def test_the_second_run_changes_nothing(runs: Runs) -> None:
    """The first makes all of it; the next one sends nothing that would change anything."""
    assert counts(runs.first) == (20, 0)
    assert counts(runs.second) == (0, 0)
    assert runs.sent[2] == runs.sent[1]


def test_check_mode_finds_it_so(runs: Runs) -> None:
    """Check mode has nothing to change either, and sends nothing."""
    assert counts(runs.checked) == (0, 0)
    assert runs.sent[3] == runs.sent[2]


def test_check_mode_foresees_the_first_run(runs: Runs) -> None:
    """On an empty controller check mode counts what the run then changes, and sends nothing."""
    assert counts(runs.foreseen) == counts(runs.first)
    assert runs.sent[0] == 0


@pytest.mark.parametrize("secret", [*SECRETS.values(), PASSWORD, "controller-T0ken/of+tests"])
def test_no_secret_is_told(runs: Runs, secret: str) -> None:
    """What is printed holds no secret, with all details and differences asked for."""
    assert len(runs.stage.outputs) == 4
    assert not [output for output in runs.stage.outputs if secret in output]


def test_the_bot_s_settings_are_shown(runs: Runs) -> None:
    """The numbers of its templates come as the bot's settings want them."""
    for playbook in ("add_alias", "remove_alias", "forwarder"):
        row = runs.stage.controller.named("job_templates", f"Postroom {playbook}")
        assert f"awx_{playbook}_template: {row['id']}" in runs.second.output
