# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The pace that threads share once a service has asked for fewer requests."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api import errors
from ansible_collections.postroom.email.plugins.module_utils._api.models import Domain
from ansible_collections.postroom.email.plugins.module_utils._api.names import parse_domain
from ansible_collections.postroom.email.plugins.module_utils._api.wire.client import Client
from ansible_collections.postroom.email.plugins.module_utils._api.wire.pacing import Pace
from ansible_collections.postroom.email.tests.fakes.mail_api.quirky import QuirkyService, domain
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import Reply, Request, problem
from ansible_collections.postroom.email.tests.support.clients import Clock

Connect = Callable[..., Client]
Serve = Callable[..., Any]

HOME = parse_domain("example.com")


def waits(pace: Pace, count: int) -> list[float]:
    """Take several places. Return how long each has to wait, and forget float's dust."""
    return [round(pace.take(), 6) for _place in range(count)]


def test_nobody_waits_before_a_complaint() -> None:
    """At full speed."""
    pace = Pace(Clock())
    pace.succeed()
    assert waits(pace, 3) == [0, 0, 0]
    assert not pace.is_paused


def test_after_a_complaint_all_wait_and_then_follow_each_other() -> None:
    """The first when the pause is over, the others one space apart."""
    clock = Clock()
    pace = Pace(clock)
    pace.slow_down(5.0, clock())
    assert waits(pace, 3) == [5.0, 5.02, 5.04]
    told = [pace.is_paused]
    clock.sleep(5.0)
    assert [*told, pace.is_paused] == [True, False]


def test_the_longest_pause_counts() -> None:
    """A shorter one, told later, takes nothing from it."""
    clock = Clock()
    pace = Pace(clock)
    pace.slow_down(9.0, clock())
    clock.sleep(1.0)
    pace.slow_down(2.0, clock())
    assert waits(pace, 1) == [8.0]


def test_what_was_sent_before_the_last_complaint_does_not_widen() -> None:
    """Eight threads that meet one limit are one complaint."""
    clock = Clock()
    pace = Pace(clock)
    sent = clock()
    clock.sleep(0.1)
    for _thread in range(8):
        pace.slow_down(0.0, sent)
    assert waits(pace, 3) == [0.0, 0.02, 0.04]


def test_each_further_complaint_widens_to_a_limit_and_success_narrows() -> None:
    """By half, up to two seconds; by a fifth, down to none at all."""
    clock = Clock()
    pace = Pace(clock)
    spaces = []
    for _complaint in range(14):
        pace.slow_down(0.0, clock())
        clock.sleep(10.0)
        spaces.append(waits(pace, 2)[1])
    assert spaces[:4] == [0.02, 0.03, 0.045, 0.0675]
    assert spaces[-1] == 2.0
    clock.sleep(10.0)
    pace.succeed()
    assert waits(pace, 2) == [0.0, 1.6]
    clock.sleep(10.0)
    for _success in range(40):
        pace.succeed()
    assert waits(pace, 3) == [0.0, 0.0, 0.0]


def test_it_gets_on_for_a_while_after_a_success() -> None:
    """Eight seconds; before the first success it never does."""
    clock = Clock()
    pace = Pace(clock)
    told = [pace.is_getting_on]
    pace.succeed()
    for seconds in (7.9, 0.2):
        clock.sleep(seconds)
        told.append(pace.is_getting_on)
    assert told == [False, True, False]


class Times:
    """Answers from a service, after noting the fake time at which each request came."""

    def __init__(self, clock: Clock, *replies: Reply | None) -> None:
        self.clock = clock
        self.sent: list[float] = []
        self._service = QuirkyService(None, domain(HOME.key))
        self._replies = list(replies)
        self._lock = threading.Lock()

    def __call__(self, request: Request) -> Reply:
        """Answer one request, the first ones with what was given."""
        with self._lock:
            self.sent.append(self.clock() - 1000.0)
            reply = self._replies.pop(0) if self._replies else None
            return reply or self._service(request)


def test_who_waits_for_a_turn_waits_on_when_a_pause_is_told(serve: Serve, connect: Connect) -> None:
    """A place in the row from before the pause is no leave to send within it."""
    clock = Clock()
    arrived, answered = threading.Event(), threading.Event()
    times = Times(clock, problem(429).having(Retry_After="5"))

    def answer(request: Request) -> Reply:
        if arrived.is_set():
            return times(request)
        arrived.set()
        answered.wait(60)
        return problem(429).having(Retry_After="30")

    def sleep(seconds: float) -> None:
        # While this client waits for its turn, another's answer comes at last.
        answered.set()
        under_way.join()
        clock.sleep(seconds)

    client = connect(serve(answer), clock, sleep=sleep, retries=0, timeout=600.0)
    under_way = threading.Thread(target=complains, args=(client,))
    under_way.start()
    arrived.wait(60)
    complains(client)
    assert client.find(HOME) == Domain(HOME)
    assert times.sent == [0.0, pytest.approx(30.0, abs=0.1)]


def complains(client: Client) -> None:
    """Ask for something and be asked to wait."""
    with pytest.raises(errors.Throttled):
        client.find(HOME)


def test_a_pause_is_for_all_clients_of_a_task(serve: Serve, connect: Connect) -> None:
    """Each has time of its own, and all have one pace."""
    clock = Clock()
    times = Times(clock, problem(429).having(Retry_After="7"))
    client = connect(serve(times), clock, retries=0)
    complains(client)
    for _one in range(3):
        client.with_time(30.0).find(HOME)
    assert times.sent == [0.0, 7.0, pytest.approx(7.02), pytest.approx(7.036)]


def test_who_has_no_time_for_the_pause_does_not_send(serve: Serve, connect: Connect) -> None:
    """It ends when its time does, and says so."""
    clock = Clock()
    times = Times(clock, problem(429).having(Retry_After="7"))
    client = connect(serve(times), clock, retries=0)
    complains(client)
    with pytest.raises(errors.DeadlineExceeded):
        client.with_time(3.0).find(HOME)
    assert times.sent == [0.0]
    assert clock() == 1003.0


def test_waiting_for_a_turn_takes_no_time_from_a_patient_client(
    serve: Serve, connect: Connect
) -> None:
    """What is left of its second after a pause of seven is enough."""
    clock = Clock()
    times = Times(clock, problem(429).having(Retry_After="7"))
    client = connect(serve(times), clock, retries=0)
    complains(client)
    assert client.with_time(1.0, is_patient=True).find(HOME) == Domain(HOME)


def test_being_throttled_while_others_are_served_is_no_failed_attempt(
    serve: Serve, connect: Connect
) -> None:
    """However often: neither the retries nor a patient client's time is used up by it."""
    clock = Clock()
    times = Times(clock, None, *[problem(429).having(Retry_After="10"), None] * 40)
    within: list[float] = []

    def sleep(seconds: float) -> None:
        clock.sleep(seconds)
        if seconds >= 10.0 and not within:
            # While this client pauses, another one is served.
            within.append(seconds)
            client.with_time(1.0, is_patient=True).find(HOME)
            within.clear()

    client = connect(serve(times), clock, sleep=sleep, retries=1)
    client.find(HOME)
    assert client.with_time(100.0, is_patient=True).find(HOME) == Domain(HOME)
    assert len(times.sent) > 80
    assert clock() > 1400.0


def test_being_throttled_while_nobody_is_served_uses_up_the_retries(
    serve: Serve, connect: Connect
) -> None:
    """Three attempts for two retries."""
    clock = Clock()
    times = Times(clock, *[problem(429)] * 9)
    client = connect(serve(times), clock, retries=2)
    complains(client.with_time(30.0, is_patient=True))
    assert len(times.sent) == 3


def test_threads_keep_their_distance(serve: Serve, connect: Connect) -> None:
    """No two of eight get the same place, on a clock that stands still."""
    pace = Pace(Clock())
    pace.slow_down(1.0, 1000.0)
    with ThreadPoolExecutor(8) as pool:
        taken = sorted(pool.map(lambda _turn: pace.take(), range(200)))
    assert taken == pytest.approx([1.0 + 0.02 * turn for turn in range(200)])
