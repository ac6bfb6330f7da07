# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The executor that changes aliases and forwarders with AWX jobs, and the client of the AWX API.

Passwords are never sent to AWX. AWX does not support idempotency keys for launches and can't search
jobs by their variables. Therefore, each job gets the request's id as a variable, and a note is
saved before the launch. After a crash or a lost response, the next attempt searches the template's
latest jobs for the request's id. If the search misses the job, a second job is launched, which
finds nothing left to do.
"""

from __future__ import annotations

import json
import logging
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import httpx
from pydantic import SecretStr

from postroom_bot import addresses
from postroom_bot.backends.executor import FREEING, ExecutionContext, Outcome
from postroom_bot.backends.mail_service import Mail
from postroom_bot.domain import Action, Change, Request
from postroom_bot.errors import Rejected, Unavailable

#: The variable that holds the request's id. No playbook uses this variable, but the job template's
#: survey must ask for it.
REQUEST_VARIABLE = "postroom_request"

_POLL_SECONDS = 2.0
#: The statuses of a job that has ended.
_FINAL = ("successful", "failed", "error", "canceled")
#: The number of jobs per page, and the maximum number of pages to search for a job.
_PAGE = 50
_MAX_PAGES = 10

_log = logging.getLogger(__name__)


class Job(NamedTuple):
    """An AWX job.

    :param status: the status that AWX reports, such as ``running`` or ``successful``
    :param explanation: why the playbook didn't run, such as a failed project update
    """

    id: int
    status: str
    explanation: str = ""


class AwxClient:
    """A thread-safe client for the AWX API.

    Every method may raise Unavailable, after logging the details.

    :param login: a personal access token, or a user name and a password
    :param timeout: the timeout for each network operation, in seconds
    :raises ValueError: if the URL, the login or the file is invalid
    """

    def __init__(
        self,
        url: str,
        login: SecretStr | tuple[str, SecretStr],
        *,
        verify: bool = True,
        ca_path: str | None = None,
        timeout: float = 10.0,
    ) -> None:
        headers = {"accept": "application/json", "user-agent": "postroom"}
        auth = None
        if isinstance(login, SecretStr):
            token = login.get_secret_value()
            if not token.isascii() or not token.isprintable() or not token.strip():
                raise ValueError("awx_token is empty or contains characters that are not allowed.")
            headers["authorization"] = f"Bearer {token}"
        else:
            auth = httpx.BasicAuth(login[0], login[1].get_secret_value())
        try:
            trusted = ssl.create_default_context(cafile=ca_path) if verify else False
            base = httpx.URL(f"{url.rstrip('/')}/api/v2/")
        except (OSError, httpx.InvalidURL) as error:
            raise ValueError(f"AWX can't be reached with these settings ({error}).") from None
        # A new connection for each request: httpx's pool may close a connection that it has just
        # handed to another thread, https://github.com/encode/httpcore/issues/1110.
        self._connect = partial(
            httpx.Client, base_url=base, headers=headers, auth=auth, verify=trusted, timeout=timeout
        )

    def check_template(self, template: int, variables: Mapping[str, str]) -> None:
        """Raise Unavailable unless a job template can be launched with these variables."""
        response = self._ask("GET", f"job_templates/{template}/launch/")
        needed = set(response.get("variables_needed_to_start", ())) - set(variables)
        if needed or not (
            response.get("survey_enabled") or response.get("ask_variables_on_launch")
        ):
            lack = f"needs {', '.join(sorted(needed))}" if needed else "takes no variables"
            _log.error("AWX: job template %d %s", template, lack)
            raise Unavailable("awx.misconfigured")

    def launch(self, template: int, variables: Mapping[str, str]) -> tuple[Job, frozenset[str]]:
        """Launch a job. Return the job and the names of the variables that AWX ignored.

        :raises Rejected: if AWX rejects the variables
        :raises Unavailable: if AWX does not confirm the launch; the job may have been launched
            anyway
        """
        response = self._ask(
            "POST", f"job_templates/{template}/launch/", {"extra_vars": dict(variables)}
        )
        ignored = response.get("ignored_fields") or {}
        return _job(response), frozenset(ignored.get("extra_vars", ignored))

    def cancel(self, number: int) -> None:
        """Cancel a job."""
        self._ask("POST", f"jobs/{number}/cancel/")

    def job(self, number: int) -> Job | None:
        """Return a job, or None if it no longer exists."""
        try:
            return _job(self._ask("GET", f"jobs/{number}/"))
        except _NotThere:
            return None

    def launched(self, template: int, variable: str, value: str) -> Job | None:
        """Return a template's newest job in which a variable has this value, or None."""
        path = f"job_templates/{template}/jobs/?order_by=-id&page_size={_PAGE}"
        for page in range(1, _MAX_PAGES + 1):
            response = self._ask("GET", f"{path}&page={page}")
            for row in response.get("results", ()):
                variables = None
                # AWX returns the variables as a JSON string.
                with suppress(TypeError, ValueError):
                    variables = json.loads(row.get("extra_vars") or "{}")
                if isinstance(variables, dict) and variables.get(variable) == value:
                    return _job(row)
            if not response.get("next"):
                break
        return None

    def _ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        try:
            with self._connect() as http:
                answer = http.request(method, path, json=body)
            response = answer.json() if answer.is_success and answer.content else {}
        except (httpx.HTTPError, ValueError) as error:
            # The messages of other errors may contain data that was sent.
            detail = error if isinstance(error, httpx.ConnectError) else type(error).__name__
            _log.warning("AWX: %s %s: %s", method, path, detail)
            raise Unavailable("awx.unavailable") from None
        if answer.is_success and isinstance(response, dict):
            return response
        status = answer.status_code
        # Only an operator can fix these problems.
        level = logging.ERROR if status in (401, 403, 404) else logging.WARNING
        unexpected = " (unexpected response)" if answer.is_success else ""
        _log.log(level, "AWX: %s %s: status %d%s", method, path, status, unexpected)
        if status in (401, 403):
            raise Unavailable("awx.unauthorized", lasting=True)
        if status == 404:
            raise _NotThere("awx.misconfigured", lasting=True)
        if status == 400:
            raise Rejected("awx.rejected")
        asked = answer.headers.get("retry-after", "")
        retry_after = float(asked) if asked.isascii() and asked.isdecimal() else None
        raise Unavailable("awx.unavailable", retry_after=retry_after)


class _NotThere(Unavailable):
    """AWX responded with 404: the resource does not exist, or the login can't access it."""


def _job(response: Mapping[str, Any]) -> Job:
    number, status = response.get("id"), response.get("status")
    if not isinstance(number, int) or not isinstance(status, str):
        _log.warning("AWX: unexpected response: not a job")
        raise Unavailable("awx.unavailable")
    return Job(number, status, str(response.get("job_explanation") or ""))


class AwxExecutor:
    """A thread-safe executor that makes changes with AWX jobs.

    :param templates: the ids of the job templates for the collection's playbooks
    :param mail: the tenant, whose state is checked before and after a job
    :param patience: how many seconds an attempt watches a job before the next attempt takes over
    :param wait: a function that waits for seconds; it returns True if the process is stopping
    """

    def __init__(
        self,
        client: AwxClient,
        templates: Mapping[Action, int],
        mail: Mail,
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
        # An earlier attempt has reported the failure, or crashed before that. Launch another job.
        if job is None or job.status in ("failed", "error"):
            planned = self._mail.preview(request.change, notes)
            if not planned.changed:
                return planned
            template = self._templates[request.change.action]
            notes = {"template": template, "job": None, FREEING: list(planned.freed)}
            job = self._launch(request, planned.recorded_change, notes, context)
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
        recorded_change: Change,
        notes: dict[str, Any],
        context: ExecutionContext,
    ) -> Job:
        variables = {REQUEST_VARIABLE: request.id, **variables_for(request.change, recorded_change)}
        self._client.check_template(notes["template"], variables)
        context.renew()
        context.save_notes(notes)
        job, ignored = self._client.launch(notes["template"], variables)
        if ignored:
            # The collection's playbooks do nothing without their variables.
            names = ", ".join(sorted(ignored))
            _log.error("AWX: the template of job %d ignores %s", job.id, names)
            context.save_notes({})
            with suppress(Unavailable):
                self._client.cancel(job.id)
            raise Unavailable("awx.misconfigured")
        notes["job"] = job.id
        context.save_notes(notes)
        return job

    def _watch(self, job: Job, notes: Mapping[str, Any], context: ExecutionContext) -> None:
        """Wait until a job has succeeded."""
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
            context.save_notes({key: value for key, value in notes.items() if key == FREEING})
            raise Unavailable("awx.failed")


def variables_for(change: Change, recorded_change: Change) -> dict[str, str]:
    """Return the variables for the playbook that executes a change.

    All values are strings, like the answers to a survey. List items are separated by commas.

    :param recorded_change: the change for the ledger, see `Outcome`
    :raises Rejected: if an address is not safe in a template
    """
    if change.action.is_alias:
        return {"mail_alias": _safe(change.target), "mail_mailbox": _safe(change.mailbox or "")}
    adds = change.action.adds
    # Destinations that another client adds meanwhile are kept by an addition, but not by a removal.
    members = change.destinations if adds else recorded_change.destinations
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
