# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Each injected fault occurs, and does to the request what its name says."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

import httpx
import pytest

from ansible_collections.postroom.email.tests.service.api import Api, check_problem, mailbox_body
from ansible_collections.postroom.email.tests.support.service import RunningService, running_service
from postroom_service.faults import FaultError, parse_plan


@contextlib.contextmanager
def drill(tmp_path: Path, spec: str) -> Iterator[tuple[Api, RunningService]]:
    """Run a service with faults."""
    with running_service(tmp_path, faults=spec) as service, Api(service.url, service.token) as api:
        yield api, service


def create(api: Api, name: str = "example.com") -> httpx.Response:
    """Create a domain."""
    return api.create({"name": name, "type": "domain"})


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_rate_limiting_tells_when_to_come_back(tmp_path: Path, form: str) -> None:
    """429 carries Retry-After in the form that was asked for, and the request has no effect."""
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


def test_an_error_before_the_write_leaves_nothing(tmp_path: Path) -> None:
    """The request fails and has not been carried out."""
    with drill(tmp_path, "error_before=1,status=502,limit=1") as (api, service):
        check_problem(create(api), 502, "fault_injected")
        assert api.listing() == []
        assert '"fault": "error_before"' in service.log_path.read_text()


def test_an_error_after_the_write_leaves_its_effect(tmp_path: Path) -> None:
    """The request fails and has been carried out."""
    with drill(tmp_path, "error_after=1,status=500,limit=1") as (api, _service):
        check_problem(create(api), 500, "fault_injected")
        assert [domain["name"] for domain in api.listing()] == ["example.com"]


def test_a_reset_before_the_write_leaves_nothing(tmp_path: Path) -> None:
    """The connection breaks and the request has not been carried out."""
    with drill(tmp_path, "reset_before=1,limit=1") as (api, service):
        with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
            create(api)
        assert api.listing() == []
        assert "ASGI" not in service.log_path.read_text()


def test_a_reset_after_the_write_leaves_its_effect(tmp_path: Path) -> None:
    """The connection breaks and the request has been carried out; for PATCH and DELETE, too."""
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
    """Status and headers arrive, the body is cut, the write has taken effect."""
    with drill(tmp_path, "truncate=1,limit=1") as (api, service):
        with pytest.raises(
            httpx.RemoteProtocolError, match="without sending complete message body"
        ):
            create(api)
        assert len(api.listing()) == 1
        assert "ASGI" not in service.log_path.read_text()


def test_health_and_description_are_exempt(tmp_path: Path) -> None:
    """Only the API itself is touched, so that what watches the service still can."""
    with drill(tmp_path, "error_before=1,latency=1ms") as (api, _service):
        assert api.call("GET", "/healthz").status_code == 200
        assert api.call("GET", "/openapi.json").status_code == 200
        assert api.call("GET", "/api/principal").status_code == 503


def test_the_same_seed_gives_the_same_faults(tmp_path: Path) -> None:
    """A drill can be repeated, and another seed is another drill."""

    def outcomes(place: str, seed: int) -> list[int]:
        spec = f"rate429=0.3,error_before=0.2,error_after=0.2,latency=0ms-1ms,seed={seed}"
        with drill(tmp_path / place, spec) as (api, _service):
            return [api.call("GET", "/api/principal").status_code for _ in range(25)]

    first = outcomes("a", 7)
    assert first == outcomes("b", 7)
    assert first != outcomes("c", 8)
    assert set(Counter(first)) == {200, 429, 503}


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
        "nonsense",
        "speed=3",
        "latency",
        "latency=30",
        "latency=fast",
        "latency=2s-1s",
        "rate429=2",
        "rate429=-0.1",
        "rate429=nan",
        "rate429=0.6,error_before=0.6",
        "status=404",
        "methods=BREW",
        "retry_after_form=soon",
        "limit=-1",
        "seed=x",
    ],
)
def test_a_bad_plan_is_one_sentence(spec: str) -> None:
    """A mistake in the specification is told in one line."""
    with pytest.raises(FaultError, match=r"^[^\n]+$"):
        parse_plan(spec)
