# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What a payload says, and when a reply is sent."""

from __future__ import annotations

import pytest

from postroom_bot.domain import MessageRef
from postroom_bot.slack.payloads import DISPLAY_SECONDS, interaction_of, wait_for_display


@pytest.mark.parametrize(
    ("elapsed", "wait"),
    [(0.0, DISPLAY_SECONDS), (0.4, DISPLAY_SECONDS - 0.4), (DISPLAY_SECONDS, 0.0), (60.0, 0.0)],
)
def test_a_reply_waits_until_the_acknowledgement_is_displayed(elapsed: float, wait: float) -> None:
    """A reply waits for the rest of the time that Slack needs, but not if that time has passed."""
    slept: list[float] = []
    wait_for_display(100.0, clock=lambda: 100.0 + elapsed, sleep=slept.append)
    assert slept == [pytest.approx(wait)]


@pytest.mark.parametrize(
    ("request_id", "posted_by", "card", "app"),
    [
        ("R-7K2M", "A0BOT", MessageRef("C0CARDS", "1.5"), "A0BOT"),
        ("R-2222", "A0BOT", MessageRef("", ""), "A0BOT"),
        ("R-7K2M", "A0OTHER", MessageRef("C0CARDS", "1.5"), ""),
    ],
)
def test_a_press_in_the_home_tab_is_bound_to_the_card(
    request_id: str, posted_by: str, card: MessageRef, app: str
) -> None:
    """A press in the Home tab belongs to the card that the tab showed, and to the app's own tab."""
    body = {
        "type": "block_actions",
        "user": {"id": "U0BOB", "team_id": "T0HOME"},
        "trigger_id": "1",
        "api_app_id": "A0BOT",
        "container": {"type": "view", "view_id": "V1"},
        "view": {
            "type": "home",
            "app_id": posted_by,
            "private_metadata": '{"R-7K2M": ["C0CARDS", "1.5"]}',
        },
        "actions": [{"value": request_id}],
    }
    pressed = interaction_of(body)
    assert (pressed.request_id, pressed.card, pressed.app) == (request_id, card, app)
    assert pressed.modal is None
