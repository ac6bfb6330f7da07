# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A workspace, and a small app of Slack's own libraries in it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from slack_sdk import WebClient

from ansible_collections.postroom.email.tests.fakes.slack.workspace import Workspace
from ansible_collections.postroom.email.tests.fakes.slack.world import PATIENCE


@pytest.fixture
def slack() -> Iterator[Workspace]:
    """Give a workspace, and see that it ends all that it began."""
    before = set(threading.enumerate())
    with Workspace() as workspace:
        yield workspace
    for thread in set(threading.enumerate()) - before:
        # What serves a connection that was cut notices it a moment later.
        thread.join(PATIENCE)
        assert not thread.is_alive(), thread


@pytest.fixture
def client(slack: Workspace) -> WebClient:
    """Give Slack's own client, with the bot's token."""
    return WebClient(slack.bot_token, base_url=slack.base_url, timeout=5)
