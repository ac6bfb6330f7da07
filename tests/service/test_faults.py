# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Each injected fault affects a request as the fault's name suggests."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from pathlib import Path

import httpx
import pytest
from starlette.responses import Response

from ansible_collections.postroom.email.tests.service.api import Api, check_problem, unused_domain
from ansible_collections.postroom.email.tests.support.service import RunningService, running_service
from postroom_service.faults import KINDS, FaultError, Faults, parse_plan

Drill = Callable[[str], AbstractContextManager[tuple[Api, RunningService]]]


@pytest.fixture
def drill(tmp_path: Path, database: str | None) -> Drill:
    """Provide a function that runs a service with faults."""

    @contextlib.contextmanager
    def run(spec: str) -> Iterator[tuple[Api, RunningService]]:
        tenant = unused_domain()
        with (
            running_service(tmp_path, faults=spec, database=database, tenant=tenant) as service,
            Api(service.url, service.token) as api,
        ):
            yield api, service

    return run


@pytest.fixture
def name() -> str:
    """Provide the name of a new domain."""
    return unused_domain()


def create(api: Api, name: str) -> httpx.Response:
    """Create a domain."""
    return api.create({"name": name, "type": "domain"})


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_rate_limiting_has_no_effect(drill: Drill, name: str, form: str) -> None:
    """A rate-limited request has no effect. Retry-After has the configured format."""
    spec = f"rate429=1,limit=1,methods=POST,retry_after=7,retry_after_form={form}"
    with drill(spec) as (api, _service):
        refused = create(api, name)
        check_problem(refused, 429, "rate_limited")
        after = refused.headers["Retry-After"]
        if form == "seconds":
            assert after == "7"
        else:
            assert parsedate_to_datetime(after) > datetime(2026, 1, 1, tzinfo=UTC)
        assert api.listing() == []
        assert create(api, name).status_code == 201


@pytest.mark.parametrize(
    ("fault", "status", "effect"), [("error_before", 502, False), ("error_after", 500, True)]
)
def test_errors_come_before_or_after_the_write(
    fault: str, status: int, effect: bool, drill: Drill, name: str
) -> None:
    """An error is returned before or after a request takes effect, and only for API requests."""
    spec = f"{fault}=1,status={status},limit=1,latency=1ms"
    with drill(spec) as (api, service):
        assert api.call("GET", "/healthz").status_code == 200
        assert api.call("GET", "/openapi.json").status_code == 200
        check_problem(create(api, name), status, "fault_injected")
        assert bool(api.listing()) is effect
        assert f'"fault": "{fault}"' in service.log_path.read_text()


@pytest.mark.parametrize(
    ("fault", "effect"), [("reset_before", False), ("reset_after", True), ("truncate", True)]
)
def test_a_broken_answer_is_before_or_after_the_write(
    fault: str, effect: bool, drill: Drill, name: str
) -> None:
    """A connection breaks before or after a write takes effect, or within the response."""
    with drill(f"{fault}=1,limit=2,methods=POST/DELETE") as (api, service):
        for call in (partial(create, api, name), partial(api.delete, name)):
            with pytest.raises(httpx.TransportError):
                call()
            assert bool(api.listing()) is (effect and call.func is create)
        assert "ASGI" not in service.log_path.read_text()


def outcomes(seed: int) -> list[int]:
    """Inject faults into an application that does nothing, and return the responses' statuses."""

    async def ask() -> list[int]:
        spec = f"rate429=0.3,error_before=0.2,error_after=0.2,latency=0ms-1ms,seed={seed}"
        transport = httpx.ASGITransport(Faults(Response(), parse_plan(spec)))
        async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
            return [(await client.get("/api/principal")).status_code for _ in range(25)]

    return asyncio.run(ask())


def test_the_same_seed_gives_the_same_faults() -> None:
    """The same seed produces the same faults, and another seed produces others."""
    first = outcomes(7)
    assert first == outcomes(7)
    assert first != outcomes(8)
    assert set(first) == {200, 429, 503}


def test_a_plan_reads_every_key() -> None:
    """A specification that contains every key is parsed correctly."""
    plan = parse_plan(
        "latency=10ms-0.5s, rate429=0.1,retry_after=2,retry_after_form=both,error_before=0.05,"
        "error_after=0.05,status=500/503,reset_before=0.02,reset_after=0.02,truncate=0.02,"
        "methods=POST/PATCH,limit=10,seed=7"
    )
    assert plan.latency == (0.01, 0.5)
    assert plan.status == ("500", "503")
    assert plan.methods == {"POST", "PATCH"}
    assert (plan.limit, plan.seed, plan.retry_after) == (10, 7, 2)
    assert sum(map(plan.chance, KINDS)) == pytest.approx(0.26)


@pytest.mark.parametrize(
    "spec",
    [
        *("nonsense", "speed=3", "latency", "latency=30", "latency=fast", "latency=2s-1s"),
        *("rate429=2", "rate429=-0.1", "rate429=nan", "rate429=0.6,error_before=0.6"),
        *("status=404", "methods=BREW", "retry_after_form=soon", "limit=-1", "seed=x"),
    ],
)
def test_a_bad_plan_is_refused(spec: str) -> None:
    """An invalid specification is refused with a one-line message."""
    with pytest.raises(FaultError, match=r"^[^\n]+$"):
        parse_plan(spec)
