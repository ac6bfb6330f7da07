# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Carrying out a tenant's plan, several changes at a time.

One stage after the other; within a stage changes do not depend on each other and threads share
them. A change that fails stops those that stand on it and no others, unless the service is gone.
Edits are confirmed all at once, with one list at the end of their stage.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import NamedTuple, TypeVar

from .. import errors
from ..client.client import Client
from ..models import Domain, Edit, Foreign, Principal, spelled
from ..names import Name
from .apply_one import delete_planned
from .changes import Change
from .steps import TenantPlan

T = TypeVar("T")

CHANGED, UNCHANGED, FAILED, NOT_ATTEMPTED = "changed", "unchanged", "failed", "not_attempted"

#: After one of these no other change can succeed.
_FATAL = (errors.Unauthorized, errors.UntrustedCertificate)
#: The service did not answer, or not with sense.
_SILENCE = (
    errors.Unreachable,
    errors.ConnectionBroken,
    errors.ServerFailed,
    errors.BadAnswer,
    errors.Throttled,
    errors.ProxyRefused,
    errors.DeadlineExceeded,
    errors.LostUpdate,
)
_MOST_SILENT = 16

#: Is told, as the work goes on, how many changes are through and how many there are.
Report = Callable[[int, int], None]


class Result(NamedTuple):
    """What became of one step.

    :param outcome: CHANGED, FAILED, NOT_ATTEMPTED, or UNCHANGED where someone else did it
    :param error: why it failed
    :param span: of an edit, the seconds between its reading and its writing
    """

    outcome: str
    reason: str
    error: errors.PostroomError | None = None
    span: float = 0.0

    @property
    def wrote(self) -> bool:
        """Whether it was written, though how it stands now may not be known."""
        return self.outcome == CHANGED or (self.error is not None and self.error.wrote)


def carry_out(
    client: Client, plan: TenantPlan, *, concurrency: int, report: Report | None = None
) -> list[Result]:
    """Carry out a plan as far as possible. Return what became of each step.

    :param client: its time is what each single change gets
    :param concurrency: how many changes are under way at a time
    """
    run = _Run(client, plan, concurrency, report)
    for positions in plan.stages():
        run.stage(positions)
    return run.results


class _Run:
    def __init__(
        self, client: Client, plan: TenantPlan, concurrency: int, report: Report | None
    ) -> None:
        self._client = client
        self._plan = plan
        self._concurrency = concurrency
        self._report = report
        self.results = [Result(NOT_ATTEMPTED, "")] * len(plan.steps)
        self._through = 0
        #: How many failed in a row without an answer.
        self._silent = 0
        #: Why nothing more is attempted, once that is so.
        self._stopped: str | None = None
        self._longest_span = 0.0

    def stage(self, positions: list[int]) -> None:
        """Carry out the steps of one stage."""
        ready = [position for position in positions if self._is_ready(position)]
        self._tell(len(positions) - len(ready))
        self._each(ready, self._attempt)
        self._confirm([p for p in ready if self.results[p].outcome == CHANGED])
        self._give_back(positions)

    def _is_ready(self, position: int) -> bool:
        for need in self._plan.steps[position].needs:
            if self.results[need].outcome not in (CHANGED, UNCHANGED):
                subject = self._plan.steps[need].change.subject
                reason = f"it needs the {subject.kind} {subject.name} to be changed first"
                self.results[position] = Result(NOT_ATTEMPTED, reason)
                return False
        return True

    def _each(self, positions: list[int], action: Callable[[int], Result]) -> None:
        """Do something for each position, several at a time, and note what came of it."""
        self._share(positions, action, self._note)

    def _share(
        self, items: Iterable[int], action: Callable[[int], T], note: Callable[[int, T], None]
    ) -> None:
        """Do something for each item in threads, and note what came of it in this one.

        Few are handed out ahead, so that an interruption finds little that has not begun.
        """
        waiting = iter(items)
        running: dict[Future[T], int] = {}
        with ThreadPoolExecutor(self._concurrency) as pool:
            try:
                while True:
                    for item in islice(waiting, 2 * self._concurrency - len(running)):
                        running[pool.submit(action, item)] = item
                    if not running:
                        return
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        note(running.pop(future), future.result())
            except BaseException:
                # What has not begun must not begin, and nobody waits for a turn any more.
                self._client.halt()
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _note(self, position: int, result: Result) -> None:
        self.results[position] = result
        self._longest_span = max(self._longest_span, result.span)
        self._tell(1)
        if result.outcome in (CHANGED, UNCHANGED):
            self._silent = 0
        elif result.error is not None:
            self._learn(result.error)

    def _tell(self, more: int) -> None:
        """Report that so many more are through."""
        self._through += more
        if more and self._report is not None:
            self._report(self._through, len(self.results))

    def _learn(self, error: errors.PostroomError) -> None:
        """Stop where an error says that no other change can succeed."""
        pause = error.retry_after if isinstance(error, errors.ServiceError) else None
        if isinstance(error, _FATAL) or (pause or 0) >= self._client.timeout:
            self._stopped = f"the service refuses all of it: {error}"
        elif isinstance(error, _SILENCE):
            self._silent += 1
            if self._silent >= max(_MOST_SILENT, 2 * self._concurrency):
                self._stopped = f"many in a row came to nothing, the last so: {error}"
        else:
            # The service has answered, and others may be answered better.
            self._silent = 0

    def _attempt(self, position: int) -> Result:
        change = self._plan.steps[position].change
        if self._stopped is not None:
            return Result(NOT_ATTEMPTED, self._stopped)
        try:
            span = self._carry_out(change, self._patient())
        except errors.CreatedMeanwhile:
            return Result(UNCHANGED, "another client created it at the same time, as declared")
        except errors.PostroomError as error:
            if isinstance(error, _FATAL):
                # Before this thread begins with another one.
                self._learn(error)
            return Result(FAILED, str(error), error)
        return Result(CHANGED, change.reason, span=span)

    def _patient(self) -> Client:
        """Return a client for one change."""
        return self._client.with_time(self._client.timeout, is_patient=True)

    def _carry_out(self, change: Change, client: Client) -> float:
        """Carry out a change. Return how long an edit was under way, for its confirmation."""
        if change.action == "create" and change.after is not None:
            try:
                client.create(change.after, change.secrets)
            except errors.CreatedMeanwhile:
                if not change.sets_always:
                    raise
                client.write_edit(change.subject.name, change.edit, change.secrets)
        elif change.action == "delete":
            delete_planned(client, change)
        else:
            started = client.now()
            client.write_edit(change.subject.name, change.edit, change.secrets)
            return client.now() - started
        return 0.0

    def _confirm(self, positions: list[int]) -> None:
        """See that edits stand when other writers have had time to write; repeat those that don't.

        :param positions: steps that were carried out, of any kind
        """
        steps = self._plan.steps
        edits = [p for p in positions if steps[p].change.edit != Edit()]
        if not edits:
            return
        client = self._patient()
        client.settle(self._longest_span)
        try:
            held = {principal.name: principal for principal in client.list_principals()}
        except errors.PostroomError as error:
            text = f"It was written, but how it stands now is not known. {error}"
            error.wrote = True
            for position in edits:
                self.results[position] = Result(FAILED, text, error)
            return
        undone = [p for p in edits if not _stands(steps[p].change, held)]
        self._through -= len(undone)
        self._each(undone, self._repair)

    def _repair(self, position: int) -> Result:
        change = self._plan.steps[position].change
        try:
            self._patient().edit(change.subject.name, change.edit)
        except errors.PostroomError as error:
            # Once it was, and its passwords still are.
            error.wrote = True
            return Result(FAILED, str(error), error)
        return Result(CHANGED, change.reason)

    def _give_back(self, positions: Iterable[int]) -> None:
        """Give addresses back whose new holder could not take them, several at a time."""
        debts: dict[int, dict[int, frozenset[Name]]] = defaultdict(dict)
        for position in positions:
            step, result = self._plan.steps[position], self.results[position]
            # What was written may hold them, even where nobody knows how it stands.
            if result.wrote or result.outcome == UNCHANGED:
                continue
            for need in step.needs:
                lost = _claims(step.change) & self._plan.steps[need].change.edit.remove_aliases
                if not lost or not self.results[need].wrote:
                    continue
                if result.error is not None and result.error.unsure:
                    self._add(position, f"Who has {_listed(lost)} now is not known. Run again.")
                else:
                    debts[need][position] = lost
        self._share(
            debts,
            lambda giver: self._return(giver, frozenset().union(*debts[giver].values())),
            lambda giver, is_back: self._note_return(giver, debts[giver], is_back=is_back),
        )

    def _return(self, position: int, addresses: frozenset[Name]) -> bool:
        """Return addresses to who gave them up, and tell whether that succeeded."""
        name = self._plan.steps[position].change.subject.name
        return self._stopped is None and self._edits(name, Edit(add_aliases=addresses))

    def _note_return(self, giver: int, debts: dict[int, frozenset[Name]], *, is_back: bool) -> None:
        change = self._plan.steps[giver].change
        for position, lost in debts.items():
            names = _listed(lost)
            told = f"{names} was given back to {change.subject.name}."
            if not is_back:
                told = (
                    f"{names} could not be given back to {change.subject.name} and may deliver "
                    "nowhere now. Run again."
                )
            self._add(position, told)
        returned = frozenset().union(*debts.values())
        if is_back and returned == change.edit.remove_aliases:
            self.results[giver] = Result(NOT_ATTEMPTED, "what it gave up was given back")
        elif is_back:
            self._add(giver, f"{_listed(returned)} was given back.")

    def _edits(self, name: Name, edit: Edit) -> bool:
        try:
            self._patient().edit(name, edit)
        except errors.PostroomError as error:
            self._learn(error)
            return False
        return True

    def _add(self, position: int, sentence: str) -> None:
        result = self.results[position]
        reason = f"{result.reason.removesuffix('.')}. {sentence}"
        self.results[position] = result._replace(reason=reason)


def _stands(change: Change, held: dict[Name, Principal]) -> bool:
    found = held.get(change.subject.name)
    if found is None or isinstance(found, (Domain, Foreign)):
        return False
    return change.edit.applied_to(found) == found


def _listed(names: frozenset[Name]) -> str:
    return ", ".join(spelled(names))


def _claims(change: Change) -> frozenset[Name]:
    """Return the addresses that a change gives its subject."""
    before = change.before.addresses if change.before else frozenset()
    after = change.after.addresses if change.after else frozenset()
    return after - before
