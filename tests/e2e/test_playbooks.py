# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Playbooks through the real `ansible-playbook`, on every supported ansible-core.

The modules run on the Python that runs the tests, or on the one that POSTROOM_TEST_MODULE_PYTHON
names; that one needs httpx and idna.
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

pytestmark = pytest.mark.matrix

PLAYBOOKS = Path(__file__).parent / "playbooks"
MODULE_PYTHON = os.environ.get("POSTROOM_TEST_MODULE_PYTHON") or sys.executable
PASSWORDS = {
    "ann@one.example": ["correct-horse/battery#staple"],
    "Bob@bücher.example": ["tr0ub4dor&3", 'another "one" {{ with }} braces'],
}


class Controller:
    """Ansible with settings, variables and temporary files of its own."""

    def __init__(self, folder: Path, site: Site) -> None:
        self._env = environment(folder)
        self._variables = folder / "variables.json"
        values = {
            "service_url": site.url,
            "service_token": site.token,
            # Braces in a password are no template.
            "vault_passwords": {name: list(map(_unsafe, ps)) for name, ps in PASSWORDS.items()},
            "ansible_python_interpreter": MODULE_PYTHON,
        }
        self._variables.write_text(json.dumps(values), "utf-8")

    def play(self, playbook: str, *options: str, **settings: str) -> Run:
        """Run one of the playbooks."""
        options = ("--extra-vars", f"@{self._variables}", *options)
        return run_playbook(PLAYBOOKS / playbook, {**self._env, **settings}, *options)

    def module(self, name: str, arguments: str, **settings: str) -> Run:
        """Run one module, as `ansible -m`."""
        command = [
            sys.executable,
            "-m",
            "ansible",
            "adhoc",
            "localhost",
            "-m",
            name,
            "-a",
            arguments,
        ]
        command += ["--extra-vars", f"@{self._variables}"]
        return run(command, {**self._env, **settings}, PLAYBOOKS)


def _unsafe(text: str) -> object:
    return {"__ansible_unsafe": text}


@pytest.fixture
def controller(tmp_path: Path, site: Site) -> Controller:
    """Return a controller for the tenant."""
    return Controller(tmp_path, site)


def test_converge(controller: Controller, site: Site) -> None:
    """A playbook is foretold by check mode, converges, and then is found converged."""
    with site.recorder.forbidding_writes():
        foretold = controller.play("converge.yml", "--check", "--diff")
    # Nothing is there yet: what needs an earlier task's work warns in place of failing.
    assert (foretold.status, foretold.recap.failed) == (0, 0), foretold.output
    assert "is not registered in this tenant" in words(foretold)
    assert site.listing() == {}
    first = controller.play("converge.yml")
    assert first.recap == Recap(ok=8, changed=5, unreachable=0, failed=0), first.output
    assert foretold.recap.changed == first.recap.changed
    assert "[WARNING]" not in first.output
    held = site.listing()
    assert held["bob@xn--bcher-kva.example"]["emails"] == {
        "bob@xn--bcher-kva.example",
        "info@one.example",
    }
    site.recorder.take()
    again = controller.play("converge.yml", "--diff")
    assert again.recap == Recap(ok=8, changed=0, unreachable=0, failed=0), again.output
    with site.recorder.forbidding_writes():
        checked = controller.play("converge.yml", "--check", "--diff")
    assert checked.recap.changed == checked.recap.failed == 0, checked.output
    assert site.recorder.take_writes() == []
    assert site.listing() == held


def test_environment(controller: Controller, site: Site) -> None:
    """Address and token come from the environment where no option gives them."""
    settings = {"POSTROOM_API_URL": site.url, "POSTROOM_API_TOKEN": site.token}
    played = controller.play("environment.yml", **settings)
    assert played.recap == Recap(ok=3, changed=1, unreachable=0, failed=0), played.output


def test_without_address_and_token(controller: Controller) -> None:
    """Without either the task fails and names the options."""
    played = controller.play("environment.yml")
    assert played.recap.failed == 1
    assert "missing required arguments: api_token, api_url" in played.output


def test_single_module(controller: Controller, site: Site) -> None:
    """A module works outside of a playbook too, and its failure is one sentence."""
    settings = {"POSTROOM_API_URL": site.url, "POSTROOM_API_TOKEN": site.token}
    module, arguments = (
        "postroom.email.email_forwarder",
        "name=all@one.example members=x@far.example",
    )
    failed = controller.module(module, arguments, **settings)
    assert failed.status == 2
    assert "all@one.example: the domain one.example is not registered" in words(failed)
    assert "Traceback" not in failed.output
    site.create("one.example")
    assert "CHANGED" in controller.module(module, arguments, **settings).output
    assert set(site.listing()) == {"one.example", "all@one.example"}
