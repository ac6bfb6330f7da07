# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Carrying wishes out by jobs of AWX, for aliases and forwarders. Passwords never go there.

AWX has no key by which a launch could be repeated safely, and jobs can't be searched by their
variables. So each job is given the request's id, and what is about to be launched is noted first;
a try after a crash or a lost answer looks through the template's latest jobs for its own. Should
it miss one, a second job finds nothing left to do.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn

from postroom_bot import addresses
from postroom_bot.backends.awx_client import NOT_SET_UP, Controller, Job
from postroom_bot.backends.base import Done, ExecutionContext
from postroom_bot.backends.mail import FREEING, Mail
from postroom_bot.domain import Action, Change, Request
from postroom_bot.errors import Rejected, Unavailable

#: The variable that tells our jobs from others. No playbook uses it; a survey has to have it.
REQUEST_VARIABLE = "postroom_request"

_BETWEEN_LOOKS = 2.0

_log = logging.getLogger(__name__)


class Templates(NamedTuple):
    """The numbers of the job templates that run the collection's playbooks of these names."""

    add_alias: int
    remove_alias: int
    forwarder: int

    def of(self, action: Action) -> int:
        """Return the one for an action."""
        if action is Action.ALIAS_ADD:
            return self.add_alias
        return self.remove_alias if action is Action.ALIAS_REMOVE else self.forwarder


class Awx:
    """Has AWX carry wishes out. Threads may share it.

    :param mail: what is looked at before a job and after it
    :param patience: seconds to watch a job in one go; a later try goes on watching
    :param clock: tells the seconds
    :param wait: waits for seconds, or less and tells so where this process is to end
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
        """Make the tenant what the request says, by a job unless it is so already.

        :raises Rejected: it can't be done, or somebody canceled the job in AWX
        :raises ValueError: it is a request for a password
        """
        notes = dict(request.progress)
        job = self._begun(request.id, notes)
        if job is None:
            planned = self._mail.rehearse(request)
            if not planned.changed:
                return planned
            notes = _notes(self._templates.of(request.change.action), planned.freed)
            job = self._launch(request, planned.stands, notes, context)
        self._watch(job, notes, context)
        done = self._mail.rehearse(replace(request, progress=notes))
        if done.changed:
            _log.error("AWX: job %d was successful and did not do what it is for", job.id)
            context.note({})
            raise Unavailable(NOT_SET_UP)
        return done._replace(changed=True)

    def _begun(self, request: str, notes: Mapping[str, Any]) -> Job | None:
        """Return the job of an earlier try that is still to be heeded."""
        if "template" not in notes:
            return None
        if notes.get("job") is not None:
            job = self._controller.job(notes["job"])
        else:
            job = self._controller.launched(notes["template"], REQUEST_VARIABLE, request)
        # One that failed has been told of, or its teller went down: there may be another.
        return None if job is None or job.status in ("failed", "error") else job

    def _launch(
        self, request: Request, stands: Change, notes: dict[str, Any], context: ExecutionContext
    ) -> Job:
        variables = {REQUEST_VARIABLE: request.id, **variables_for(request.change, stands)}
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
        """Stop a job that lacks variables; our playbooks do nothing without them anyway."""
        _log.error("AWX: the template of job %d ignores %s", job.id, ", ".join(sorted(ignored)))
        context.note({})
        with suppress(Unavailable):
            self._controller.cancel(job.id)
        raise Unavailable(NOT_SET_UP)

    def _watch(self, job: Job, notes: Mapping[str, Any], context: ExecutionContext) -> None:
        """Wait for a job to be successful."""
        end = self._clock() + self._patience
        while not job.has_ended:
            if self._clock() >= end or self._wait(_BETWEEN_LOOKS):
                raise Unavailable("The automation is still at work.", retry_after=_BETWEEN_LOOKS)
            context.renew()
            job = self._controller.job(job.id) or Job(job.id, "error")
        if job.status == "canceled":
            raise Rejected("Somebody stopped the automation. Ask an administrator.")
        if job.status != "successful":
            reason = job.explanation or "its output in AWX has the reason"
            _log.error("AWX: job %d ended as %s: %s", job.id, job.status, reason)
            context.note({key: value for key, value in notes.items() if key == FREEING})
            raise Unavailable("The automation failed.")


def variables_for(change: Change, stands: Change) -> dict[str, str]:
    """Return the variables of the playbook that carries a wish out.

    Texts all, for that is what a survey's answers are; a list is separated by commas.

    :param stands: what is to be so, as in Done
    :raises Rejected: an address is not one to give to a program that takes texts for templates
    """
    if change.action in (Action.ALIAS_ADD, Action.ALIAS_REMOVE):
        return {"mail_alias": _safe(change.target), "mail_mailbox": _safe(change.mailbox or "")}
    adds = change.action is Action.FORWARD_ADD
    # What others add meanwhile stays, unless something is to go.
    members = change.destinations if adds else stands.destinations
    return {
        "mail_forwarder": _safe(change.target),
        "mail_members": ",".join(map(_safe, members)),
        "mail_purge_members": "false" if adds else "true",
        "mail_state": "present" if members else "absent",
    }


def _safe(text: str) -> str:
    """Return an address if there is nothing in it that means something to a template or a list.

    Wishes are checked when they are read, but a forwarder's members may be anybody's work.
    """
    try:
        return addresses.address(text)
    except addresses.InvalidAddress:
        raise Rejected(
            "The automation can't take one of the addresses. Ask an administrator."
        ) from None


def _notes(template: int, freed: tuple[str, ...]) -> dict[str, Any]:
    return {"template": template, "job": None, FREEING: list(freed)}
