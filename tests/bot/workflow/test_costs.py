# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""How many calls and statements a request costs."""

from __future__ import annotations

from collections import Counter

from ansible_collections.postroom.email.tests.bot.workflow.harness import Harness
from postroom_bot.domain import Action, Change, State

#: The calls for a request with one approval: the requester, the approver, the user groups, the
#: card and its updates, and the messages to the requester, the owner and the auditors.
CALLS = {
    "users.info": 2,
    "usergroups.list": 1,
    "users.lookupByEmail": 1,
    "chat.postMessage": 4,
    "chat.update": 2,
}


def _alias(harness: Harness, number: int) -> None:
    """Have an alias requested, approved and added."""
    change = Change(Action.ALIAS_ADD, f"cost-{number}@example.com")
    assert harness.approve(harness.ask(change=change), "bob").state is State.DONE


def test_a_request_needs_few_calls_of_slack(harness: Harness) -> None:
    """A request needs at most ten calls, of which one has the low limit of user groups."""
    _alias(harness, 1)
    harness.clock.advance(minutes=5)
    before = len(harness.slack.state.calls)
    _alias(harness, 2)
    calls = Counter(call.method for call in harness.slack.state.calls[before:])
    assert calls <= Counter(CALLS)


def test_many_requests_a_minute_stay_below_the_rate_limits_of_lookups(harness: Harness) -> None:
    """Thirty requests a minute don't exceed the rate limit of user groups and accounts."""
    harness.slack.state.limits_rates = True
    harness.set_policy(limits={"open_requests": 100, "requests_per_day": 100})
    for number in range(30):
        change = Change(Action.ALIAS_REMOVE, f"cost-{number}@example.com")
        harness.ask(change=change)
        harness.clock.advance(seconds=2)
    assert "ratelimited user" not in harness.slack.log()
