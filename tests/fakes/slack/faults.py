# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Faults of the Web API, on request.

A fault affects the next `times` calls of its method, or of any method for `*`, after `skip` calls
that it lets pass. Requests to a response URL count as calls of `response_url`.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from http import HTTPStatus


@dataclass
class Fault:
    """A fault.

    :param status: of the response, or 0 to reset the connection
    :param seconds: to wait before that
    :param after_effect: True if the call is carried out and only its response is lost
    """

    method: str
    left: int
    skip: int
    status: int = 0
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    after_effect: bool = False


class Faults:
    """The faults that wait for calls."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[Fault] = []
        #: True while every connection is reset.
        self.is_down = False
        #: Set when the workspace closes; ends all delays.
        self.closing = threading.Event()

    def rate_limit(self, method: str, *, retry_after: int = 1, skip: int = 0) -> None:
        """Answer with status 429 and `Retry-After`."""
        headers = {"Retry-After": str(retry_after)}
        body = '{"ok":false,"error":"ratelimited"}'
        self._add(Fault(method, 1, skip, HTTPStatus.TOO_MANY_REQUESTS, body, headers))

    def fail(self, method: str, *, times: int = 1, status: int = 500, skip: int = 0) -> None:
        """Answer with a server error."""
        self._add(Fault(method, times, skip, status, "Internal Server Error"))

    def hang(self, method: str, *, seconds: float) -> None:
        """Do not answer; reset the connection after some seconds."""
        self._add(Fault(method, 1, 0, seconds=seconds))

    def reset(self, method: str, *, skip: int = 0) -> None:
        """Reset the connection before the call is carried out."""
        self._add(Fault(method, 1, skip))

    def lose_answer(self, method: str, *, skip: int = 0) -> None:
        """Carry the call out, then reset the connection."""
        self._add(Fault(method, 1, skip, after_effect=True))

    def clear(self) -> None:
        """Remove all faults."""
        with self._lock:
            self._waiting.clear()

    @property
    def are_used_up(self) -> bool:
        """True if no fault waits for a call."""
        with self._lock:
            return not self._waiting

    def take(self, method: str) -> Fault | None:
        """Return the fault of this call, and count it."""
        with self._lock:
            if self.is_down:
                return Fault(method, 1, 0)
            fault = next((one for one in self._waiting if one.method in (method, "*")), None)
            if fault is None:
                return None
            if fault.skip:
                fault.skip -= 1
                return None
            fault.left -= 1
            self._waiting = [one for one in self._waiting if one.left > 0]
            return fault

    def _add(self, fault: Fault) -> None:
        with self._lock:
            self._waiting.append(fault)
