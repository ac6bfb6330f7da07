# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The client for the AWX API."""

from __future__ import annotations

import json
import logging
import ssl
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import httpx
from pydantic import SecretStr

from postroom_bot.errors import Rejected, Unavailable

#: The number of jobs per page, and the maximum number of pages to search for a job.
_PAGE = 50
_MAX_PAGES = 10

_log = logging.getLogger(__name__)


class Job(NamedTuple):
    """An AWX job.

    :param status: the status that AWX reports, such as ``running`` or ``successful``
    :param explanation: why the playbook didn't run, for example because a project update failed
    """

    id: int
    status: str
    explanation: str = ""


class AwxClient:
    """A thread-safe client for the AWX API.

    Every method may raise Unavailable. The details are logged.

    :param login: a personal access token, or a user name and a password
    :param timeout: the timeout for each network operation, in seconds
    :raises ValueError: if the URL, the login or the CA file is invalid
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
                raise ValueError("awx_token must be printable ASCII text. Copy the token again.")
            headers["authorization"] = f"Bearer {token}"
        else:
            auth = httpx.BasicAuth(login[0], login[1].get_secret_value())
        try:
            trusted = ssl.create_default_context(cafile=ca_path) if verify else False
            base = httpx.URL(f"{url.rstrip('/')}/api/v2/")
        except (OSError, httpx.InvalidURL) as error:
            raise ValueError(f"awx_url or ca_path is invalid ({error}).") from None
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
        except _NotFound:
            return None

    def launched(self, template: int, variable: str, value: str) -> Job | None:
        """Return a template's newest job in which the variable has this value, or None."""
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
            raise _NotFound("awx.misconfigured", lasting=True)
        if status == 400:
            raise Rejected("awx.rejected")
        asked = answer.headers.get("retry-after", "")
        retry_after = float(asked) if asked.isascii() and asked.isdecimal() else None
        raise Unavailable("awx.unavailable", retry_after=retry_after)


class _NotFound(Unavailable):
    """AWX responded with 404: the resource does not exist, or the login can't access it."""


def _job(response: Mapping[str, Any]) -> Job:
    number, status = response.get("id"), response.get("status")
    if not isinstance(number, int) or not isinstance(status, str):
        _log.warning("AWX: unexpected response: not a job")
        raise Unavailable("awx.unavailable")
    return Job(number, status, str(response.get("job_explanation") or ""))
