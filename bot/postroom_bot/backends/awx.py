# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Execute changes of aliases and forwarders as AWX jobs. Passwords never go to AWX.

AWX has no idempotency key for launches, and jobs can't be searched by their variables. So each job
gets the request's id as a variable, and the launch is noted first; after a crash or a lost answer,
the next attempt searches the template's latest jobs for its own. If it misses one, a second job
finds nothing left to do.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn

from postroom_bot import addresses
from postroom_bot.backends.awx_client import Controller, Job
from postroom_bot.backends.base import Done, ExecutionContext
from postroom_bot.backends.mail import FREEING, Mail
from postroom_bot.domain import Action, Change, Request
from postroom_bot.errors import Rejected, Unavailable

#: The variable that identifies our jobs. No playbook uses it, but the survey must have it.
REQUEST_VARIABLE = "postroom_request"

_POLL_SECONDS = 2.0

_log = logging.getLogger(__name__)


class Templates(NamedTuple):
    """The ids of the job templates that run the collection's playbooks of these names."""

    add_alias: int
    remove_alias: int
    forwarder: int

    def of(self, action: Action) -> int:
        """Return the template of an action."""
        if action is Action.ALIAS_ADD:
            return self.add_alias
        return self.remove_alias if action is Action.ALIAS_REMOVE else self.forwarder


class Awx:
    """Executes changes as AWX jobs. Threads may share it.

    :param mail: checks the state before a job and after it
    :param patience: seconds to watch a job in one attempt; the next attempt continues
    :param clock: monotonic seconds
    :param wait: waits for seconds; returns True early if this process is stopping
    """

    def __init__(
        self,
        controller: Controller,
        templates: Templates,
        mail: Mail,
        *,
        patience: float = 300.0,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], bool],
    ) -> None:
        self._controller = controller
        self._templates = templates
        self._mail = mail
        self._patience = patience
        self._clock = clock
        self._wait = wait

    def execute(self, request: Request, context: ExecutionContext) -> Done:
        """Make the requested change with a job, unless nothing is left to do.

        :raises Rejected: the change can't be made, or the job was canceled in AWX
        :raises ValueError: it is a request for a password
        """
        notes = dict(request.progress)
        job = self._begun(request.id, notes)
        if job is None:
            planned = self._mail.rehearse(request)
            if not planned.changed:
                return planned
            notes = _notes(self._templates.of(request.change.action), planned.freed)
            job = self._launch(request, planned.ledger, notes, context)
        self._watch(job, notes, context)
        done = self._mail.rehearse(replace(request, progress=notes))
        if done.changed:
            _log.error("AWX: job %d succeeded without making the change", job.id)
            context.note({})
            raise Unavailable("awx.misconfigured")
        return done._replace(changed=True)

    def _begun(self, request: str, notes: Mapping[str, Any]) -> Job | None:
        """Return the job of an earlier attempt, unless it failed."""
        if "template" not in notes:
            return None
        if notes.get("job") is not None:
            job = self._controller.job(notes["job"])
        else:
            job = self._controller.launched(notes["template"], REQUEST_VARIABLE, request)
        # A failed job was reported, or the process crashed before that: launch another.
        return None if job is None or job.status in ("failed", "error") else job

    def _launch(
        self, request: Request, ledger: Change, notes: dict[str, Any], context: ExecutionContext
    ) -> Job:
        variables = {REQUEST_VARIABLE: request.id, **variables_for(request.change, ledger)}
        self._controller.check_template(notes["template"], variables)
        context.renew()
        context.note(notes)
        job, ignored = self._controller.launch(notes["template"], variables)
        if ignored:
            self._give_up(job, ignored, context)
        notes["job"] = job.id
        context.note(notes)
        return job

    def _give_up(self, job: Job, ignored: frozenset[str], context: ExecutionContext) -> NoReturn:
        """Cancel a job that lacks variables; our playbooks do nothing without them anyway."""
        _log.error("AWX: the template of job %d ignores %s", job.id, ", ".join(sorted(ignored)))
        context.note({})
        with suppress(Unavailable):
            self._controller.cancel(job.id)
        raise Unavailable("awx.misconfigured")

    def _watch(self, job: Job, notes: Mapping[str, Any], context: ExecutionContext) -> None:
        """Wait for a job to succeed."""
        end = self._clock() + self._patience
        while not job.has_ended:
            if self._clock() >= end or self._wait(_POLL_SECONDS):
                raise Unavailable("awx.running", retry_after=_POLL_SECONDS)
            context.renew()
            job = self._controller.job(job.id) or Job(job.id, "error")
        if job.status == "canceled":
            raise Rejected("awx.canceled")
        if job.status != "successful":
            reason = job.explanation or "its output in AWX has the reason"
            _log.error("AWX: job %d ended as %s: %s", job.id, job.status, reason)
            context.note({key: value for key, value in notes.items() if key == FREEING})
            raise Unavailable("awx.failed")


def variables_for(change: Change, ledger: Change) -> dict[str, str]:
    """Return the variables of the playbook that executes a change.

    All are strings, as in a survey's answers; lists are separated by commas.

    :param ledger: as in Done
    :raises Rejected: an address is not safe in a template
    """
    if change.action in (Action.ALIAS_ADD, Action.ALIAS_REMOVE):
        return {"mail_alias": _safe(change.target), "mail_mailbox": _safe(change.mailbox or "")}
    adds = change.action is Action.FORWARD_ADD
    # Concurrent additions are kept, unless destinations are removed.
    members = change.destinations if adds else ledger.destinations
    return {
        "mail_forwarder": _safe(change.target),
        "mail_members": ",".join(map(_safe, members)),
        "mail_purge_members": "false" if adds else "true",
        "mail_state": "present" if members else "absent",
    }


def _safe(text: str) -> str:
    """Return an address if it has no characters that are special in a template or a list.

    Requested addresses were validated by the parser, but existing members of a forwarder were not.
    """
    try:
        return addresses.address(text)
    except addresses.InvalidAddress:
        raise Rejected("awx.unsafe_address") from None


def _notes(template: int, freed: tuple[str, ...]) -> dict[str, Any]:
    return {"template": template, "job": None, FREEING: list(freed)}
