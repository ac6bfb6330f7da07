# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""AWX's interface, as far as launching a job template and watching its job need it."""

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

NO_ANSWER = "The automation is not responding properly right now."
NOT_LET_IN = "The automation does not let me in. Ask an administrator."
NOT_SET_UP = "The automation is not set up for this. Ask an administrator."

#: How many jobs a page has, and how many pages are looked through for one of ours.
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
    """A job as it is right now.

    :param status: AWX's word, such as ``running`` or ``successful``
    :param explanation: AWX's reason if the playbook didn't run, such as a failed project update
    """

    id: int
    status: str
    explanation: str = ""

    @property
    def has_ended(self) -> bool:
        """Whether nothing more comes of it."""
        return self.status in ("successful", "failed", "error", "canceled")


class Controller:
    """One AWX, as one user. Threads may share it.

    Every method raises Unavailable where it gives no proper answer; what it said goes to the log.

    :param url: its address, without ``/api``
    :param verify: whether its certificate has to be valid
    :param ca_path: a PEM file of the authorities to trust in place of the system's
    :param timeout: seconds for each wait on the network
    :raises ValueError: the address, the login or the file can't be used, in a sentence
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
        # A connection for each request: httpx's pool closes connections under threads that have
        # just been given them, https://github.com/encode/httpcore/issues/1110.
        self._connect = partial(
            httpx.Client, base_url=base, headers=headers, auth=auth, verify=trusted, timeout=timeout
        )

    def check_template(self, template: int, variables: Mapping[str, str]) -> None:
        """See that a job template can be launched with these variables, and takes them."""
        said = self._ask("GET", f"job_templates/{template}/launch/")
        needed = set(said.get("variables_needed_to_start", ())) - set(variables)
        if needed or not (said.get("survey_enabled") or said.get("ask_variables_on_launch")):
            lack = f"needs {', '.join(sorted(needed))}" if needed else "takes no variables"
            _log.error("AWX: job template %d %s", template, lack)
            raise Unavailable(NOT_SET_UP)

    def launch(self, template: int, variables: Mapping[str, str]) -> tuple[Job, frozenset[str]]:
        """Launch a job. Return it and the variables that AWX dropped.

        :raises Rejected: AWX doesn't accept the variables
        :raises Unavailable: it may have been launched all the same
        """
        said = self._ask(
            "POST", f"job_templates/{template}/launch/", {"extra_vars": dict(variables)}
        )
        ignored = said.get("ignored_fields") or {}
        return _job(said), frozenset(ignored.get("extra_vars", ignored))

    def cancel(self, number: int) -> None:
        """Stop a job, if that is possible still."""
        self._ask("POST", f"jobs/{number}/cancel/")

    def job(self, number: int) -> Job | None:
        """Return a job, or None where there is none of that number any more."""
        try:
            return _job(self._ask("GET", f"jobs/{number}/"))
        except _NotThere:
            return None

    def launched(self, template: int, variable: str, value: str) -> Job | None:
        """Return a template's newest job that was given a variable of that value."""
        for row in self._recent(template):
            if _variables(row).get(variable) == value:
                return _job(row)
        return None

    def _recent(self, template: int) -> Iterator[Mapping[str, Any]]:
        """Yield a template's latest jobs, the newest first."""
        path = f"job_templates/{template}/jobs/?order_by=-id&page_size={_PAGE}"
        for page in range(1, _MAX_PAGES + 1):
            said = self._ask("GET", f"{path}&page={page}")
            yield from said.get("results", ())
            if not said.get("next"):
                return

    def _ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """Send one request and return its answer."""
        try:
            with self._connect() as http:
                answer = http.request(method, path, json=body)
            said = answer.json() if answer.is_success and answer.content else {}
        except (httpx.HTTPError, ValueError) as error:
            # The text of any other may repeat what was sent.
            detail = error if isinstance(error, httpx.ConnectError) else type(error).__name__
            _log.warning("AWX: %s %s: %s", method, path, detail)
            raise Unavailable(NO_ANSWER) from None
        if not answer.is_success:
            raise _refusal(answer, method, path)
        if not isinstance(said, dict):
            _log.warning("AWX: %s %s: not an answer of its interface", method, path)
            raise Unavailable(NO_ANSWER)
        return said


class _NotThere(Unavailable):
    """AWX has no such thing, or shows it to others only."""


def _refusal(answer: httpx.Response, method: str, path: str) -> Exception:
    """Return what to raise for an answer that is none, and tell the operator."""
    status = answer.status_code
    by_operator = status in (401, 403, 404)
    level = logging.ERROR if by_operator else logging.WARNING
    _log.log(level, "AWX: %s %s: status %d", method, path, status)
    if status in (401, 403):
        return Unavailable(NOT_LET_IN, lasting=True)
    if status == 404:
        return _NotThere(NOT_SET_UP, lasting=True)
    if status == 400:
        return Rejected("The automation does not accept this. Ask an administrator.")
    return Unavailable(NO_ANSWER, retry_after=_seconds(answer.headers.get("retry-after", "")))


def _plain(token: SecretStr) -> str:
    """Return a token that fits into a header."""
    text = token.get_secret_value()
    if not text.isascii() or not text.isprintable() or not text.strip():
        raise ValueError("The token for AWX is empty or holds characters that no token has.")
    return text


def _seconds(text: str) -> float | None:
    return float(text) if text.isascii() and text.isdecimal() else None


def _job(said: Mapping[str, Any]) -> Job:
    number, status = said.get("id"), said.get("status")
    if not isinstance(number, int) or not isinstance(status, str):
        _log.warning("AWX: what it answered is no job")
        raise Unavailable(NO_ANSWER)
    return Job(number, status, str(said.get("job_explanation") or ""))


def _variables(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a job's variables, which AWX gives as a JSON text."""
    try:
        found = json.loads(row.get("extra_vars") or "{}")
    except (TypeError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
