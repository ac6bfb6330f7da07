# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A task inside Ansible's worker gives what its module gives, whatever is asked of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible.parsing.vault import VaultLib, VaultSecret

from ansible_collections.postroom.email.tests.e2e.parity_runs import (
    PLAYBOOKS,
    Stage,
    Way,
    tasks_of,
)
from ansible_collections.postroom.email.tests.support.recorder import Recorder
from ansible_collections.postroom.email.tests.support.service import (
    RunningService,
    running_service,
)
from ansible_collections.postroom.email.tests.support.site import Site

pytestmark = pytest.mark.matrix

WRONG_TOKEN = "wrong-token-DELTA-8842-qwpo"
PASSWORDS = {
    "ann@one.example": ["Zx9#kPq!secret-ALPHA-7731-wvut"],
    "Bob@bücher.example": ['qT"b\\s/ü&=?+%41#<é>secret-BRAVO', "{{ braces }} {% are %} no template"],
}
Both = tuple[Way, Way]


def unsafe(text: str) -> object:
    """Return a text whose braces are no template."""
    return {"__ansible_unsafe": text}


@pytest.fixture(scope="module")
def tenant(service: RunningService, recorder: Recorder) -> Iterator[Site]:
    """Return a tenant for all runs of this file."""
    site = Site(service.url, service.token, recorder)
    yield site
    site.close()


@pytest.fixture(scope="module")
def stage(tenant: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Return a stage with all that the playbooks ask for."""
    folder = tmp_path_factory.mktemp("parity")
    (folder / "vault").write_text("key to the vault", "utf-8")
    vaulted = VaultLib().encrypt("vaulted-ECHO-4417", VaultSecret(b"key to the vault")).decode()
    with running_service(folder / "broken", faults="status=503,error_before=1.0") as broken:
        variables = {
            "vault_passwords": {name: list(map(unsafe, them)) for name, them in PASSWORDS.items()},
            "wrong_token": WRONG_TOKEN,
            "braces": unsafe("{{ lookup('pipe', 'id') }}"),
            "broken_url": broken.url,
            "vaulted_text": vaulted,
        }
        yield Stage(folder, tenant, variables)


@pytest.fixture(scope="module")
def both(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> Both:
    """Run the playbook in both ways."""
    vault = tmp_path_factory.getbasetemp() / "vault"
    vault.write_text("key to the vault", "utf-8")
    return stage.both(PLAYBOOKS / "parity.yml", "--vault-password-file", str(vault))


@pytest.mark.parametrize("task", tasks_of("parity.yml"))
def test_results_are_the_same(task: str, both: Both) -> None:
    """Whole results, as callback plugins and later tasks get them."""
    here, modules = both
    assert here.results[task] == modules.results[task]


def test_what_is_printed_is_the_same(both: Both) -> None:
    """At -vvv and with diffs, beside the lines that tell how a task is run."""
    here, modules = both
    assert here.shown == modules.shown


def test_both_ways_were_taken(both: Both) -> None:
    """Each task in its own way, or else a module would have been compared with itself."""
    here, modules = both
    assert here.told
    assert all(told.startswith("in process ") for told in here.told), here.told
    off = "as a module: the environment variable POSTROOM_IN_PROCESS is off"
    assert modules.told == [off] * len(here.told)
