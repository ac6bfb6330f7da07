# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A controller on which `playbooks/awx.yml` has made everything, once for all tests that look."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.ops.awx.stage import ALL, Stage, staged
from ansible_collections.postroom.email.tests.support.controller.controller import (
    Controller,
    running_controller,
)
from ansible_collections.postroom.email.tests.support.playbooks import Run


@dataclass
class Runs:
    """Four runs of the playbook with the same variables, and what each sent that was to change.

    :param foreseen: in check mode, before anything was there
    :param checked: in check mode, at the end
    """

    stage: Stage
    foreseen: Run
    first: Run
    second: Run
    checked: Run
    sent: list[int]


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    """Give the runs; nobody changes what they made."""
    with staged(tmp_path_factory.mktemp("awx")) as stage:
        sent = []

        def counted(done: Run) -> Run:
            sent.append(len(stage.controller.written))
            return done

        yield Runs(
            stage,
            counted(stage.play(ALL, "--check", "--diff", "-vvvv")),
            counted(stage.play(ALL, "--diff", "-vvvv")),
            counted(stage.play(ALL, "--diff", "-vvvv")),
            counted(stage.play(ALL, "--check", "--diff")),
            sent,
        )


@pytest.fixture(scope="session")
def made(runs: Runs) -> Controller:
    """Give the controller after the runs."""
    assert runs.first.status == 0, runs.first.output[-3000:]
    return runs.stage.controller


@pytest.fixture
def controller() -> Iterator[Controller]:
    """Give an empty controller."""
    with running_controller() as controller:
        yield controller


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """Give a stage with an empty controller."""
    with staged(tmp_path) as stage:
        yield stage
