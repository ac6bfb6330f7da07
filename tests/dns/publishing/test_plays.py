# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Playbooks that publish, by real ansible-playbook, in Ansible's own process and as modules."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from ansible_collections.postroom.email.tests.dns.publishing.conftest import Publisher
from ansible_collections.postroom.email.tests.dns.publishing.stage import KEY
from ansible_collections.postroom.email.tests.e2e import canary_stage, parity_runs
from ansible_collections.postroom.email.tests.fakes.nameserver.habits import silent
from ansible_collections.postroom.email.tests.fakes.nameserver.server import misbehaving
from ansible_collections.postroom.email.tests.support import repository
from ansible_collections.postroom.email.tests.support.bind import new_key
from ansible_collections.postroom.email.tests.support.loopback import free_port
from ansible_collections.postroom.email.tests.support.secrets import leaks
from ansible_collections.postroom.email.tests.support.service import RunningService

PLAYBOOKS = Path(__file__).parent / "playbooks"
OTHER = new_key("mail")
SECRETS = [KEY.secret, OTHER.secret]
OFF = {"POSTROOM_IN_PROCESS": "0"}


def variables(publisher: Publisher) -> dict[str, str]:
    """Return what the playbooks ask for."""
    return {
        "name_server": str(publisher.stage.bind),
        "update_server": str(publisher.stage.front),
        "vault_tsig_secret": KEY.secret,
        "vault_other_secret": OTHER.secret,
        "nobody": f"127.0.0.1:{free_port()}",
    }


@pytest.fixture
def parity(publisher: Publisher, tmp_path: Path) -> parity_runs.Stage:
    """Return a stage to run playbooks both ways."""
    folder = tmp_path / "parity"
    folder.mkdir()
    return parity_runs.Stage(folder, publisher.site, variables(publisher))


def test_both_ways_give_the_same(parity: parity_runs.Stage, publisher: Publisher) -> None:
    """Every task, its differences and its failures; what check mode foretells comes true."""
    here, modules = parity.both(PLAYBOOKS / "parity.yml")
    assert here.results == modules.results
    assert here.shown == modules.shown
    assert all(told.startswith("in process ") for them in here.told.values() for told in them)
    (play,) = yaml.safe_load((PLAYBOOKS / "parity.yml").read_text("utf-8"))
    results = {name: them[-1] for name, them in here.results.items()}
    assert list(results) == [task["name"] for task in play["tasks"]]
    failed = {name for name, result in results.items() if "failure" in result}
    assert failed == {"Wait in vain", *(name for name in results if name.startswith("Fail "))}
    for first, again in (("Publish", "Publish again"), ("Withdraw", "Withdraw again")):
        assert results[first]["changed"]
        assert not results[again]["changed"]
    assert results["Foretell the end"]["changes"] == results["Withdraw"]["changes"]
    # Two updates each way, and nothing is left.
    assert publisher.stage.gate.updates == 4
    assert not any(publisher.stage.held().values())


@pytest.fixture
def canary(
    publisher: Publisher, service: RunningService, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[canary_stage.Stage]:
    """Return a stage for playbooks that must keep their secrets."""
    stage = canary_stage.Stage(tmp_path_factory.mktemp("stage"), service, service)
    publisher.site.create("other.example")
    with misbehaving({("*", "*"): silent}) as mute:
        for name, value in {**variables(publisher), "silent_server": str(mute)}.items():
            stage.give(name, value)
        yield stage


def wait_for_tidying(canary: canary_stage.Stage) -> None:
    """Wait until Ansible has removed the files of an asynchronous task, for which it takes 5 s."""
    deadline = time.monotonic() + 20.0
    while any(canary.run_folder.rglob("AnsiballZ_*.py")) and time.monotonic() < deadline:
        time.sleep(0.1)


@pytest.mark.parametrize("settings", [{}, OFF], ids=["in process", "as modules"])
def test_no_secret_shows(settings: dict[str, str], canary: canary_stage.Stage) -> None:
    """At -vvvv, with differences, events and a log, whatever goes wrong with the key."""
    played = canary.play(str(PLAYBOOKS / "canary.yml"), **settings)
    assert played.status == 0, played.output
    told = " POSTROOM_IN_PROCESS is off" if settings else " runs in process "
    assert told in played.output
    wait_for_tidying(canary)
    assert leaks([*SECRETS, *canary.secrets], [canary.run_folder]) == []


@pytest.mark.parametrize("settings", [{}, OFF], ids=["in process", "as modules"])
def test_a_crash_shows_no_secret(
    settings: dict[str, str], canary: canary_stage.Stage, tmp_path: Path
) -> None:
    """Not even one that shows all that the task holds."""
    copy = tmp_path.joinpath("ansible_collections", "postroom", "email")
    for folder in ("plugins", "meta"):
        shutil.copytree(repository.ROOT / folder, copy / folder)
    states = copy / "plugins" / "module_utils" / "_dns_states.py"
    publishing = "        attempts = Attempts(seconds)\n"
    crash = "        raise RuntimeError(f'broken with {target!r} in {vars(self)!r}')\n"
    text = states.read_text("utf-8")
    assert publishing in text
    states.write_text(text.replace(publishing, crash + publishing), "utf-8")
    traced = {"ANSIBLE_DISPLAY_TRACEBACK": "error", "ANSIBLE_COLLECTIONS_PATH": str(tmp_path)}
    played = canary.play(str(PLAYBOOKS / "crash.yml"), **traced, **settings)
    assert "broken with Target(" in played.output
    assert leaks([*SECRETS, *canary.secrets], [canary.run_folder]) == []


def test_without_dnspython(parity: parity_runs.Stage, tmp_path: Path) -> None:
    """Where it is missing, a task says so in Ansible's words; retrieving does without."""
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / "dns.py").write_text("raise ImportError('not here')", "utf-8")
    without = {"PYTHONPATH": str(tmp_path / "without")}
    here, modules = parity.both(PLAYBOOKS / "library.yml", **without)
    for way in (here, modules):
        assert not way.results["Retrieve"][0].get("failed")
        for task in ("Verify", "Publish"):
            result = way.results[task][0]
            assert "Failed to import the required Python library (dnspython)" in result["msg"]
            assert sys.executable in result["msg"]
