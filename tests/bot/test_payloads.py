# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Replies are sent only after Slack has displayed the acknowledgement."""

from __future__ import annotations

import pytest

from postroom_bot.slack.payloads import DISPLAY_SECONDS, wait_for_display


@pytest.mark.parametrize(
    ("elapsed", "wait"),
    [(0.0, DISPLAY_SECONDS), (0.4, DISPLAY_SECONDS - 0.4), (DISPLAY_SECONDS, 0.0), (60.0, 0.0)],
)
def test_a_reply_waits_until_the_acknowledgement_is_displayed(elapsed: float, wait: float) -> None:
    """A reply waits for the rest of the time that Slack needs, but not if that time has passed."""
    slept: list[float] = []
    wait_for_display(100.0, clock=lambda: 100.0 + elapsed, sleep=slept.append)
    assert slept == [pytest.approx(wait)]
