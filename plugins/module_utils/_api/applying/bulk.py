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
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import NamedTuple

from .. import errors
from ..models import Domain, Edit, Foreign, Principal, spelled
from ..names import Name
from ..planning.changes import Change
from ..planning.steps import FREE, TenantPlan
from ..wire.client import Client
from .converge import delete_planned

CHANGED, FAILED, NOT_ATTEMPTED = "changed", "failed", "not_attempted"

#: After one of these no other change can succeed.
_FATAL = (errors.Unauthorized, errors.UntrustedCertificate)
#: The service did not answer, or not with sense.
_SILENCE = (
    errors.Unreachable,
    errors.ConnectionBroken,
    errors.ServerFailed,
    errors.BadAnswer,
    errors.Throttled,
    errors.DeadlineExceeded,
    errors.LostUpdate,
)
_MOST_SILENT = 16

#: Is told, as the work goes on, how many changes are through and how many there are.
Report = Callable[[int, int], None]


class Result(NamedTuple):
    """What became of one step.

    :param outcome: CHANGED, FAILED or NOT_ATTEMPTED
    :param error: why it failed
    """

    outcome: str
    reason: str
    error: errors.PostroomError | None = None

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
        #: What was given back of the addresses that a step had freed.
        self._returned: dict[int, frozenset[Name]] = defaultdict(frozenset)
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
            if self.results[need].outcome != CHANGED:
                subject = self._plan.steps[need].change.subject
                reason = f"it needs the {subject.kind} {subject.name} to be changed first"
                self.results[position] = Result(NOT_ATTEMPTED, reason)
                return False
        return True

    def _each(self, positions: list[int], action: Callable[[int], Result]) -> None:
        """Do something for each position, several at a time, and note what came of it."""
        if not positions:
            return
        with ThreadPoolExecutor(min(self._concurrency, len(positions))) as pool:
            futures = {pool.submit(action, position): position for position in positions}
            try:
                for future in as_completed(futures):
                    self._note(futures[future], future.result())
            except BaseException:
                # The task was interrupted: what has not begun must not begin.
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _note(self, position: int, result: Result) -> None:
        self.results[position] = result
        self._tell(1)
        if result.outcome == CHANGED:
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
        if isinstance(error, _FATAL):
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
            self._carry_out(change, self._patient())
        except errors.PostroomError as error:
            if isinstance(error, _FATAL):
                # Before this thread begins with another one.
                self._learn(error)
            return Result(FAILED, str(error), error)
        return Result(CHANGED, change.reason)

    def _patient(self) -> Client:
        """Return a client for one change."""
        return self._client.with_time(self._client.timeout, is_patient=True)

    def _carry_out(self, change: Change, client: Client) -> None:
        if change.action == "create" and change.after is not None:
            client.create(change.after, change.secrets)
        elif change.action == "delete":
            delete_planned(client, change)
        else:
            started = client.now()
            client.write_edit(change.subject.name, change.edit, change.secrets)
            self._longest_span = max(self._longest_span, client.now() - started)

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
            return Result(FAILED, str(error), error)
        return Result(CHANGED, change.reason)

    def _give_back(self, positions: Iterable[int]) -> None:
        """Give addresses back whose new holder could not take them."""
        steps = self._plan.steps
        for position in positions:
            # What was written may hold them, even where nobody knows how it stands.
            if self.results[position].wrote:
                continue
            for need in steps[position].needs:
                if steps[need].stage == FREE and steps[need].change.action == "update":
                    lost = _claims(steps[position].change) & steps[need].change.edit.remove_aliases
                    self._add(position, self._return(need, lost))

    def _return(self, position: int, addresses: frozenset[Name]) -> str:
        """Return addresses to who gave them up. Tell in a sentence how it went."""
        if not addresses or not self.results[position].wrote:
            return ""
        change = self._plan.steps[position].change
        names = ", ".join(spelled(addresses))
        if self._stopped is not None or not self._edits(
            change.subject.name, Edit(add_aliases=addresses)
        ):
            return (
                f"{names} could not be given back to {change.subject.name} and may deliver "
                "nowhere now. Run again."
            )
        self._returned[position] |= addresses
        if self._returned[position] == change.edit.remove_aliases:
            self.results[position] = Result(NOT_ATTEMPTED, "what it gave up was given back")
        else:
            self._add(position, f"{names} was given back.")
        return f"{names} was given back to {change.subject.name}."

    def _edits(self, name: Name, edit: Edit) -> bool:
        try:
            self._patient().edit(name, edit)
        except errors.PostroomError as error:
            self._learn(error)
            return False
        return True

    def _add(self, position: int, sentence: str) -> None:
        result = self.results[position]
        if sentence:
            reason = f"{result.reason.removesuffix('.')}. {sentence}"
            self.results[position] = result._replace(reason=reason)


def _stands(change: Change, held: dict[Name, Principal]) -> bool:
    found = held.get(change.subject.name)
    if found is None or isinstance(found, (Domain, Foreign)):
        return False
    return change.edit.applied_to(found) == found


def _claims(change: Change) -> frozenset[Name]:
    """Return the addresses that a change gives its subject."""
    before = change.before.addresses if change.before else frozenset()
    after = change.after.addresses if change.after else frozenset()
    return after - before
