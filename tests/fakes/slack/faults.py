# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What can go wrong with Slack, on request.

    workspace.faults.rate_limit("chat.postMessage", times=2, retry_after=1)

A fault waits for calls of its method, or of any for ``*``, lets the first ones pass that it is to
skip, and is used up after so many. What is posted to a response URL counts as a call of
``response_url``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus


@dataclass
class Fault:
    """What to do to calls.

    :param status: to answer with, and 0 to cut the connection
    :param headers: of that answer
    :param seconds: how long to keep silent before
    :param after_effect: whether the call is carried out, and only its answer lost
    :param skip: how many calls pass before
    """

    method: str
    left: int
    status: int = 0
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    after_effect: bool = False
    skip: int = 0


class Faults:
    """The faults that wait for calls."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[Fault] = []
        self._is_down = False
        #: Set when the workspace closes: ends all silences.
        self.closing = threading.Event()

    def rate_limit(
        self, method: str, *, times: int = 1, retry_after: int = 1, skip: int = 0
    ) -> None:
        """Answer that there were too many calls; wait so many seconds."""
        headers = {"Retry-After": str(retry_after)}
        body = '{"ok":false,"error":"ratelimited"}'
        status = HTTPStatus.TOO_MANY_REQUESTS
        self._add(Fault(method, times, status, body, headers, skip=skip))

    def fail(self, method: str, *, times: int = 1, status: int = 500, skip: int = 0) -> None:
        """Answer with a server error."""
        self._add(Fault(method, times, status, "Internal Server Error", skip=skip))

    def hang(self, method: str, *, times: int = 1, seconds: float = 60.0, skip: int = 0) -> None:
        """Keep silent for so long, and then cut the connection."""
        self._add(Fault(method, times, seconds=seconds, skip=skip))

    def reset(self, method: str, *, times: int = 1, skip: int = 0) -> None:
        """Cut the connection before anything is done."""
        self._add(Fault(method, times, skip=skip))

    def lose_answer(
        self, method: str, *, times: int = 1, seconds: float = 0.0, skip: int = 0
    ) -> None:
        """Do what is asked, and in place of an answer keep silent and cut the connection."""
        self._add(Fault(method, times, seconds=seconds, after_effect=True, skip=skip))

    def clear(self) -> None:
        """Forget all faults that have not been used up."""
        with self._lock:
            self._waiting.clear()

    @contextmanager
    def down(self) -> Iterator[None]:
        """Cut every connection for the length of a block."""
        self.set_down(True)
        try:
            yield
        finally:
            self.set_down(False)

    def set_down(self, is_down: bool) -> None:
        """Begin or end to cut every connection."""
        with self._lock:
            self._is_down = is_down

    @property
    def are_used_up(self) -> bool:
        """Whether every fault has befallen as many calls as it was to."""
        with self._lock:
            return not self._waiting

    @property
    def is_down(self) -> bool:
        """Whether Slack is down altogether."""
        return self._is_down

    def keeps_silent(self, method: str) -> bool:
        """Tell whether the next call of a method will have to wait before it fails."""
        with self._lock:
            fault = self._fault(method)
            return fault is not None and fault.seconds > 0 and not fault.skip

    def take(self, method: str) -> Fault | None:
        """Return what is to happen to this call, and count it."""
        with self._lock:
            if self._is_down:
                return Fault(method, 1)
            fault = self._fault(method)
            if fault is not None and fault.skip:
                fault.skip -= 1
                return None
            if fault is not None:
                fault.left -= 1
                self._waiting = [one for one in self._waiting if one.left > 0]
            return fault

    def _fault(self, method: str) -> Fault | None:
        return next((one for one in self._waiting if one.method in (method, "*")), None)

    def _add(self, fault: Fault) -> None:
        with self._lock:
            self._waiting.append(fault)
