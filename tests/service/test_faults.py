# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Each injected fault has the effect on the request that its name promises."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

import httpx
import pytest
from starlette.responses import Response

from ansible_collections.postroom.email.tests.service.api import Api, check_problem, mailbox_body
from ansible_collections.postroom.email.tests.support.certificates import Authority
from ansible_collections.postroom.email.tests.support.service import RunningService, running_service
from postroom_service.faults import FaultError, Faults, parse_plan


@contextlib.contextmanager
def drill(tmp_path: Path, spec: str) -> Iterator[tuple[Api, RunningService]]:
    """Run a service with faults."""
    with running_service(tmp_path, faults=spec) as service, Api(service.url, service.token) as api:
        yield api, service


def create(api: Api, name: str = "example.com") -> httpx.Response:
    """Create a domain."""
    return api.create({"name": name, "type": "domain"})


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_rate_limiting_has_no_effect(tmp_path: Path, form: str) -> None:
    """429 carries Retry-After in the form that the plan asks for."""
    spec = f"rate429=1,limit=1,methods=POST,retry_after=7,retry_after_form={form}"
    with drill(tmp_path, spec) as (api, _service):
        refused = create(api)
        check_problem(refused, 429, "rate_limited")
        after = refused.headers["Retry-After"]
        if form == "seconds":
            assert after == "7"
        else:
            assert parsedate_to_datetime(after) > datetime(2026, 1, 1, tzinfo=UTC)
        assert api.listing() == []
        assert create(api).status_code == 201


@pytest.mark.parametrize(
    ("fault", "status", "effect"), [("error_before", 502, False), ("error_after", 500, True)]
)
def test_errors_come_before_or_after_the_write(
    fault: str, status: int, effect: bool, tmp_path: Path
) -> None:
    """The answer is an error with or without the effect; only the API itself is touched."""
    spec = f"{fault}=1,status={status},limit=1,latency=1ms"
    with drill(tmp_path, spec) as (api, service):
        assert api.call("GET", "/healthz").status_code == 200
        assert api.call("GET", "/openapi.json").status_code == 200
        check_problem(create(api), status, "fault_injected")
        assert bool(api.listing()) is effect
        assert f'"fault": "{fault}"' in service.log_path.read_text()


def test_a_reset_before_the_write_has_no_effect(tmp_path: Path) -> None:
    """The connection breaks before the request is carried out."""
    with drill(tmp_path, "reset_before=1,limit=1") as (api, service):
        with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
            create(api)
        assert api.listing() == []
        assert "ASGI" not in service.log_path.read_text()


def test_a_reset_after_the_write_keeps_its_effect(tmp_path: Path) -> None:
    """The connection breaks after a POST or a DELETE is carried out."""
    with drill(tmp_path, "reset_after=1,limit=3,methods=POST/PATCH/DELETE") as (api, service):
        with pytest.raises(httpx.TransportError):
            create(api)
        with pytest.raises(httpx.TransportError):
            api.create(mailbox_body("ann@example.com"))
        assert api.get("ann@example.com").status_code == 200
        with pytest.raises(httpx.TransportError):
            api.delete("example.com")
        assert api.listing() == []
        assert "ASGI" not in service.log_path.read_text()


def test_a_truncated_answer_ends_within_its_body(tmp_path: Path) -> None:
    """Status and headers arrive, the body is cut, and the write has taken effect."""
    with drill(tmp_path, "truncate=1,limit=1") as (api, service):
        with pytest.raises(httpx.RemoteProtocolError, match="message body"):
            create(api)
        assert len(api.listing()) == 1
        assert "ASGI" not in service.log_path.read_text()


def test_faults_work_over_https(tmp_path: Path) -> None:
    """With a certificate the URL is https, and a reset breaks the encrypted connection."""
    authority = Authority(tmp_path)
    certificate, key = authority.certificate("IP:127.0.0.1")
    arguments = ["--tls-cert", str(certificate), "--tls-key", str(key)]
    faults = "reset_after=1,limit=1,methods=POST"
    with running_service(tmp_path / "service", extra_args=arguments, faults=faults) as service:
        assert service.url.startswith("https://127.0.0.1:")
        trust = ssl.create_default_context(cafile=authority.path)
        headers = {"Authorization": f"Bearer {service.token}"}
        with httpx.Client(base_url=service.url, verify=trust, headers=headers) as client:
            body = {"name": "example.com", "type": "domain"}
            with pytest.raises(httpx.TransportError):
                client.post("/api/principal", json=body)
            assert len(client.get("/api/principal").json()) == 1
            assert client.post("/api/principal", json=body).status_code == 409
        assert "ASGI" not in service.log_path.read_text()


def outcomes(seed: int) -> list[int]:
    """Return the statuses of requests through the layer, over an application that does nothing."""

    async def ask() -> list[int]:
        spec = f"rate429=0.3,error_before=0.2,error_after=0.2,latency=0ms-1ms,seed={seed}"
        transport = httpx.ASGITransport(Faults(Response(), parse_plan(spec)))
        async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
            return [(await client.get("/api/principal")).status_code for _ in range(25)]

    return asyncio.run(ask())


def test_the_same_seed_gives_the_same_faults() -> None:
    """A drill can be repeated, and another seed gives another drill."""
    first = outcomes(7)
    assert first == outcomes(7)
    assert first != outcomes(8)
    assert set(first) == {200, 429, 503}


def test_a_plan_reads_every_key() -> None:
    """The specification of the documentation is understood."""
    plan = parse_plan(
        "latency=10ms-0.5s, rate429=0.1,retry_after=2,retry_after_form=both,error_before=0.05,"
        "error_after=0.05,status=500/503,reset_before=0.02,reset_after=0.02,truncate=0.02,"
        "methods=POST/PATCH,limit=10,seed=7"
    )
    assert plan.latency == (0.01, 0.5)
    assert plan.statuses == (500, 503)
    assert plan.methods == {"POST", "PATCH"}
    assert (plan.limit, plan.seed, plan.retry_after) == (10, 7, 2)
    assert sum(plan.chances.values()) == pytest.approx(0.26)


@pytest.mark.parametrize(
    "spec",
    [
        *("nonsense", "speed=3", "latency", "latency=30", "latency=fast", "latency=2s-1s"),
        *("rate429=2", "rate429=-0.1", "rate429=nan", "rate429=0.6,error_before=0.6"),
        *("status=404", "methods=BREW", "retry_after_form=soon", "limit=-1", "seed=x"),
    ],
)
def test_a_bad_plan_is_refused(spec: str) -> None:
    """The message is one line."""
    with pytest.raises(FaultError, match=r"^[^\n]+$"):
        parse_plan(spec)
