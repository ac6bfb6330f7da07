# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The page with the definition of the changes made through Slack, which requires a token."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable
from http import HTTPStatus
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import SecretStr

from postroom_bot.errors import Rejected, Unavailable
from postroom_common.database import DatabaseError

if TYPE_CHECKING:
    from wsgiref.types import WSGIEnvironment

PATH = "/definition"
#: How many seconds a request waits for another one to end.
_WAIT = 1.0


class Response(NamedTuple):
    """A response in JSON, or in plain text if it reports an error."""

    status: HTTPStatus
    kind: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


class DefinitionPage:
    """The page at PATH.

    Only one thread at a time reads the definition, so that the others can answer ``/healthz``.

    :param read: a function that returns the definition, and raises DatabaseError, Unavailable or
        Rejected
    :param token: the token that clients must send
    """

    def __init__(self, read: Callable[[], dict[str, Any]], token: SecretStr) -> None:
        self._read = read
        self._token = token.get_secret_value().encode()
        self._lock = Lock()

    def __call__(self, environ: WSGIEnvironment) -> Response:
        """Respond to a request."""
        if not self._is_authorized(environ.get("HTTP_AUTHORIZATION", "")):
            problem = "send the definition_token as a bearer token"
            return _error(HTTPStatus.UNAUTHORIZED, problem, ("www-authenticate", "Bearer"))
        if environ["REQUEST_METHOD"] != "GET":
            return _error(HTTPStatus.METHOD_NOT_ALLOWED, "use GET", ("allow", "GET"))
        if not self._lock.acquire(timeout=_WAIT):
            return _unavailable("another client is reading the definition")
        try:
            text = json.dumps(self._read(), ensure_ascii=False)
        except DatabaseError:
            return _unavailable("the bot's database can't be used")
        except (Unavailable, Rejected):
            return _unavailable("the mail service, which has the list of mailboxes, can't be used")
        finally:
            self._lock.release()
        return Response(HTTPStatus.OK, "application/json", text.encode())

    def _is_authorized(self, authorization: str) -> bool:
        scheme, _, token = authorization.partition(" ")
        # WSGI passes each byte of a header as a character.
        is_equal = hmac.compare_digest(token.encode("latin-1"), self._token)
        return scheme.lower() == "bearer" and is_equal


def _unavailable(problem: str) -> Response:
    return _error(HTTPStatus.SERVICE_UNAVAILABLE, f"{problem}; try again later")


def _error(status: HTTPStatus, problem: str, *headers: tuple[str, str]) -> Response:
    return Response(status, "text/plain", f"{problem}\n".encode(), headers)
