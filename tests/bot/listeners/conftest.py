# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""One company with one running bot for all tests of the listeners."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ansible_collections.postroom.email.tests.support.bot import RunningBot, running_bot
from ansible_collections.postroom.email.tests.support.company import Company, company


@pytest.fixture(scope="session")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Company]:
    """Give the company."""
    with company(tmp_path_factory.mktemp("company")) as found:
        yield found
        assert found.slack.problems == []


@pytest.fixture(scope="session")
def _bot(here: Company, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBot]:
    place = tmp_path_factory.mktemp("bot")
    with running_bot(place, here.slack, here.mail, here.policy) as found:
        yield found


@pytest.fixture
def bot(_bot: RunningBot, here: Company) -> RunningBot:
    """Give the bot, with nobody having a window open."""
    for person in (here.alice, here.bob, here.carol, here.dora):
        while modals := person.sees().modals:
            person.close(modals[-1])
    return _bot
