# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A mail service that goes wrong when it is told to: a proxy on loopback before a real one.

    with spoiled(service.url) as spoiler:
        spoiler.spoil(problem(500), part="PATCH", after=True)
        converge(spoiler.url)

Uses the standard library only.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from urllib.parse import urlsplit

from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import (
    Reply,
    Request,
    scripted,
)

UPSTREAM_SECONDS = 30.0
#: Headers that speak of one connection and not of the message.
_HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length"})

#: What is answered in the place of the service. A function may look at the request, and have the
#: service answer.
Instead = Reply | Callable[[Request], Reply | None]


@dataclass
class _Spoil:
    """What befalls requests that have ``part`` in their method and target."""

    instead: Instead
    part: str
    left: int
    skip: int
    after: bool


class Spoiler:
    """Passes requests on, or answers them as it was told."""

    def __init__(self, upstream: str) -> None:
        parts = urlsplit(upstream)
        self._upstream = (parts.hostname or "127.0.0.1", parts.port or 80)
        self._lock = threading.Lock()
        self._waiting: list[_Spoil] = []
        self._lines: list[str] = []
        self.url = ""

    def spoil(
        self,
        instead: Instead,
        *,
        part: str = "",
        times: int = 1,
        skip: int = 0,
        after: bool = False,
    ) -> None:
        """Spoil requests that have a part in their method and target.

        :param skip: how many of them pass before
        :param after: whether the service has done its part by then
        """
        with self._lock:
            self._waiting.append(_Spoil(instead, part, times, skip, after))

    def heal(self) -> None:
        """Let everything pass from now on."""
        with self._lock:
            self._waiting.clear()

    @property
    def is_spent(self) -> bool:
        """Whether all that was to be spoiled has been."""
        with self._lock:
            return not self._waiting

    def take(self) -> list[str]:
        """Return method and target of all requests that came since the last call."""
        with self._lock:
            taken, self._lines = self._lines, []
        return taken

    def __call__(self, request: Request) -> Reply:
        """Answer one request."""
        spoil = self._spoil_for(request.line)
        if spoil is None:
            return self._passed_on(request)
        answer = self._passed_on(request) if spoil.after else None
        instead = spoil.instead if isinstance(spoil.instead, Reply) else spoil.instead(request)
        return instead or answer or self._passed_on(request)

    def _spoil_for(self, line: str) -> _Spoil | None:
        with self._lock:
            self._lines.append(line)
            spoil = next((one for one in self._waiting if one.part in line), None)
            if spoil is None:
                return None
            if spoil.skip:
                spoil.skip -= 1
                return None
            spoil.left -= 1
            self._waiting = [one for one in self._waiting if one.left > 0]
            return spoil

    def _passed_on(self, request: Request) -> Reply:
        connection = HTTPConnection(*self._upstream, timeout=UPSTREAM_SECONDS)
        try:
            headers = {k: v for k, v in request.headers.items() if k not in _HOP_BY_HOP}
            connection.request(request.method, request.target, request.body or None, headers)
            response = connection.getresponse()
            kept = {k: v for k, v in response.getheaders() if k.lower() not in _HOP_BY_HOP}
            return Reply(response.status, response.read(), kept)
        finally:
            connection.close()


@contextmanager
def spoiled(upstream: str) -> Iterator[Spoiler]:
    """Run a spoiler before the service at `upstream`."""
    spoiler = Spoiler(upstream)
    with scripted(spoiler) as server:
        spoiler.url = server.url
        yield spoiler
