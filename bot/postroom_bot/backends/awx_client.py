# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The part of AWX's API that launches a job template and watches its job."""

from __future__ import annotations

import json
import logging
import ssl
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import httpx
from pydantic import SecretStr

from postroom_bot.errors import Rejected, Unavailable

#: How many jobs a page has, and how many pages are searched for one of ours.
_PAGE = 50
_MAX_PAGES = 10

_log = logging.getLogger(__name__)


class Token(NamedTuple):
    """A personal access token."""

    secret: SecretStr


class Basic(NamedTuple):
    """A user and a password."""

    user: str
    password: SecretStr


class Job(NamedTuple):
    """A job.

    :param status: as AWX reports it, such as ``running`` or ``successful``
    :param explanation: AWX's reason if the playbook didn't run, such as a failed project update
    """

    id: int
    status: str
    explanation: str = ""

    @property
    def has_ended(self) -> bool:
        """Whether its status is final."""
        return self.status in ("successful", "failed", "error", "canceled")


class Controller:
    """One AWX, as one user. Threads may share it.

    Every method may raise Unavailable; the log has the details.

    :param url: its URL, without ``/api``
    :param verify: whether to verify its certificate
    :param ca_path: a PEM file of trusted authorities in place of the system's
    :param timeout: seconds for each network operation
    :raises ValueError: the URL, the login or the file is invalid
    """

    def __init__(
        self,
        url: str,
        login: Token | Basic,
        *,
        verify: bool = True,
        ca_path: str | None = None,
        timeout: float = 10.0,
    ) -> None:
        headers = {"accept": "application/json", "user-agent": "postroom"}
        auth = None
        if isinstance(login, Token):
            headers["authorization"] = f"Bearer {_plain(login.secret)}"
        else:
            auth = httpx.BasicAuth(login.user, login.password.get_secret_value())
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
        """Check that a job template can be launched with these variables."""
        response = self._ask("GET", f"job_templates/{template}/launch/")
        needed = set(response.get("variables_needed_to_start", ())) - set(variables)
        if needed or not (
            response.get("survey_enabled") or response.get("ask_variables_on_launch")
        ):
            lack = f"needs {', '.join(sorted(needed))}" if needed else "takes no variables"
            _log.error("AWX: job template %d %s", template, lack)
            raise Unavailable("awx.misconfigured")

    def launch(self, template: int, variables: Mapping[str, str]) -> tuple[Job, frozenset[str]]:
        """Launch a job. Return it and the variables that AWX dropped.

        :raises Rejected: AWX doesn't accept the variables
        :raises Unavailable: the job may have been launched anyway
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
        """Return a template's newest job with a variable of this value."""
        for row in self._recent(template):
            if _variables(row).get(variable) == value:
                return _job(row)
        return None

    def _recent(self, template: int) -> Iterator[Mapping[str, Any]]:
        """Yield a template's latest jobs, the newest first."""
        path = f"job_templates/{template}/jobs/?order_by=-id&page_size={_PAGE}"
        for page in range(1, _MAX_PAGES + 1):
            response = self._ask("GET", f"{path}&page={page}")
            yield from response.get("results", ())
            if not response.get("next"):
                return

    def _ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """Send a request and return the response."""
        try:
            with self._connect() as http:
                answer = http.request(method, path, json=body)
            response = answer.json() if answer.is_success and answer.content else {}
        except (httpx.HTTPError, ValueError) as error:
            # The messages of other errors may repeat what was sent.
            detail = error if isinstance(error, httpx.ConnectError) else type(error).__name__
            _log.warning("AWX: %s %s: %s", method, path, detail)
            raise Unavailable("awx.unavailable") from None
        if not answer.is_success:
            raise _refusal(answer, method, path)
        if not isinstance(response, dict):
            _log.warning("AWX: %s %s: unexpected response", method, path)
            raise Unavailable("awx.unavailable")
        return response


class _NotThere(Unavailable):
    """AWX answers 404: it does not exist, or the login can't see it."""


def _refusal(answer: httpx.Response, method: str, path: str) -> Exception:
    """Return the exception for an error response, and log it."""
    status = answer.status_code
    by_operator = status in (401, 403, 404)
    level = logging.ERROR if by_operator else logging.WARNING
    _log.log(level, "AWX: %s %s: status %d", method, path, status)
    if status in (401, 403):
        return Unavailable("awx.unauthorized", lasting=True)
    if status == 404:
        return _NotThere("awx.misconfigured", lasting=True)
    if status == 400:
        return Rejected("awx.rejected")
    return Unavailable(
        "awx.unavailable", retry_after=_seconds(answer.headers.get("retry-after", ""))
    )


def _plain(token: SecretStr) -> str:
    """Return a token if it fits into a header."""
    text = token.get_secret_value()
    if not text.isascii() or not text.isprintable() or not text.strip():
        raise ValueError("awx_token is empty or has characters that tokens can't have.")
    return text


def _seconds(text: str) -> float | None:
    return float(text) if text.isascii() and text.isdecimal() else None


def _job(response: Mapping[str, Any]) -> Job:
    number, status = response.get("id"), response.get("status")
    if not isinstance(number, int) or not isinstance(status, str):
        _log.warning("AWX: unexpected response: not a job")
        raise Unavailable("awx.unavailable")
    return Job(number, status, str(response.get("job_explanation") or ""))


def _variables(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a job's variables, which AWX returns as a JSON string."""
    try:
        found = json.loads(row.get("extra_vars") or "{}")
    except (TypeError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
