# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Modules through the real `ansible-playbook` and `ansible`, on every supported ansible-core.

They run on the Python that runs the tests, or on the one that POSTROOM_TEST_MODULE_PYTHON names;
that one needs httpx and idna.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.support.desk import words
from ansible_collections.postroom.email.tests.support.playbooks import (
    Recap,
    Run,
    environment,
    run,
    run_playbook,
)
from ansible_collections.postroom.email.tests.support.site import Site

PLAYBOOKS = Path(__file__).parent / "playbooks"
MODULE_PYTHON = os.environ.get("POSTROOM_TEST_MODULE_PYTHON") or sys.executable
PASSWORDS = {
    "ann@one.example": ["correct-horse/battery#staple"],
    "Bob@bücher.example": ["tr0ub4dor&3", 'another "one" {{ with }} braces'],
}


class Controller:
    """Ansible with settings, variables and temporary files of its own."""

    def __init__(self, folder: Path, site: Site) -> None:
        self.env = environment(folder)
        variables = folder / "variables.json"
        values = {
            "service_url": site.url,
            "service_token": site.token,
            # Braces in a password are not a template.
            "vault_passwords": {
                name: [{"__ansible_unsafe": password} for password in passwords]
                for name, passwords in PASSWORDS.items()
            },
            "ansible_python_interpreter": MODULE_PYTHON,
        }
        variables.write_text(json.dumps(values), "utf-8")
        self._options = ("--extra-vars", f"@{variables}")

    def play(self, playbook: str, *options: str, **settings: str) -> Run:
        """Run one of the playbooks."""
        env = {**self.env, **settings}
        return run_playbook(PLAYBOOKS / playbook, env, *self._options, *options)

    def module(self, name: str, arguments: str, **settings: str) -> Run:
        """Run one module, as `ansible -m`."""
        command = [sys.executable, "-m", "ansible", "adhoc", "localhost", "-m", name]
        command += ["-a", arguments, *self._options]
        return run(command, {**self.env, **settings}, PLAYBOOKS)


@pytest.fixture
def controller(tmp_path: Path, site: Site) -> Controller:
    """Return a controller for the tenant."""
    return Controller(tmp_path, site)


@pytest.mark.matrix
def test_converge(controller: Controller, site: Site) -> None:
    """Check mode predicts a playbook, a real run converges, and a second changes nothing."""
    with site.recorder.forbidding_writes():
        predicted = controller.play("converge.yml", "--check", "--diff")
    # The tenant is empty: what depends on an earlier task warns instead of failing.
    assert (predicted.status, predicted.recap.failed) == (0, 0), predicted.output
    assert "is not registered yet" in words(predicted)
    assert site.listing() == {}
    first = controller.play("converge.yml")
    assert first.recap == Recap(ok=8, changed=5, unreachable=0, failed=0), first.output
    assert predicted.recap.changed == first.recap.changed
    assert "[WARNING]" not in first.output
    bob = "bob@xn--bcher-kva.example"
    assert site.listing()[bob]["emails"] == {bob, "info@one.example"}
    with site.recorder.forbidding_writes():
        again = controller.play("converge.yml", "--diff")
        assert again.recap == Recap(ok=8, changed=0, unreachable=0, failed=0), again.output
        checked = controller.play("converge.yml", "--check", "--diff")
        assert checked.recap.changed == checked.recap.failed == 0, checked.output


@pytest.mark.full
@pytest.mark.matrix
def test_single_module(controller: Controller, site: Site) -> None:
    """A module works outside of a playbook, with address and token from the environment."""
    module = "postroom.email.email_forwarder"
    arguments = "name=all@one.example members=x@far.example"
    failed = controller.module(module, arguments)
    assert "api_token, api_url" in failed.output
    settings = {"POSTROOM_API_URL": site.url, "POSTROOM_API_TOKEN": site.token}
    failed = controller.module(module, arguments, **settings)
    assert failed.status == 2
    assert "all@one.example: the domain one.example is not registered" in words(failed)
    assert "Traceback" not in failed.output
    site.create("one.example")
    assert "CHANGED" in controller.module(module, arguments, **settings).output
    assert set(site.listing()) == {"one.example", "all@one.example"}
