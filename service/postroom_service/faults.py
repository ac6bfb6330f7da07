# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Fault injection for testing clients, as ASGI middleware.

Each request gets at most one fault, drawn from a seeded random generator, so the same sequence of
requests gets the same faults. Only paths under `/api/` are affected.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import re
import socket
import struct
import time
from email.utils import formatdate
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, NonNegativeInt, ValidationError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .errors import Problem
from .requests import note

#: The kinds of faults, in the order in which their cumulative probabilities are compared with a
#: random number.
KINDS = ("rate429", "error_before", "error_after", "reset_before", "reset_after", "truncate")


class FaultError(ValueError):
    """The fault specification is invalid. The exception's message states the reason."""


def _latency(text: str) -> tuple[float, float]:
    low, _, high = text.partition("-")
    times = []
    for end in (low, high or low):
        found = re.fullmatch(r"(\d+\.?\d*|\.\d+)(ms|s)", end)
        if not found:
            raise ValueError("must be a time such as 30ms or 0.5s, or a range such as 10ms-80ms")
        times.append(float(found[1]) * (0.001 if found[2] == "ms" else 1))
    if times[0] > times[1]:
        raise ValueError("the end of the range is below its start")
    return times[0], times[1]


_SPLIT = BeforeValidator(lambda text: text.split("/"))
Chance = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Plan(BaseModel):
    """Fault probabilities, and the requests that they apply to. Times are in seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rate429: Chance = 0
    error_before: Chance = 0
    error_after: Chance = 0
    reset_before: Chance = 0
    reset_after: Chance = 0
    truncate: Chance = 0
    latency: Annotated[tuple[float, float], BeforeValidator(_latency)] = (0, 0)
    retry_after: NonNegativeInt = 1
    retry_after_form: Literal["seconds", "date", "both"] = "seconds"
    status: Annotated[tuple[Literal["500", "502", "503", "504"], ...], _SPLIT] = ("503",)
    methods: Annotated[frozenset[Literal["GET", "HEAD", "POST", "PATCH", "DELETE"]], _SPLIT] = (
        frozenset()
    )
    limit: NonNegativeInt | None = None
    seed: NonNegativeInt = 0

    def chance(self, kind: str) -> float:
        """Return the probability of a kind of fault."""
        return float(getattr(self, kind))


def parse_plan(spec: str) -> Plan:
    """Parse a specification such as `latency=30ms,rate429=0.1,seed=7`.

    :raises FaultError: if the specification is invalid
    """
    items = [item.strip().partition("=") for item in spec.split(",") if item.strip()]
    try:
        plan = Plan.model_validate({key: text for key, _, text in items})
    except ValidationError as error:
        [detail, *_more] = error.errors(include_url=False)
        key, message = detail["loc"][0], detail["msg"].removeprefix("Value error, ")
        if detail["type"] == "extra_forbidden":
            message = f"unknown key. The keys are {', '.join(Plan.model_fields)}"
        raise FaultError(f"{key}: {message}") from None
    if sum(plan.chance(kind) for kind in KINDS) > 1 + 1e-9:
        raise FaultError("the probabilities add up to more than 1")
    return plan


class Faults:
    """ASGI middleware that injects the faults of a plan."""

    def __init__(self, app: ASGIApp, plan: Plan) -> None:
        self._app = app
        self._plan = plan
        self._random = random.Random(plan.seed)  # noqa: S311 faults must be repeatable
        self._left = plan.limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, and inject a fault if one is drawn."""
        affected = scope["type"] == "http" and scope["path"].startswith("/api/")
        if not affected or (self._plan.methods and scope["method"] not in self._plan.methods):
            await self._app(scope, receive, send)
            return
        fault, wait, spin = self._draw()
        await asyncio.sleep(wait)
        if fault is None:
            await self._app(scope, receive, send)
            return
        note(scope, fault=fault)
        kept: list[Message] = []

        async def keep(message: Message) -> None:
            kept.append(message)

        if fault in ("error_after", "reset_after", "truncate"):
            await self._app(scope, receive, keep)
        match fault:
            case "rate429":
                await self._rate_limited(spin).response()(scope, receive, send)
            case "error_before" | "error_after":
                when = fault.removeprefix("error_")
                status = int(self._plan.status[int(spin * len(self._plan.status))])
                detail = f"A fault was injected {when} the request took effect."
                problem = Problem("fault_injected", detail, status=status)
                await problem.response()(scope, receive, send)
            case _:
                await _break_off(kept if fault == "truncate" else [], receive, send)

    def _draw(self) -> tuple[str | None, float, float]:
        """Draw a random fault or None, a delay, and a number from 0 to 1 for further choices."""
        draw, wait = self._random.random(), self._random.uniform(*self._plan.latency)
        spin = self._random.random()
        bounds = itertools.accumulate(map(self._plan.chance, KINDS))
        fault = next(
            (kind for kind, bound in zip(KINDS, bounds, strict=True) if draw < bound), None
        )
        if self._left is not None and fault is not None:
            fault = fault if self._left else None
            self._left = max(self._left - 1, 0)
        return fault, wait, spin

    def _rate_limited(self, spin: float) -> Problem:
        after, form = str(self._plan.retry_after), self._plan.retry_after_form
        if form == "date" or (form == "both" and spin < 0.5):
            after = formatdate(time.time() + self._plan.retry_after, usegmt=True)
        detail = "A fault was injected: the request exceeds the rate limit."
        return Problem("rate_limited", detail, headers={"Retry-After": after})


async def _break_off(messages: list[Message], receive: Receive, send: Send) -> None:
    """Send the headers and half of the body, then close the connection.

    If `messages` is empty, reset the connection.
    """
    # ASGI can't close a connection, but `receive` is a method of the uvicorn object that can.
    transport: asyncio.Transport = receive.__self__.transport  # type: ignore[attr-defined]
    if messages:
        start, *rest = messages
        body = b"".join(message.get("body", b"") for message in rest)
        await send(start)
        half = body[: len(body) // 2]
        await send({"type": "http.response.body", "body": half, "more_body": True})
        transport.close()
    else:
        connection: socket.socket = transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
    # Uvicorn sends its own response unless it has noticed that the connection is closed.
    while (await receive())["type"] != "http.disconnect":
        pass
