# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""How many calls and statements a request costs."""

from __future__ import annotations

from collections import Counter

from ansible_collections.postroom.email.tests.bot.workflow.harness import Harness
from ansible_collections.postroom.email.tests.support.statements import recorded_statements
from postroom_bot.domain import Action, Change, State
from postroom_bot.workflow import request_service
from postroom_bot.workflow.worker import Worker

#: The calls for a request with one approval: the requester, the approver, the user groups, the
#: card with its update and reply, and the messages to the requester, the owner and the auditors.
CALLS = {
    "users.info": 2,
    "usergroups.list": 1,
    "users.lookupByEmail": 1,
    "chat.postMessage": 5,
    "chat.update": 1,
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


#: The SQL statements from a command to a completed request.
STATEMENTS = 60


def test_a_request_needs_few_statements(harness: Harness) -> None:
    """A request with one approval needs at most 60 SQL statements from the command to the end."""
    _alias(harness, 1)
    worker = Worker(harness.deps)
    with recorded_statements() as statements:
        request = harness.submit(change=Change(Action.ALIAS_ADD, "cost@example.com"))
        assert worker.step()
    pending = harness.now(request)
    assert pending.card is not None
    press = harness.interaction("bob", request_id=request.id, card=pending.card)
    with recorded_statements() as more:
        request_service.vote(harness.deps, press, approves=True)
        assert worker.step()
    assert harness.now(request).state is State.DONE
    assert len(statements) + len(more) <= STATEMENTS
