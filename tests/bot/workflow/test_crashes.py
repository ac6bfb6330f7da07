# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""If a worker stops between steps, another worker completes the request with the same result."""

from __future__ import annotations

import errno
from datetime import date
from itertools import pairwise

import pytest

from ansible_collections.postroom.email.tests.bot.workflow.harness import (
    ALICE,
    NEW,
    FailingExecutor,
    Harness,
    InterruptedExecutor,
)
from postroom_bot.backends.executor import ExecutionContext, Outcome
from postroom_bot.domain import Action, Change, Reason, Request, State
from postroom_bot.errors import LeaseLost, Unavailable
from postroom_bot.store import audit, ledger, requests, slack_deliveries, tombstones
from postroom_bot.workflow import execute
from postroom_bot.workflow.execute import MAX_DELAY, retry_delay
from postroom_bot.workflow.leased_request import lease_request
from postroom_bot.workflow.worker import KEEP_KEYS, PURGE_EVERY, Worker


@pytest.mark.parametrize("trouble", [RuntimeError("cut"), LeaseLost("its lease")])
def test_what_was_done_and_not_written_down_is_done_again_and_written_once(
    office: Harness, trouble: Exception
) -> None:
    """A change that was made before a crash but not recorded is repeated, and recorded once."""
    request = office.voted()
    Worker(
        office.with_(
            executor=InterruptedExecutor(office.deps.executor, trouble), process_name="first"
        )
    ).step()
    assert office.now(request).state is State.EXECUTING
    assert NEW in office.addresses()
    office.clock.advance(minutes=1)
    office.work(Worker(office.with_(process_name="second")))
    done = office.now(request)
    assert (done.state, done.attempts) == (State.DONE, 2)
    assert len(office.deps.database.read(ledger.entries)) == 1
    events = office.events(request)
    assert events[-3:] == ["request.executing", "request.resumed", "request.done"]


def test_an_address_freed_before_the_crash_is_kept_free_after_it(office: Harness) -> None:
    """An address that was freed before a crash is still reserved after the next attempt."""
    office.api.patch(ALICE, emails=[ALICE, NEW])
    change = Change(Action.ALIAS_REMOVE, NEW)
    request = office.submit(change=change)
    Worker(office.with_(executor=InterruptedExecutor(office.deps.executor))).step()
    assert NEW not in office.addresses()
    office.pass_time(minutes=1)
    assert office.now(request).state is State.DONE
    assert office.deps.database.read(lambda c: tombstones.owner_of(c, NEW, now=office.clock()))


class _Noting(FailingExecutor):
    """An executor that, like the AWX executor, notes the addresses it frees and waits for a job."""

    def execute(self, request: Request, context: ExecutionContext) -> Outcome:
        """Note the freed address, and report that the job is still running."""
        context.save_notes({"freeing": [request.change.target]})
        return super().execute(request, context)


def test_an_address_is_kept_free_from_before_the_job_has_ended(office: Harness) -> None:
    """A freed address is reserved before the job ends, so that no other person can take it."""
    office.api.patch(ALICE, emails=[ALICE, NEW])
    removal = office.submit(change=Change(Action.ALIAS_REMOVE, NEW))
    Worker(office.with_(executor=_Noting(retry_after=600))).step()
    assert office.now(removal).is_open
    office.api.patch(ALICE, emails=[ALICE])
    other = office.ask("erin")
    assert other.state is State.REFUSED
    assert other.result == Reason("address.kept_free", {"address": NEW})


def test_the_limit_of_aliases_does_not_stop_what_was_done_before_the_crash(office: Harness) -> None:
    """The alias limit doesn't count an alias that the same request added before a crash."""
    office.set_policy(limits={"aliases_per_mailbox": 1})
    request = office.voted()
    Worker(office.with_(executor=InterruptedExecutor(office.deps.executor))).step()
    office.pass_time(minutes=1)
    assert office.now(request).state is State.DONE
    other = office.ask(change=Change(Action.ALIAS_ADD, "second@example.com"))
    assert other.result == Reason("limit.aliases", {"count": 1})


@pytest.mark.parametrize("state", [State.NEW, State.PENDING, State.APPROVED, State.EXECUTING])
def test_a_lease_that_ran_out_is_taken_over(office: Harness, state: State) -> None:
    """Another worker takes over a request with an expired lease, whatever state it is in."""
    request = office.submit()
    if state is not State.NEW:
        office.work()
        office.vote("bob", office.now(request))
    if state in (State.APPROVED, State.EXECUTING):
        trouble = RuntimeError if state is State.EXECUTING else None
        Worker(office.with_(executor=FailingExecutor(error=trouble))).step()
        office.clock.advance(seconds=10)
    dead = lease_request(office.with_(process_name="dead"))
    assert dead is not None
    assert dead.request.state is state
    assert dead.lock()
    office.work()
    assert office.now(request).state is state
    office.clock.advance(office.deps.lease)
    office.work()
    with pytest.raises(LeaseLost):
        dead.renew()
    with pytest.raises(LeaseLost):
        dead.update(result=Reason("legacy", {"text": "late"}))
    if state is State.NEW:
        office.approve(office.now(request), "bob")
    assert office.now(request).state is State.DONE


def test_a_cancelled_request_is_let_pass(office: Harness) -> None:
    """After a request is cancelled, the worker that was processing it can no longer write to it."""
    request = office.voted()
    held = lease_request(office.deps, request.id)
    assert held is not None
    office.request_service.cancel(office.key(), request.id, office.people["alice"].id)
    with pytest.raises(LeaseLost):
        held.transition(State.APPROVED)
    held.release(None)
    office.work()
    assert office.now(request).state is State.CANCELLED
    assert "Cancelled" in office.cards()[0].text


@pytest.mark.parametrize(
    ("trouble", "state"),
    [(Unavailable(retry_after=86400), State.APPROVED), (RuntimeError(), State.EXECUTING)],
)
def test_what_may_have_been_done_is_carried_to_its_end(
    office: Harness, trouble: Exception, state: State
) -> None:
    """A request that may already have been executed is completed, not cancelled or expired."""
    request = office.voted()
    Worker(office.with_(executor=InterruptedExecutor(office.deps.executor, trouble))).step()
    assert office.now(request).state is state
    assert NEW in office.addresses()
    answer = office.request_service.cancel(office.key(), request.id, office.people["alice"].id)
    assert answer.code == "request.not_cancellable"
    office.pass_time(days=1)
    assert office.now(request).state is State.DONE
    assert office.deps.database.read(ledger.entries)


def test_tries_have_an_end(office: Harness) -> None:
    """A request fails after a maximum number of attempts, with growing pauses between them."""
    request = office.voted()
    unready = FailingExecutor()
    worker = Worker(office.with_(executor=unready))
    pauses = []
    while office.now(request).is_open:
        worker.step()
        due = office.now(request).due_at or office.clock()
        pauses.append((due - office.clock()).total_seconds())
        office.clock.advance(seconds=pauses[-1])
    office.work()
    assert unready.tries == execute.MAX_ATTEMPTS
    assert office.now(request).result == Reason("request.gave_up")
    assert all(before < after for before, after in pairwise(pauses[:8]))
    assert "after many attempts" in office.told("alice")[-1]


def test_a_mistake_in_the_executor_has_an_end_as_well(office: Harness) -> None:
    """If the executor always raises an unexpected exception, the request eventually fails."""
    request = office.voted()
    worker = Worker(office.with_(executor=FailingExecutor(error=RuntimeError)))
    for _ in range(2 * execute.MAX_ATTEMPTS):
        office.clock.advance(minutes=20)
        office.work(worker)
    assert office.now(request).state is State.FAILED
    broken = office.deps.metrics.registry.get_sample_value(
        "postroom_bot_errors_total", {"where": "work"}
    )
    assert broken == execute.MAX_ATTEMPTS


def test_a_busy_mailbox_is_looked_at_again_soon(office: Harness) -> None:
    """A request for a busy mailbox is retried soon, and this does not count as an attempt."""
    request = office.voted()
    now = office.clock()
    take, until = requests.lock_mailbox, now + office.deps.lease
    office.deps.database.write(lambda c: take(c, ALICE, holder="another", now=now, until=until))
    office.work()
    waiting = office.now(request)
    assert (waiting.state, waiting.attempts) == (State.APPROVED, 0)
    assert waiting.due_at == now + execute.BUSY_DELAY
    assert len(office.told("alice")) == 1
    office.deps.database.write(lambda c: requests.unlock_mailbox(c, ALICE, holder="another"))
    office.pass_time(seconds=1)
    assert office.now(request).state is State.DONE


@pytest.mark.parametrize("error", [None, RuntimeError])
def test_no_lock_is_left_behind(office: Harness, error: type[Exception] | None) -> None:
    """The lock on a mailbox is released, no matter how an execution ends."""
    office.voted()
    Worker(office.with_(executor=FailingExecutor(error=error))).step()
    other = office.ask(change=Change(Action.ALIAS_ADD, "second@example.com"))
    assert office.approve(other, "bob").state is State.DONE


def test_a_removal_at_an_alias_s_end_is_asked_for_once(office: Harness) -> None:
    """The worker requests the removal of an expired alias once, even if it checks again."""
    change = Change(Action.ALIAS_ADD, NEW, last_day=date(2026, 11, 21))
    request = office.approve(office.ask(change=change), "bob")
    office.pass_time(days=1)
    office.deps.database.write(lambda c: requests.mark_due(c, request.id, at=office.clock()))
    office.work()
    assert len(office.lookups.status(office.people["alice"].id)) == 2


def test_where_lines_go_may_be_full(office: Harness) -> None:
    """If audit lines can't be written, other maintenance still runs.

    The lines are written later.
    """
    office.ask()

    def full(_line: str) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    with pytest.raises(OSError, match="no space left"):
        Worker(office.with_(audit_lines=full)).upkeep()
    found = office.deps.metrics.registry.get_sample_value
    assert found("postroom_bot_open_requests", {"state": "pending"}) == 1
    assert found("postroom_bot_open_requests", {"state": "new"}) == 0
    lines: list[str] = []
    Worker(office.with_(audit_lines=lines.append)).upkeep()
    assert office.deps.database.read(lambda c: audit.verify_lines(c, lines)).count == len(lines)


def test_old_keys_and_tombstones_are_forgotten(office: Harness) -> None:
    """Old delivery keys and reservations are deleted, but only after they have expired."""
    worker = Worker(office.deps)
    database, at = office.deps.database, office.clock()
    assert database.write(lambda c: slack_deliveries.record_if_new(c, "key", at=at))
    until = at + KEEP_KEYS
    database.write(lambda c: tombstones.add(c, NEW, "erin@example.com", at=at, until=until))
    worker.upkeep()
    assert not database.write(lambda c: slack_deliveries.record_if_new(c, "key", at=at))
    office.clock.advance(KEEP_KEYS + PURGE_EVERY)
    worker.upkeep()
    assert database.write(lambda c: slack_deliveries.record_if_new(c, "key", at=office.clock()))
    assert database.write(lambda c: tombstones.purge(c, office.clock())) == 0


@pytest.mark.parametrize(
    ("tries", "most"), [(1, 2), (2, 4), (5, 32), (10, MAX_DELAY), (99, MAX_DELAY)]
)
def test_pauses_grow_to_a_limit(tries: int, most: float) -> None:
    """Pauses double up to a limit, vary slightly, and are never shorter than requested."""
    for _ in range(20):
        assert 0.8 * most <= retry_delay(tries) <= most
        assert retry_delay(tries, 5000.0) == 5000.0
