# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""If a worker stops between steps, another worker completes the request with the same result."""

from __future__ import annotations

import errno
from datetime import date, timedelta
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
from postroom_bot.store import audit, holdings, idempotency_keys, requests, tombstones, votes
from postroom_bot.workflow import execute
from postroom_bot.workflow.execute import MAX_DELAY, retry_delay
from postroom_bot.workflow.leased_request import lease_request
from postroom_bot.workflow.worker import KEEP_KEYS, PURGE_EVERY, Worker


@pytest.mark.parametrize("trouble", [RuntimeError("cut"), LeaseLost("its lease")])
def test_what_was_done_and_not_written_down_is_done_again_and_written_once(
    harness: Harness, trouble: Exception
) -> None:
    """A change that was made before a crash but not recorded is repeated, and recorded once."""
    request = harness.voted()
    Worker(
        harness.with_(
            executor=InterruptedExecutor(harness.deps.executor, trouble), process_name="first"
        )
    ).step()
    assert harness.now(request).state is State.EXECUTING
    assert NEW in harness.addresses()
    harness.clock.advance(minutes=1)
    harness.work(Worker(harness.with_(process_name="second")))
    done = harness.now(request)
    assert (done.state, done.attempts) == (State.DONE, 2)
    assert len(harness.deps.database.read(holdings.everything)) == 1
    events = harness.events(request)
    assert events[-3:] == ["request.executing", "request.resumed", "request.done"]


def test_an_address_freed_before_the_crash_is_kept_free_after_it(harness: Harness) -> None:
    """An address that was freed before a crash is still reserved after the next attempt."""
    harness.api.patch(ALICE, emails=[ALICE, NEW])
    change = Change(Action.ALIAS_REMOVE, NEW)
    request = harness.submit(change=change)
    Worker(harness.with_(executor=InterruptedExecutor(harness.deps.executor))).step()
    assert NEW not in harness.addresses()
    harness.pass_time(minutes=1)
    assert harness.now(request).state is State.DONE
    assert harness.deps.database.read(lambda c: tombstones.owner_of(c, NEW, now=harness.clock()))


class _Noting(FailingExecutor):
    """An executor that, like the AWX executor, notes the addresses it frees and waits for a job."""

    def execute(self, request: Request, context: ExecutionContext) -> Outcome:
        """Note the freed address, and report that the job is still running."""
        context.save_notes({"freeing": [request.change.target]})
        return super().execute(request, context)


def test_an_address_is_kept_free_from_before_the_job_has_ended(harness: Harness) -> None:
    """A freed address is reserved before the job ends, so that no other person can take it."""
    harness.api.patch(ALICE, emails=[ALICE, NEW])
    removal = harness.submit(change=Change(Action.ALIAS_REMOVE, NEW))
    Worker(harness.with_(executor=_Noting(retry_after=600))).step()
    assert harness.now(removal).is_open
    harness.api.patch(ALICE, emails=[ALICE])
    other = harness.ask("erin")
    assert other.state is State.REFUSED
    assert other.result == Reason("address.kept_free", {"address": NEW})


def test_the_limit_of_aliases_does_not_stop_what_was_done_before_the_crash(
    harness: Harness,
) -> None:
    """The alias limit doesn't count an alias that the same request added before a crash."""
    harness.set_policy(limits={"aliases_per_mailbox": 1})
    request = harness.voted()
    Worker(harness.with_(executor=InterruptedExecutor(harness.deps.executor))).step()
    harness.pass_time(minutes=1)
    assert harness.now(request).state is State.DONE
    other = harness.ask(change=Change(Action.ALIAS_ADD, "second@example.com"))
    assert other.result == Reason("limit.aliases", {"count": 1})


@pytest.mark.parametrize("state", [State.NEW, State.PENDING, State.APPROVED, State.EXECUTING])
def test_a_lease_that_ran_out_is_taken_over(harness: Harness, state: State) -> None:
    """Another worker takes over a request with an expired lease, whatever state it is in."""
    request = harness.submit()
    if state is not State.NEW:
        harness.work()
        harness.vote("bob", harness.now(request))
    if state in (State.APPROVED, State.EXECUTING):
        trouble = RuntimeError if state is State.EXECUTING else None
        Worker(harness.with_(executor=FailingExecutor(error=trouble))).step()
        harness.clock.advance(seconds=10)
    dead = lease_request(harness.with_(process_name="dead"))
    assert dead is not None
    assert dead.request.state is state
    assert dead.lock()
    harness.work()
    assert harness.now(request).state is state
    harness.clock.advance(harness.deps.lease)
    harness.work()
    with pytest.raises(LeaseLost):
        dead.renew()
    with pytest.raises(LeaseLost):
        dead.lock()
    with pytest.raises(LeaseLost):
        dead.update(result=Reason("policy.deny", {"text": "late"}))
    if state is State.NEW:
        harness.approve(harness.now(request), "bob")
    assert harness.now(request).state is State.DONE


def test_a_cancelled_request_is_let_pass(harness: Harness) -> None:
    """After a request is cancelled, the worker that was processing it can no longer write to it."""
    request = harness.voted()
    held = lease_request(harness.deps, request.id)
    assert held is not None
    harness.cancel(request)
    with pytest.raises(LeaseLost):
        held.transition(State.APPROVED)
    held.release(None)
    harness.work()
    assert harness.now(request).state is State.CANCELLED
    assert "Cancelled" in harness.cards()[0].text


@pytest.mark.parametrize(
    ("trouble", "state"),
    [(Unavailable(retry_after=86400), State.APPROVED), (RuntimeError(), State.EXECUTING)],
)
def test_what_may_have_been_done_is_carried_to_its_end(
    harness: Harness, trouble: Exception, state: State
) -> None:
    """A request that may already have been executed is completed, not cancelled or expired."""
    request = harness.voted()
    Worker(harness.with_(executor=InterruptedExecutor(harness.deps.executor, trouble))).step()
    assert harness.now(request).state is state
    assert NEW in harness.addresses()
    answer = harness.cancel(request)
    assert answer.code == "request.not_cancellable"
    harness.pass_time(days=1)
    assert harness.now(request).state is State.DONE
    assert harness.deps.database.read(holdings.everything)


def test_tries_have_an_end(harness: Harness) -> None:
    """A request fails after a maximum number of attempts, with growing pauses between them."""
    request = harness.voted()
    unready = FailingExecutor()
    worker = Worker(harness.with_(executor=unready))
    pauses = []
    while harness.now(request).is_open:
        worker.step()
        due = harness.now(request).due_at or harness.clock()
        pauses.append((due - harness.clock()).total_seconds())
        harness.clock.advance(seconds=pauses[-1])
    harness.work()
    assert unready.tries == execute.MAX_ATTEMPTS
    assert harness.now(request).result == Reason("request.gave_up")
    assert all(before < after for before, after in pairwise(pauses[:8]))
    assert "after many attempts" in harness.texts_to("alice")[-1]


def test_giving_up_reports_that_the_change_may_have_been_made(harness: Harness) -> None:
    """If all attempts fail after the change began, the result says that it may have been made."""
    request = harness.voted()
    cut = InterruptedExecutor(harness.deps.executor, Unavailable())
    worker = Worker(harness.with_(executor=cut))
    for _ in range(execute.MAX_ATTEMPTS):
        harness.work(worker)
        harness.clock.advance(minutes=20)
    assert harness.now(request).result == Reason("request.gave_up_unsure")


def test_a_mistake_in_the_executor_has_an_end_as_well(harness: Harness) -> None:
    """If the executor always raises an unexpected exception, the request eventually fails."""
    request = harness.voted()
    worker = Worker(harness.with_(executor=FailingExecutor(error=RuntimeError)))
    for _ in range(2 * execute.MAX_ATTEMPTS):
        harness.clock.advance(minutes=20)
        harness.work(worker)
    assert harness.now(request).state is State.FAILED
    broken = harness.deps.metrics.registry.get_sample_value(
        "postroom_bot_errors_total", {"where": "work"}
    )
    assert broken == execute.MAX_ATTEMPTS


def test_a_busy_mailbox_is_looked_at_again_soon(harness: Harness) -> None:
    """A request for a busy mailbox is retried soon, and this does not count as an attempt."""
    request = harness.voted()
    other = harness.submit(change=Change(Action.ALIAS_ADD, "second@example.com", ALICE))
    holder = lease_request(harness.deps, other.id)
    assert holder is not None
    assert holder.lock()
    harness.work()
    waiting = harness.now(request)
    assert (waiting.state, waiting.attempts) == (State.APPROVED, 0)
    assert waiting.due_at == harness.clock() + execute.BUSY_DELAY
    assert len(harness.texts_to("alice")) == 1
    harness.pass_time(seconds=1)
    assert harness.now(request).state is State.APPROVED
    holder.release(None)
    harness.work()
    assert harness.now(request).state is State.DONE


@pytest.mark.parametrize("error", [None, RuntimeError])
def test_no_lock_is_left_behind(harness: Harness, error: type[Exception] | None) -> None:
    """The lock on a mailbox is released, no matter how an execution ends."""
    harness.voted()
    Worker(harness.with_(executor=FailingExecutor(error=error))).step()
    other = harness.ask(change=Change(Action.ALIAS_ADD, "second@example.com"))
    assert harness.approve(other, "bob").state is State.DONE


def test_a_removal_at_an_alias_s_end_is_asked_for_once(harness: Harness) -> None:
    """The worker requests the removal of an expired alias once, even if it checks again."""
    change = Change(Action.ALIAS_ADD, NEW, last_day=date(2026, 11, 21))
    request = harness.approve(harness.ask(change=change), "bob")
    harness.pass_time(days=1)
    harness.deps.database.write(lambda c: requests.mark_due(c, request.id, at=harness.clock()))
    harness.work()
    assert len(harness.requests_of("alice")) == 2


def test_where_lines_go_may_be_full(harness: Harness) -> None:
    """If audit lines can't be written, other maintenance still runs.

    The lines are written later.
    """
    harness.ask()

    def full(_line: str) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    with pytest.raises(OSError, match="no space left"):
        Worker(harness.with_(audit_lines=full)).upkeep()
    found = harness.deps.metrics.registry.get_sample_value
    assert found("postroom_bot_open_requests", {"state": "pending"}) == 1
    assert found("postroom_bot_open_requests", {"state": "new"}) == 0
    lines: list[str] = []
    Worker(harness.with_(audit_lines=lines.append)).upkeep()
    assert harness.deps.database.read(lambda c: audit.verify_lines(c, lines)).count == len(lines)


def test_old_keys_and_tombstones_are_forgotten(harness: Harness) -> None:
    """Old delivery keys and reservations are deleted, but only after they have expired."""
    worker = Worker(harness.deps)
    database, at = harness.deps.database, harness.clock()
    assert database.write(lambda c: idempotency_keys.record_if_new(c, "key", at=at))
    until = at + KEEP_KEYS
    database.write(lambda c: tombstones.add(c, NEW, "erin@example.com", at=at, until=until))
    worker.upkeep()
    assert not database.write(lambda c: idempotency_keys.record_if_new(c, "key", at=at))
    harness.clock.advance(KEEP_KEYS + PURGE_EVERY)
    worker.upkeep()
    assert database.write(lambda c: idempotency_keys.record_if_new(c, "key", at=harness.clock()))
    assert database.write(lambda c: tombstones.purge(c, harness.clock())) == 0


def test_ended_requests_are_deleted_after_the_retention(harness: Harness) -> None:
    """Ended requests are deleted with their votes, except those whose addresses still exist."""
    kept = harness.approve(harness.ask(), "bob")
    until = harness.clock().date() + timedelta(days=400)
    ending = harness.ask(change=Change(Action.ALIAS_ADD, "ending@example.com", last_day=until))
    harness.approve(ending, "bob")
    denied = harness.ask(change=Change(Action.ALIAS_ADD, "other@example.com"))
    harness.vote("bob", denied, approves=False)
    harness.api.patch(ALICE, emails=[ALICE, NEW, "ending@example.com", "removed@example.com"])
    removed = harness.ask(change=Change(Action.ALIAS_REMOVE, "removed@example.com"))
    harness.work()
    worker, database = Worker(harness.deps), harness.deps.database

    def stored() -> set[str]:
        worker.upkeep()
        found = {request.id for request in harness.requests_of("alice")}
        return found & {kept.id, ending.id, denied.id, removed.id}

    harness.pass_time(days=364)
    assert stored() == {kept.id, ending.id, denied.id, removed.id}
    harness.pass_time(days=2)
    assert stored() == {kept.id, ending.id}
    recorded = {(one.address, one.request) for one in database.read(holdings.everything)}
    assert ("removed@example.com", None) in recorded
    assert not database.read(lambda c: votes.on_request(c, denied.id))
    harness.pass_time(days=40)
    assert stored() == {kept.id}
    assert harness.events(denied)[-1] == "request.denied"


@pytest.mark.parametrize(
    ("tries", "most"), [(1, 2), (2, 4), (5, 32), (10, MAX_DELAY), (99, MAX_DELAY)]
)
def test_pauses_grow_to_a_limit(tries: int, most: float) -> None:
    """Pauses double up to a limit, vary slightly, and are never shorter than requested."""
    for _ in range(20):
        assert 0.8 * most <= retry_delay(tries) <= most
        assert retry_delay(tries, 5000.0) == 5000.0
