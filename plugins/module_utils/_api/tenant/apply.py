# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Apply a plan, several changes at a time.

Stages are applied in sequence. The changes in a stage don't depend on each other, so several
threads can apply them. If a change fails, only the changes that depend on it are skipped. If the
service becomes unusable, all remaining changes are skipped.

Other clients may write at the same time, so each edit is verified, and repeated if it was lost. If
an address can't be moved, it is given back to its owner.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from queue import SimpleQueue
from typing import NamedTuple, TypeVar

from .. import errors
from ..client.client import Client
from ..models import NO_EDIT, Domain, Edit, Individual, Principal, spelled
from ..names import Name
from .plan import Change, Plan
from .state import Occupant, TenantState

T = TypeVar("T")

CHANGED, UNCHANGED, FAILED, NOT_ATTEMPTED = "changed", "unchanged", "failed", "not_attempted"

#: Errors after which no other change can succeed.
_FATAL = (errors.Unauthorized, errors.UntrustedCertificate)
#: Errors without a usable response. Too many of these errors in a row stop the run.
_NO_ANSWER = (
    errors.Unreachable,
    errors.ConnectionBroken,
    errors.ServerFailed,
    errors.BadAnswer,
    errors.Throttled,
    errors.ProxyRefused,
    errors.DeadlineExceeded,
    errors.LostUpdate,
)
_MAX_WITHOUT_ANSWER = 16
#: The timeout for undoing an incomplete move, in seconds, in addition to the task's timeout.
_RESTORE_TIMEOUT = 10.0

#: A function that is called with the number of finished changes and the number of all changes.
Report = Callable[[int, int], None]


class Result(NamedTuple):
    """The result of one change.

    :param outcome: CHANGED, FAILED, NOT_ATTEMPTED, or UNCHANGED if another client made the change
    :param principal: the principal as the service returned it after the change
    :param span: the seconds between the GET and the PATCH of an edit
    :param written: whether a failed change was written
    """

    outcome: str
    reason: str
    error: errors.PostroomError | None = None
    principal: Principal | None = None
    span: float = 0.0
    written: bool = False

    @property
    def wrote(self) -> bool:
        """Whether the change was written, even if the principal's current state is unknown."""
        return self.outcome == CHANGED or self.written


def apply_plan(
    client: Client,
    plan: Plan,
    *,
    concurrency: int = 1,
    deadline_per_change: bool = False,
    report: Report | None = None,
) -> list[Result]:
    """Apply a plan as far as possible and return the result of each change.

    :param deadline_per_change: whether each change gets the client's timeout; otherwise, all
        changes share the client's deadline, and ``concurrency`` must be 1
    """
    run = _Run(client, plan.changes, concurrency, deadline_per_change, report)
    for positions in plan.stages():
        run.stage(positions)
    return run.results


@dataclass
class _Run:
    client: Client
    changes: Sequence[Change]
    concurrency: int
    deadline_per_change: bool
    report: Report | None
    finished: int = 0
    #: The number of consecutive changes that failed without a usable response.
    without_answer: int = 0
    #: The reason why no more changes are attempted, or None.
    stopped: str | None = None
    longest_span: float = 0.0

    def __post_init__(self) -> None:
        self.results = [Result(NOT_ATTEMPTED, "")] * len(self.changes)

    def stage(self, positions: list[int]) -> None:
        """Apply the changes of a stage, verify its edits and undo failed moves."""
        ready = [position for position in positions if self._is_ready(position)]
        self._count(len(positions) - len(ready))
        subjects = [self.changes[p].before for p in ready if self.changes[p].action == "delete"]
        domains = [each.name for each in subjects if isinstance(each, Domain)]
        occupants: dict[Name, list[Occupant]] = {}
        try:
            if domains:
                # A new list includes objects created since planning, which must not be deleted.
                now = TenantState(principals=self._new_client().list_principals())
                occupants = now.occupants(domains)
        except errors.PostroomError as error:
            for position in ready:
                self._note(position, Result(FAILED, str(error), error))
            return
        self._for_each(ready, lambda position: self._attempt(position, occupants), self._note)
        self._confirm(ready)
        self._give_back(positions)

    def _is_ready(self, position: int) -> bool:
        for need in self.changes[position].needs:
            if self.results[need].outcome not in (CHANGED, UNCHANGED):
                subject = self.changes[need].subject
                reason = f"it needs the {subject.kind} {subject.name} to be changed first"
                self.results[position] = Result(NOT_ATTEMPTED, reason)
                return False
        return True

    def _for_each(
        self, items: Collection[int], action: Callable[[int], T], note: Callable[[int, T], None]
    ) -> None:
        """Pass each item to ``action``, concurrently if there are several, and call ``note``.

        ``note`` is only called in this thread.
        """
        if self.concurrency == 1 or len(items) == 1:
            for item in items:
                note(item, action(item))
            return
        waiting = iter(items)
        running: dict[Future[T], int] = {}
        done: SimpleQueue[Future[T]] = SimpleQueue()
        with ThreadPoolExecutor(self.concurrency) as pool:
            try:
                while True:
                    # Submit only a few items ahead, so that an interrupt can cancel the rest.
                    for item in islice(waiting, 2 * self.concurrency - len(running)):
                        future = pool.submit(action, item)
                        running[future] = item
                        future.add_done_callback(done.put)
                    if not running:
                        return
                    future = done.get()
                    note(running.pop(future), future.result())
            except BaseException:
                self.client.pacing.cancel()
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _note(self, position: int, result: Result) -> None:
        self.results[position] = result
        self.longest_span = max(self.longest_span, result.span)
        self._count(1)
        if result.outcome in (CHANGED, UNCHANGED):
            self.without_answer = 0
        elif result.error is not None:
            self._learn(result.error)

    def _count(self, more: int) -> None:
        """Add to the number of finished changes and report it."""
        self.finished += more
        if more and self.report is not None:
            self.report(self.finished, len(self.results))

    def _learn(self, error: errors.PostroomError) -> None:
        """Stop the run if an error means that no other change can succeed."""
        pause = error.retry_after if isinstance(error, errors.ServiceError) else None
        if isinstance(error, _FATAL) or (pause or 0) >= self.client.pacing.timeout:
            self.stopped = f"the service refuses every request: {error}"
        elif isinstance(error, _NO_ANSWER):
            self.without_answer += 1
            if self.without_answer >= max(_MAX_WITHOUT_ANSWER, 2 * self.concurrency):
                self.stopped = (
                    f"too many changes in a row failed without a result. The last error: {error}"
                )
        else:
            self.without_answer = 0

    def _new_client(self) -> Client:
        if not self.deadline_per_change:
            return self.client
        return self.client.with_new_deadline(extend_when_throttled=True)

    def _attempt(self, position: int, occupants: Mapping[Name, list[Occupant]]) -> Result:
        """Apply a change.

        :param occupants: the principals that use the domains to be deleted in this stage
        """
        if self.stopped is not None:
            return Result(NOT_ATTEMPTED, self.stopped)
        change, client = self.changes[position], self._new_client()
        started = client.pacing.clock()
        principal: Principal | None = None
        try:
            if change.action == "create":
                try:
                    principal = client.create(change.subject, change.secrets)
                except errors.CreatedMeanwhile:
                    if not change.set_if_created_meanwhile:
                        reason = "another client created it at the same time, as declared"
                        return Result(UNCHANGED, reason, principal=change.after)
                    client.edit_once(change.subject.name, NO_EDIT, change.secrets)
                    principal = change.subject
            elif change.action == "update":
                principal = client.edit_once(change.subject.name, change.edit, change.secrets)[0]
            else:
                self._delete(client, change.subject, occupants)
        except errors.PostroomError as error:
            if isinstance(error, _FATAL):
                # Stop now, before this thread starts another change.
                self._learn(error)
            return Result(FAILED, str(error), error, written=error.wrote)
        span = client.pacing.clock() - started if change.action == "update" else 0.0
        return Result(CHANGED, change.reason, principal=principal, span=span)

    def _delete(
        self, client: Client, subject: Principal, occupants: Mapping[Name, list[Occupant]]
    ) -> None:
        """Read a principal again and delete it if it still matches the plan."""
        now = client.find(subject.name)
        if now is None:
            return
        if now.kind != subject.kind:
            raise errors.Refused(
                f"{now.name} is a {now.kind} now, but the plan was to delete a {subject.kind}. It "
                "was not deleted. Run again."
            )
        if now.name in occupants:
            first = occupants[now.name][0].principal
            raise errors.Refused(
                f"The domain {now.name} was not deleted, because the {first.kind} {first.name} "
                "uses it now. Run again."
            )
        client.delete(now.name)

    def _confirm(self, positions: list[int]) -> None:
        """Verify edits once other clients have had time to overwrite them. Repeat lost edits."""
        applied = [p for p in positions if self.results[p].outcome == CHANGED]
        edits = [p for p in applied if self.changes[p].edit != NO_EDIT]
        if not edits:
            return
        client = self._new_client()
        current: dict[Name, Principal | None]
        try:
            client.wait_to_verify(self.longest_span)
            if len(edits) == 1:
                name = self.changes[edits[0]].subject.name
                current = {name: client.find(name)}
            else:
                current = {principal.name: principal for principal in client.list_principals()}
        except errors.PostroomError as error:
            text = f"It was written, but its current state is unknown. {error}"
            error.add("The state of the objects written before this request is unknown.")
            for position in edits:
                self.results[position] = Result(FAILED, text, error, written=True)
            return
        lost = []
        for position in edits:
            change = self.changes[position]
            found = current.get(change.subject.name)
            if isinstance(found, Individual) and change.edit.applied_to(found) == found:
                self.results[position] = self.results[position]._replace(principal=found)
            else:
                lost.append(position)
        self.finished -= len(lost)
        self._for_each(lost, self._repair, self._note)

    def _repair(self, position: int) -> Result:
        change = self.changes[position]
        try:
            principal = self._new_client().edit(change.subject.name, change.edit)
        except errors.PostroomError as error:
            # The object was already written, so its passwords are still set.
            error.add(f"{change.subject.name} was written, but its current state is unknown.")
            return Result(FAILED, str(error), error, written=True)
        return Result(CHANGED, change.reason, principal=principal)

    def _give_back(self, positions: Iterable[int]) -> None:
        """Give addresses back to their previous owners if their new owners did not get them."""
        debts: dict[int, dict[int, frozenset[Name]]] = defaultdict(dict)
        for position in positions:
            change, result = self.changes[position], self.results[position]
            # If the change was written, the new owner may have the addresses.
            if result.wrote or result.outcome == UNCHANGED:
                continue
            for need in change.needs:
                lost = change.claimed & self.changes[need].edit.remove_aliases
                if not lost or not self.results[need].wrote:
                    continue
                if result.error is not None and result.error.unsure:
                    self._add(position, f"The owner of {_listed(lost)} is unknown. Run again.")
                else:
                    debts[need][position] = lost
        self._for_each(
            debts,
            lambda giver: self._return(giver, frozenset().union(*debts[giver].values())),
            lambda giver, is_back: self._note_return(giver, debts[giver], is_back=is_back),
        )

    def _return(self, position: int, addresses: frozenset[Name]) -> bool:
        """Give addresses back to their former owner and return whether that succeeded."""
        if self.stopped is not None and self.deadline_per_change:
            return False
        # The shared deadline may have passed.
        client = self.client.with_new_deadline(
            None if self.deadline_per_change else _RESTORE_TIMEOUT,
            extend_when_throttled=True,
        )
        try:
            client.edit(self.changes[position].subject.name, Edit(add_aliases=addresses))
        except errors.PostroomError as error:
            self._learn(error)
            return False
        return True

    def _note_return(self, giver: int, debts: dict[int, frozenset[Name]], *, is_back: bool) -> None:
        change = self.changes[giver]
        end = "could not be given back to {}, and mail to it may bounce now. Run again."
        if is_back:
            end = "was given back to {}."
        for position, lost in debts.items():
            self._add(position, f"{_listed(lost)} {end.format(change.subject.name)}")
        returned = frozenset().union(*debts.values())
        if is_back:
            self._add(giver, f"{_listed(returned)} was given back.")
        if is_back and returned == change.edit.remove_aliases:
            error = self.results[giver].error
            self.results[giver] = Result(NOT_ATTEMPTED, "its addresses were given back", error)

    def _add(self, position: int, sentence: str) -> None:
        result = self.results[position]
        if result.error is not None:
            result.error.add(sentence)
        reason = f"{result.reason.removesuffix('.')}. {sentence}"
        self.results[position] = result._replace(reason=reason)


def _listed(names: frozenset[Name]) -> str:
    return ", ".join(spelled(names))
