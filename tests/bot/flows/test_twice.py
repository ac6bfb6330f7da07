# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Much at once, each thing delivered twice: nothing is done twice, and nothing is lost."""

from __future__ import annotations

from ansible_collections.postroom.email.tests.bot.flows.crowd import (
    carry_through,
    lost,
    overlapping,
    repeated,
    wanted,
)
from ansible_collections.postroom.email.tests.bot.flows.premises import Deployment
from postroom_bot.model import State

EACH = 6


def test_many_aliases_for_four_mailboxes_at_once(flow: Deployment) -> None:
    """As many requests, cards and effects as wishes; each mailbox has one writer at a time."""
    aliases = wanted(flow, EACH)
    writes = carry_through(flow, aliases)
    assert lost(flow, aliases) == []
    assert repeated(flow, aliases, writes) == []
    assert overlapping(writes) == []
    states = {one.wish.target: one.state for one in flow.requests()}
    assert {states[one.address] for one in aliases} == {State.DONE}
    flow.check_audit()
