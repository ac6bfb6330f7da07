# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Slack gets its acknowledgement while jobs wait for the mail service, which is held up."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ansible_collections.postroom.email.tests.bot.flows.deployment import HTTP, Deployment, Plan
from postroom_bot.work.deps import MOST_WAITING
from postroom_bot.work.sentences import TOO_MANY

PLANS = [HTTP, pytest.param(Plan("socket", "sqlite"), marks=pytest.mark.full)]
pytestmark = pytest.mark.parametrize("plan", PLANS, indirect=True, ids=str, scope="session")

#: Less than the bot waits for the mail service.
SECONDS = 10.0
#: The worker's threads.
JOBS = 4
#: More than may wait for the mail service.
CROWD = MOST_WAITING + 3


@pytest.fixture
def hurried(flow: Deployment) -> Iterator[Deployment]:
    """Give the bots, and acknowledgements less time."""
    delivery = flow.here.slack.delivery
    before, delivery.seconds = delivery.seconds, SECONDS
    yield flow
    delivery.seconds = before


def test_slow_jobs_delay_no_acknowledgement(hurried: Deployment) -> None:
    """While all of the worker's threads wait for the mail service, each command is acknowledged."""
    here, recorder = hurried.here, hurried.premises.recorder
    with recorder.holding("GET") as gate:
        for number in range(JOBS):
            assert here.alice.command(f"/email alias add slow-{number}@example.com").ok
            gate.wait()
        recorder.take()
        for text in ("alias add quick@example.com", "status", "help", "alias list", "password"):
            assert here.dora.command(f"/email {text}").ok
        # The mail service has answered nothing since, so all jobs still run.
        assert recorder.take() == []
    here.window(here.dora, "password_confirm")


def test_a_crowd_that_waits_delays_no_other_person(hurried: Deployment) -> None:
    """Those for whom there is no turn get an answer immediately; all are acknowledged."""
    here = hurried.here
    before = len(here.alice.sees().ephemerals)
    with hurried.premises.recorder.holding("GET"):
        for _ in range(CROWD):
            assert here.alice.command("/email alias list").ok
        assert here.bob.command("/email help").ok
        here.slack.wait_for(
            lambda: (
                [one.text for one in here.alice.sees().ephemerals[before:]].count(TOO_MANY)
                == CROWD - MOST_WAITING
            )
        )
