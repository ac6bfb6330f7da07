# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Carrying a call through: again where that helps, within one deadline for the whole task.

After a write whose outcome is not known, whoever sends it is asked to look; a create is never
repeated blindly.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, TypeVar

from .. import errors
from . import endpoints as calls
from .endpoints import Call
from .rate_limit import Pace
from .responses import Answer, describe, read_answer
from .transport import Sender

T = TypeVar("T")

_FIRST_BACKOFF = 0.25
_LONGEST_BACKOFF = 8.0
#: A day; sockets take no time without end.
_LONGEST_TIMEOUT = 86400

#: After one of these a write may or may not have taken effect.
UNSURE = (errors.ConnectionBroken, errors.ServerFailed, errors.BadAnswer)
#: What the look after such a write may find: an answer too, and a better one.
_ANSWERED = (errors.AlreadyExists, errors.NotFound, errors.Rejected)


class Caller:
    """Sends calls until they are answered. Threads may share it.

    :param sender: the connections
    :param timeout: seconds for everything that is sent, counted from now
    :param retries: how often one call may be repeated
    :param clock: tells the seconds
    :param sleep: waits for seconds; by default in such a way that ``halt`` ends it
    :param rng: gives a share of one
    :raises InvalidInput: one of the two numbers is out of range
    """

    def __init__(
        self,
        sender: Sender,
        *,
        timeout: float = 30.0,
        retries: int = 4,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] | None = None,
        rng: Callable[[], float] = random.random,
    ) -> None:
        if not 0 < timeout <= _LONGEST_TIMEOUT:
            raise errors.InvalidInput(
                f"timeout: {timeout:g} can't be used. "
                f"Give seconds above 0 and up to {_LONGEST_TIMEOUT}."
            )
        if retries < 0:
            raise errors.InvalidInput(f"retries: {retries} can't be used. Give 0 or more.")
        self.timeout = timeout
        self.clock = clock
        self.rng = rng
        self._halted = threading.Event()
        self._sleep = sleep or self._halted.wait
        self._sender = sender
        self._retries = retries
        self._end = clock() + timeout
        self._pace = Pace(clock)
        self._is_patient = False
        #: The token, and passwords as they come: a server may show them in any later answer.
        self._secrets = list(sender.secrets)

    def with_time(self, seconds: float, *, is_patient: bool = False) -> Caller:
        """Return one over the same connections, at their pace, that has time of its own.

        :param is_patient: waiting for a turn among others uses up none of it
        """
        other = copy(self)
        other.timeout = seconds
        other._end = self.clock() + seconds  # noqa: SLF001 - it is a copy of this one
        other._is_patient = is_patient  # noqa: SLF001
        # What it learns is for its own answers: thousands of passwords are slow to look for.
        other._secrets = list(self._secrets)  # noqa: SLF001
        return other

    def halt(self) -> None:
        """Let this one and all that were made from it send nothing more, and wait for nothing."""
        self._halted.set()

    def hide(self, secrets: Sequence[str]) -> None:
        """Let no error show these."""
        self._secrets.extend(secrets)

    def sleep(self, seconds: float) -> None:
        """Wait, at most until the time is used up."""
        self._sleep(min(seconds, max(self.time_left(), 0)))

    def ask(self, call: Call[T]) -> T:
        """Send a call that changes nothing, until it is answered."""
        return self._persist(lambda: self.once(call))

    def _persist(self, attempt_once: Callable[[], T]) -> T:
        attempt = 0
        while True:
            try:
                return attempt_once()
            except errors.ServiceError as error:  # noqa: PERF203 - that is what the loop is for
                attempt = self.pause_or_raise(error, attempt)

    def carry_out(self, call: Call[T], settle: Callable[[], bool]) -> T | None:
        """Send a write until it is answered, or until ``settle`` sees that it took effect.

        :param settle: asks whether a write whose outcome is not known took effect; where it did
            not, the write may be repeated
        :return: the answer, None where the service's own was lost
        """
        unsure = False
        attempt = 0
        while True:
            try:
                return self.once(call)
            except errors.ServiceError as error:  # noqa: PERF203 - that is what the loop is for
                unsure = unsure or isinstance(error, UNSURE)
                is_open = unsure and isinstance(error, (*UNSURE, errors.AlreadyExists))
                if is_open and self.took_effect(error, settle):
                    return None
                if isinstance(error, errors.ConnectionBroken):
                    error.add("A moment later it had not taken effect; it still may.")
                attempt = self.pause_or_raise(error, attempt)

    def took_effect(self, error: errors.ServiceError, settle: Callable[[], bool]) -> bool:
        """Ask whether a write that failed took effect; fail with both where that can't be told."""
        try:
            return settle()
        except _ANSWERED:
            raise
        except errors.ServiceError:
            lost = type(error)(
                f"{error} Whether it took effect is not known, for the service does not answer. "
                "Run again when it does.",
                error.failure,
            )
            lost.unsure = True
            raise lost from None

    def once(self, call: Call[T]) -> T:
        """Send a call once."""
        return self._send(call)[0]

    def _send(self, call: Call[T]) -> tuple[T, Answer]:
        """Send a call once, when it is its turn, and read its answer."""
        self._wait_for_turn()
        if self._halted.is_set():
            raise errors.Interrupted("The task was ended before this was sent. Run again.")
        sent = self.clock()
        answer = self._sender.send(call, self._attempt_timeout(call))
        try:
            found = read_answer(call, answer, self._secrets)
        except errors.Throttled as error:
            pause = error.retry_after or 0.0
            # Whoever asks for more time than there is is not waited for.
            self._pace.slow_down(pause if pause < self.timeout else 0.0, sent)
            raise
        self._pace.succeed()
        return found, answer

    def _wait_for_turn(self) -> None:
        wait = self._pace.take()
        while wait > 0 and self.time_left() > 0:
            self._end += wait if self._is_patient else 0
            self.sleep(wait)
            # While this one waited, another may have been told to pause.
            wait = self._pace.take() if self._pace.is_paused else 0.0

    def time_left(self) -> float:
        """Return the seconds that are left, which may be none."""
        return self._end - self.clock()

    def _attempt_timeout(self, call: Call[Any]) -> float:
        """Return what is left; for a write half of it, so that it can still be asked about."""
        left = self.time_left()
        if left <= 0:
            raise errors.DeadlineExceeded(
                f"The task's {self.timeout:g} s were used up before {describe(call)}. "
                "Raise timeout, or find out why the service is slow.",
                errors.Failure("DeadlineExceeded", None, call.method, call.path, ""),
            )
        return left if call.method == "GET" else max(left / 2, min(left, 1.0))

    def pause_or_raise(self, error: errors.ServiceError, attempt: int) -> int:
        """Wait before the next attempt and return its number, or raise the error.

        Being throttled while others are served is no failed attempt: it is a matter of time.
        """
        if not error.transient or attempt >= self._retries:
            raise error
        backoff = min(_LONGEST_BACKOFF, _FIRST_BACKOFF * 2**attempt) * self.rng()
        pause = max(backoff, error.retry_after or 0.0)
        is_busy = isinstance(error, errors.Throttled) and self._pace.is_getting_on
        if pause >= self.timeout:
            raise error
        self._end += pause if is_busy and self._is_patient else 0
        if pause >= self.time_left():
            raise error
        self._sleep(pause)
        return attempt if is_busy else attempt + 1

    def ask_page(self, call: Call[calls.Page]) -> tuple[calls.Page, str | None]:
        """Send a call for a page until it is answered. Return the next one's path too."""
        return self._persist(lambda: self._once_page(call))

    def _once_page(self, call: Call[calls.Page]) -> tuple[calls.Page, str | None]:
        page, answer = self._send(call)
        return page, self._sender.next_page(call, answer)
