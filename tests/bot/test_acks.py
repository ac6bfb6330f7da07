# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Slack gets its acknowledgement whatever else the bot is at.

Nothing here is timed but what Slack times itself, which gives up after three seconds, and here
after some more: a machine may be busy. Jobs are slow because the mail service is held up, so that
they provably still run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from ansible_collections.postroom.email.tests.support.bot import running_bot
from ansible_collections.postroom.email.tests.support.company import Company, company
from ansible_collections.postroom.email.tests.support.recorder import Recorder, recording
from postroom_bot.work.deps import MOST_WAITING
from postroom_bot.work.sentences import TOO_MANY

#: Less than the bot itself waits for the mail service.
SECONDS = 10.0
#: How many jobs run of each kind.
JOBS = 5
#: How many people ask for a list at the same time, more than the bot has threads for.
CROWD = 40
#: Jobs of the worker's threads, and of those that go on after an acknowledgement.
SLOW = ("alias add slow-{}@example.com", "alias list")
#: What each of them begins with, as the mail service sees it.
QUESTION = "GET"
#: One for each way in which a command is answered.
QUICK = ("alias add quick@example.com", "status", "help", "alias list", "password")


class MailThrough(NamedTuple):
    """The mail service, by way of a recorder."""

    url: str
    token: str


class Place(NamedTuple):
    """A company whose bot asks the mail service through a recorder."""

    here: Company
    recorder: Recorder


@pytest.fixture(params=["socket", "http"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Give the company, and its bot a thread for each of the worker's jobs."""
    with ExitStack() as end:
        here = end.enter_context(company(tmp_path))
        here.slack.be_patient(SECONDS)
        recorder = end.enter_context(recording(here.mail.url))
        mail, settings = MailThrough(recorder.url, here.mail.token), {"workers": JOBS}
        running = running_bot(
            tmp_path / "bot", here.slack, mail, here.policy, mode=request.param, settings=settings
        )
        bot = end.enter_context(running)
        if request.param == "http":
            here.slack.deliver_over_http(bot.slack_url)
        yield Place(here, recorder)


def test_five_slow_jobs_delay_no_sixth_acknowledgement(place: Place) -> None:
    """While five jobs of each kind wait for the mail service, every command is acknowledged."""
    here, recorder = place
    with recorder.holding(QUESTION) as gate:
        for text in SLOW:
            for number in range(JOBS):
                assert here.alice.command(f"/email {text.format(number)}").ok
                gate.wait()
        recorder.take()
        for text in QUICK:
            assert here.bob.command(f"/email {text}").ok
        # The mail service has answered nobody since, so all of them still run.
        assert recorder.take() == []


def test_a_crowd_that_waits_for_the_mail_service_delays_nobody_else(place: Place) -> None:
    """Those for whom there is no turn are told at once; all are acknowledged."""
    here, recorder = place
    with recorder.holding(QUESTION):
        for _ in range(CROWD):
            assert here.alice.command("/email alias list").ok
        assert here.bob.command("/email help").ok
        here.slack.wait_for(
            lambda: (
                [one.text for one in here.alice.sees().ephemerals].count(TOO_MANY)
                == CROWD - MOST_WAITING
            )
        )
