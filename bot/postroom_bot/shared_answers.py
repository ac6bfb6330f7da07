# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Answers of a service that threads share for a limited time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

#: The maximum number of answers.
CAPACITY = 10_000

Answer = TypeVar("Answer")


class _Asked(NamedTuple, Generic[Answer]):
    """An answer, which may not have arrived yet, and when it was asked for."""

    at: float
    answer: Future[Answer]


class SharedAnswers(Generic[Answer]):
    """Thread-safe answers to questions, such as the profile of a user.

    Threads that ask the same question at the same time wait for one answer.

    :param clock: a function that returns seconds
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = Lock()
        self._asked: dict[str, _Asked[Answer]] = {}

    def get(self, ask: Callable[[], Answer], question: str = "", *, since: float) -> Answer:
        """Return an answer that was asked for after the time `since`, or ask again.

        An exception is raised in all threads that wait for the answer, and is then forgotten.
        """
        with self._lock:
            now, asked = self._clock(), self._asked.get(question)
            # If the clock was set back, the age of an answer from the future is unknown.
            is_known = asked is not None and since < asked.at <= now
            if asked is None or not is_known:
                if len(self._asked) >= CAPACITY:
                    self._asked.clear()
                asked = self._asked[question] = _Asked(now, Future())
        if not is_known:
            try:
                asked.answer.set_result(ask())
            except BaseException as error:
                with self._lock:
                    if self._asked.get(question) is asked:
                        del self._asked[question]
                asked.answer.set_exception(error)
                raise
        return asked.answer.result()

    def knows(self, question: str = "", *, since: float) -> bool:
        """Return whether an answer has arrived that was asked for after `since`."""
        with self._lock:
            asked = self._asked.get(question)
            return asked is not None and asked.answer.done() and since < asked.at <= self._clock()

    def forget(self, question: str = "") -> None:
        """Forget an answer, including one that has not arrived yet, because it may be outdated."""
        with self._lock:
            self._asked.pop(question, None)
