# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A proxy in front of a mail service that spoils requests when a test asks for it.

with spoiled(service.url) as spoiler:
    spoiler.spoil(problem(500), part="PATCH", after=True)
    converge(spoiler.url)
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ansible_collections.postroom.email.tests.fakes.http_server import (
    Reply,
    Request,
    pass_on,
    serving,
)

#: The response, or a function of the request; if that returns None, the service answers.
Instead = Reply | Callable[[Request], Reply | None]


@dataclass
class _Spoil:
    """A fault of the requests that have ``part`` in their method and target."""

    instead: Instead
    part: str
    left: int
    skip: int
    after: bool


class Spoiler:
    """Passes requests on, or answers them itself."""

    def __init__(self, upstream: str) -> None:
        self._upstream = upstream
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
        """Spoil the next requests that have a part in their method and target.

        :param skip: how many of them to pass on first
        :param after: True to have the service carry them out first
        """
        with self._lock:
            self._waiting.append(_Spoil(instead, part, times, skip, after))

    def heal(self) -> None:
        """Remove all faults."""
        with self._lock:
            self._waiting.clear()

    @property
    def is_spent(self) -> bool:
        """True if no fault waits for a request."""
        with self._lock:
            return not self._waiting

    def take(self) -> list[str]:
        """Return method and target of all requests since the last call."""
        with self._lock:
            taken, self._lines = self._lines, []
        return taken

    def __call__(self, request: Request) -> Reply:
        """Answer a request."""
        spoil = self._spoil_for(request.line)
        if spoil is None:
            return pass_on(request, self._upstream)
        answer = pass_on(request, self._upstream) if spoil.after else None
        instead = spoil.instead if isinstance(spoil.instead, Reply) else spoil.instead(request)
        return instead or answer or pass_on(request, self._upstream)

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


@contextmanager
def spoiled(upstream: str) -> Iterator[Spoiler]:
    """Run a spoiler in front of a service."""
    spoiler = Spoiler(upstream)
    with serving(spoiler) as server:
        spoiler.url = server.url
        yield spoiler
