# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""One scene for all attacks over signed HTTP, and one for those over Socket Mode."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ansible_collections.postroom.email.tests.bot.threats.scene import Scene, open_scene
from ansible_collections.postroom.email.tests.fakes.slack.person import Person


@pytest.fixture(scope="session")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Give the scene; after all attacks, the audit is in order."""
    with open_scene(tmp_path_factory.mktemp("scene"), mode="http") as scene:
        yield scene
        verified = scene.bot.command("audit", "verify")
        assert verified.returncode == 0, verified.stdout


@pytest.fixture(scope="session")
def by_socket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Give a scene of its own whose bot uses Socket Mode, and logs all that it can."""
    place = tmp_path_factory.mktemp("socket")
    with open_scene(place, mode="socket", settings={"log_level": "debug"}) as scene:
        yield scene


@pytest.fixture
def alice(scene: Scene) -> Person:
    """Give somebody with a mailbox, who has asked for nothing yet."""
    return scene.hire()


@pytest.fixture
def bob(scene: Scene) -> Person:
    """Give an approver."""
    return scene.hire(approves=True)


@pytest.fixture
def carol(scene: Scene) -> Person:
    """Give another approver."""
    return scene.hire(approves=True)
