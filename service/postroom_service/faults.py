# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Faults for drills: an ASGI layer around the application, which knows nothing of it.

At most one fault befalls a request. Which one is drawn from the seed, request by request, so that
the same requests in the same order meet the same faults. Only paths under `/api/` are touched.
"""

from __future__ import annotations

import asyncio
import random
import socket
import struct
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .logs import record
from .problems import Problem

KINDS = ("rate429", "error_before", "error_after", "reset_before", "reset_after", "truncate")
STATUSES = (500, 502, 503, 504)
FORMS = ("seconds", "date", "both")
METHODS = ("GET", "HEAD", "POST", "PATCH", "DELETE")


class FaultError(ValueError):
    """A specification that can't be read; the message is a sentence."""


@dataclass(frozen=True)
class Plan:
    """What may go wrong, how often, and for which requests."""

    chances: Mapping[str, float] = field(default_factory=dict)
    latency: tuple[float, float] = (0.0, 0.0)
    retry_after: int = 1
    retry_after_form: str = "seconds"
    statuses: tuple[int, ...] = (503,)
    methods: frozenset[str] = frozenset()
    limit: int | None = None
    seed: int = 0


def parse_plan(spec: str) -> Plan:
    """Read a specification such as `latency=30ms,rate429=0.1,seed=7`."""
    chances: dict[str, float] = {}
    options: dict[str, Any] = {}
    for item in filter(None, (part.strip() for part in spec.split(","))):
        key, equals, text = item.partition("=")
        if not equals or key not in READERS:
            raise FaultError(f"{item!r} is not one of {', '.join(sorted(READERS))} with =VALUE")
        (chances if key in KINDS else options)[_FIELDS.get(key, key)] = _read(key, text)
    if sum(chances.values()) > 1 + 1e-9:
        raise FaultError("the chances add up to more than 1")
    return Plan(chances=chances, **options)


class Faults:
    """The ASGI layer that carries out a plan."""

    def __init__(self, app: ASGIApp, plan: Plan) -> None:
        self._app = app
        self._plan = plan
        self._random = random.Random(plan.seed)  # noqa: S311 a drill is to be repeatable
        self._left = plan.limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run one request, well or badly."""
        if not self._concerns(scope):
            await self._app(scope, receive, send)
            return
        fault, wait, spin = self._draw()
        await asyncio.sleep(wait)
        if fault is None:
            await self._app(scope, receive, send)
            return
        record(scope)["fault"] = fault
        await _ACTS[fault](_Case(self._app, self._plan, spin, scope, receive, send))

    def _concerns(self, scope: Scope) -> bool:
        if scope["type"] != "http" or not scope["path"].startswith("/api/"):
            return False
        return not self._plan.methods or scope["method"] in self._plan.methods

    def _draw(self) -> tuple[str | None, float, float]:
        """Draw the fault, the delay and a number for further choices: three draws a request."""
        throw, wait, spin = (
            self._random.random(),
            self._random.uniform(*self._plan.latency),
            self._random.random(),
        )
        if self._left == 0:
            return None, wait, spin
        for kind, chance in self._plan.chances.items():
            throw -= chance
            if throw < 0:
                if self._left is not None:
                    self._left -= 1
                return kind, wait, spin
        return None, wait, spin


@dataclass(frozen=True)
class _Case:
    """One request that a fault befalls."""

    app: ASGIApp
    plan: Plan
    spin: float
    scope: Scope
    receive: Receive
    send: Send

    async def run_unseen(self) -> list[Message]:
        """Let the application do its work and keep its answer back."""
        kept: list[Message] = []

        async def keep(message: Message) -> None:
            kept.append(message)

        await self.app(self.scope, self.receive, keep)
        return kept

    async def answer(self, problem: Problem) -> None:
        """Answer with a problem document."""
        await problem.response()(self.scope, self.receive, self.send)

    async def gone(self) -> None:
        """Wait until the server knows that the connection has ended, so that it adds nothing."""
        while (await self.receive())["type"] != "http.disconnect":
            pass


async def _rate429(case: _Case) -> None:
    after = str(case.plan.retry_after)
    form = case.plan.retry_after_form
    if form == "date" or (form == "both" and case.spin < 0.5):
        after = formatdate(time.time() + case.plan.retry_after, usegmt=True)
    problem = Problem("rate_limited", "A fault was injected: the service asks to slow down.")
    problem.headers["Retry-After"] = after
    await case.answer(problem)


async def _error_before(case: _Case) -> None:
    await case.answer(_error(case, "before the request took effect"))


async def _error_after(case: _Case) -> None:
    await case.run_unseen()
    await case.answer(_error(case, "after the request took effect"))


async def _reset_before(case: _Case) -> None:
    await _reset(case)


async def _reset_after(case: _Case) -> None:
    await case.run_unseen()
    await _reset(case)


async def _truncate(case: _Case) -> None:
    """Send all headers and half of the body, then close the connection."""
    start, *rest = await case.run_unseen()
    body = b"".join(message.get("body", b"") for message in rest)
    await case.send(start)
    await case.send(
        {"type": "http.response.body", "body": body[: len(body) // 2], "more_body": True}
    )
    _transport(case).close()
    await case.gone()


async def _reset(case: _Case) -> None:
    """Break the connection off with a TCP reset instead of closing it."""
    transport = _transport(case)
    connection: socket.socket = transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
    await case.gone()


def _transport(case: _Case) -> asyncio.Transport:
    transport: asyncio.Transport = case.scope["state"]["transport"]
    return transport


def _error(case: _Case, when: str) -> Problem:
    statuses = case.plan.statuses
    status = statuses[int(case.spin * len(statuses))]
    return Problem("fault_injected", f"A fault was injected {when}.", status=status)


_ACTS: Mapping[str, Callable[[_Case], Awaitable[None]]] = {
    "rate429": _rate429,
    "error_before": _error_before,
    "error_after": _error_after,
    "reset_before": _reset_before,
    "reset_after": _reset_after,
    "truncate": _truncate,
}


def _read(key: str, text: str) -> Any:
    reader, wanted = READERS[key]
    try:
        return reader(text)
    except (ValueError, KeyError):
        raise FaultError(f"{key} is {wanted}, not {text!r}") from None


def _chance(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise ValueError(text)
    return value


def _latency(text: str) -> tuple[float, float]:
    low, _, high = text.partition("-")
    times = _duration(low), _duration(high or low)
    if times[0] > times[1]:
        raise ValueError(text)
    return times


def _duration(text: str) -> float:
    number, unit = (text[:-2], 0.001) if text.endswith("ms") else (text.removesuffix("s"), 1.0)
    if text[-1:] != "s" or not number.replace(".", "", 1).isdecimal():
        raise ValueError(text)
    return float(number) * unit


def _count(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(text)
    return int(text)


def _statuses(text: str) -> tuple[int, ...]:
    statuses = tuple(int(part) for part in text.split("/"))
    if not set(statuses) <= set(STATUSES):
        raise ValueError(text)
    return statuses


def _methods(text: str) -> frozenset[str]:
    methods = frozenset(text.split("/"))
    if not methods <= set(METHODS):
        raise ValueError(text)
    return methods


def _form(text: str) -> str:
    return FORMS[FORMS.index(text)]


_FIELDS = {"status": "statuses"}
READERS: Mapping[str, tuple[Callable[[str], Any], str]] = {
    **dict.fromkeys(KINDS, (_chance, "a chance from 0 to 1")),
    "latency": (_latency, "a time such as 30ms or 0.5s, or a range such as 10ms-80ms"),
    "retry_after": (_count, "a number of seconds"),
    "retry_after_form": (_form, "seconds, date or both"),
    "status": (_statuses, "one or more of 500, 502, 503 and 504, separated by /"),
    "methods": (_methods, "one or more methods separated by /, such as POST/PATCH"),
    "limit": (_count, "how many faults there are at most"),
    "seed": (_count, "a whole number"),
}
