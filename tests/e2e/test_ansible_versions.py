# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Modules in the real `ansible-playbook` and `ansible`, on every supported ansible-core.

The modules run with the tests' Python, or with the Python in POSTROOM_TEST_MODULE_PYTHON, which
must have httpx and idna.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.support.collection_playbooks import (
    PlaybookRunner,
    output_text,
)
from ansible_collections.postroom.email.tests.support.playbooks import Recap, Run, environment, run
from ansible_collections.postroom.email.tests.support.tenant import RecordedTenant

PLAYBOOK = Path(__file__).parent / "playbooks" / "converge.yml"
MODULE_PYTHON = os.environ.get("POSTROOM_TEST_MODULE_PYTHON") or sys.executable
PASSWORDS = {
    "ann@one.example": ["correct-horse/battery#staple"],
    "Bob@bücher.example": ["tr0ub4dor&3", 'another "one" {{ with }} braces'],
}


@pytest.mark.matrix
def test_converge(runner: PlaybookRunner, tenant: RecordedTenant) -> None:
    """Check mode predicts the changes, a real run makes them, and a second run changes nothing."""
    # Braces in a password must not be interpreted as a template.
    passwords = {k: [{"__ansible_unsafe": p} for p in them] for k, them in PASSWORDS.items()}
    (runner.folder / "passwords.json").write_text(
        json.dumps({"vault_passwords": passwords}), "utf-8"
    )
    access = {"service_url": tenant.url, "service_token": tenant.token}

    def play(*options: str) -> Run:
        given = ("--extra-vars", "@passwords.json", *options)
        interpreter = {"ansible_python_interpreter": MODULE_PYTHON}
        return runner.play_own(str(PLAYBOOK), *given, **access, **interpreter)

    with tenant.recorder.forbidding_writes():
        predicted = play("--check", "--diff")
    # The tenant is empty, so tasks that depend on an earlier one warn instead of failing.
    assert (predicted.status, predicted.recap.failed) == (0, 0), predicted.output
    assert "is not registered yet" in output_text(predicted)
    assert tenant.listing() == {}
    first = play()
    assert first.recap == Recap(ok=8, changed=5, unreachable=0, failed=0), first.output
    assert predicted.recap.changed == first.recap.changed
    assert "[WARNING]" not in first.output
    bob = "bob@xn--bcher-kva.example"
    assert tenant.listing()[bob]["emails"] == {bob, "info@one.example"}
    with tenant.recorder.forbidding_writes():
        again = play("--diff")
        assert again.recap == Recap(ok=8, changed=0, unreachable=0, failed=0), again.output
        checked = play("--check", "--diff")
        assert checked.recap.changed == checked.recap.failed == 0, checked.output


@pytest.mark.full
@pytest.mark.matrix
def test_single_module(tmp_path: Path, tenant: RecordedTenant) -> None:
    """A module works in an ad-hoc command, with the address and token in the environment."""
    arguments = "name=all@one.example members=x@far.example"
    command = [sys.executable, "-m", "ansible", "adhoc", "localhost", "-a", arguments]
    command += ["-m", "postroom.email.email_forwarder"]
    command += ["-e", f"ansible_python_interpreter={MODULE_PYTHON}"]
    failed = run(command, environment(tmp_path), tmp_path)
    assert "api_token, api_url" in failed.output
    access = {"POSTROOM_API_URL": tenant.url, "POSTROOM_API_TOKEN": tenant.token}
    env = environment(tmp_path, **access)
    failed = run(command, env, tmp_path)
    assert failed.status == 2
    assert "one.example is not registered" in output_text(failed)
    assert "Traceback" not in failed.output
    tenant.create("one.example")
    assert "CHANGED" in run(command, env, tmp_path).output
    assert set(tenant.listing()) == {"one.example", "all@one.example"}
