# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The executor that changes aliases and forwarders with AWX jobs.

Passwords are never sent to AWX. AWX does not support idempotency keys for launches and can't search
jobs by their variables. The executor therefore passes the request's id to each job as a variable,
and saves the template's id before the launch. After a crash or a lost response, the next attempt
searches the template's latest jobs for the request's id. If it does not find the job, it may launch
a second one, which has nothing left to do.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import Any

from postroom_bot import addresses
from postroom_bot.backends.awx_client import AwxClient, Job
from postroom_bot.backends.executor import BEFORE, FREEING, ExecutionContext, Outcome
from postroom_bot.backends.mail_api import MailApi
from postroom_bot.domain import Action, Change, Request
from postroom_bot.errors import Rejected, Unavailable

#: The variable that holds the request's id. No playbook uses this variable, but the job template's
#: survey must ask for it.
REQUEST_VARIABLE = "postroom_request"

_POLL_SECONDS = 2.0
#: The statuses of a job that has ended.
_FINAL = ("successful", "failed", "error", "canceled")

_log = logging.getLogger(__name__)


class AwxExecutor:
    """A thread-safe executor that makes changes with AWX jobs.

    :param templates: the ids of the job templates for the collection's playbooks
    :param mail: the client for the mail service, to check the state before and after a job
    :param patience: how many seconds an attempt waits for a job; the next attempt continues to wait
        for it
    :param wait: a function that waits for a number of seconds, and returns True if the process is
        stopping
    """

    def __init__(
        self,
        client: AwxClient,
        templates: Mapping[Action, int],
        mail: MailApi,
        *,
        patience: float = 300.0,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], bool],
    ) -> None:
        self._client = client
        self._templates = templates
        self._mail = mail
        self._patience = patience
        self._clock = clock
        self._wait = wait

    def execute(self, request: Request, context: ExecutionContext) -> Outcome:
        """Make the requested change with a job, unless the change is already complete.

        :raises Rejected: if the change can't be made, or the job was canceled in AWX
        :raises ValueError: if the request is for a password
        """
        notes, job = dict(request.notes), None
        if notes.get("job") is not None:
            job = self._client.job(notes["job"])
        elif "template" in notes:
            job = self._client.launched(notes["template"], REQUEST_VARIABLE, request.id)
        # An earlier attempt reported the failure, or crashed before it could. Launch another job.
        if job is None or job.status in ("failed", "error"):
            planned = self._mail.preview(request.change, notes)
            if not planned.changed:
                return planned
            template = self._templates[request.change.action]
            before, freeing = sorted(planned.before), list(planned.freed)
            notes = {"template": template, "job": None, FREEING: freeing, BEFORE: before}
            job = self._launch(request, planned.after, notes, context)
        self._watch(job, notes, context)
        done = self._mail.preview(request.change, notes)
        if done.changed:
            _log.error("AWX: job %d succeeded without making the change", job.id)
            context.save_notes({})
            raise Unavailable("awx.misconfigured")
        return done._replace(changed=True)

    def _launch(
        self,
        request: Request,
        after: AbstractSet[str],
        notes: dict[str, Any],
        context: ExecutionContext,
    ) -> Job:
        variables = {REQUEST_VARIABLE: request.id, **variables_for(request.change, after)}
        self._client.check_template(notes["template"], variables)
        context.renew()
        context.save_notes(notes)
        job, ignored = self._client.launch(notes["template"], variables)
        if ignored:
            # The collection's playbooks do nothing without their variables.
            names = ", ".join(sorted(ignored))
            _log.error("AWX: the template of job %d ignores the variables %s", job.id, names)
            context.save_notes({})
            with suppress(Unavailable):
                self._client.cancel(job.id)
            raise Unavailable("awx.misconfigured")
        notes["job"] = job.id
        context.save_notes(notes)
        return job

    def _watch(self, job: Job, notes: Mapping[str, Any], context: ExecutionContext) -> None:
        """Wait until a job succeeds, or raise Rejected or Unavailable."""
        end = self._clock() + self._patience
        while job.status not in _FINAL:
            if self._clock() >= end or self._wait(_POLL_SECONDS):
                raise Unavailable("awx.running", retry_after=_POLL_SECONDS)
            context.renew()
            job = self._client.job(job.id) or Job(job.id, "error")
        if job.status == "canceled":
            raise Rejected("awx.canceled")
        if job.status != "successful":
            reason = job.explanation or "see its output in AWX for the reason"
            _log.error("AWX: job %d ended as %s: %s", job.id, job.status, reason)
            context.save_notes({key: notes[key] for key in (FREEING, BEFORE) if key in notes})
            raise Unavailable("awx.failed")


def variables_for(change: Change, after: AbstractSet[str]) -> dict[str, str]:
    """Return the variables for the playbook that executes a change.

    All values are strings, like the answers to a survey. List items are separated by commas.

    :param after: the destinations of a forwarder after the change
    :raises Rejected: if an address is unsafe in a template
    """
    if change.action.is_alias:
        return {"mail_alias": _safe(change.target), "mail_mailbox": _safe(change.mailbox or "")}
    adds = change.action.adds
    # An addition keeps destinations that another client adds in the meantime; a removal does not.
    members = change.destinations if adds else sorted(after)
    return {
        "mail_forwarder": _safe(change.target),
        "mail_members": ",".join(map(_safe, members)),
        "mail_purge_members": "false" if adds else "true",
        "mail_state": "present" if members else "absent",
    }


def _safe(text: str) -> str:
    """Return an address, or raise Rejected if the address is unsafe in a template or a list.

    The parser validates requested addresses, but not a forwarder's existing members.
    """
    try:
        return addresses.address(text)
    except addresses.InvalidAddress:
        raise Rejected("awx.unsafe_address") from None
