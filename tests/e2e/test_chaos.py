# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Random tenants converge to random definitions despite a failing service."""

from __future__ import annotations

import time
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api import errors
from ansible_collections.postroom.email.plugins.module_utils._api.client.client import Client
from ansible_collections.postroom.email.plugins.module_utils._api.client.transport import Transport
from ansible_collections.postroom.email.plugins.module_utils._module import Outcome
from ansible_collections.postroom.email.plugins.modules.email_tenant import ensure_tenant
from ansible_collections.postroom.email.tests.support.service import RunningService, running_service
from ansible_collections.postroom.email.tests.support.tenant import Api, RecordedTenant

Definition = dict[str, list[Any]]

#: The number of tenants for each kind of fault.
SCHEDULES = {
    "all": "latency=0ms-3ms,rate429=0.06,retry_after_form=both,error_before=0.06,error_after=0.06,"
    "reset_before=0.05,reset_after=0.05,truncate=0.05,status=500/502/503/504,seed=1",
    "writes": "error_before=0.1,error_after=0.15,reset_before=0.1,reset_after=0.15,truncate=0.1,"
    "status=500/503,methods=POST/PATCH/DELETE,seed=2",
    "reads": "error_before=0.1,reset_before=0.1,truncate=0.15,status=500/502,methods=GET,seed=3",
    "crowd": "latency=0ms-2ms,rate429=0.5,seed=4",
}
TENANTS = 20
MAX_RUNS = 25
HOME, AWAY, NEW, STILL = "home.example", "away.example", "new.example", "still.example"
PASSWORD = "correct-horse/battery#staple"
#: Objects that are in no definition. One of them forwards to addresses in a definition.
BYSTANDERS: Definition = {
    "domains": [STILL],
    "mailboxes": [{"name": f"m1@{STILL}", "aliases": [f"a1@{STILL}"]}],
    "forwarders": [{"name": f"f1@{STILL}", "members": [f"m1@{HOME}"], "aliases": []}],
}
DEFAULTS: dict[str, Any] = {
    "definition_files": None,
    "update_password": "on_create",
    "ignore": [],
    "max_deletions": 1000,
    "max_delete_percent": None,
    "expected_plan": None,
    "report_unchanged": False,
    "purge": ["alias", "mailbox", "forwarder"],
    "scope": [f"*@{HOME}", f"*@{AWAY}", f"*@{NEW}"],
}
#: Characters with a special meaning in YAML, templates or URLs.
ODD = ("null", "1e3", "o'neil", "*a", "{{x}}", "#tag", "a/b", "=", "~")
INTERRUPTED = (errors.Incomplete, errors.ServiceError)


def random_definition(rng: Random, domains: list[str]) -> Definition:
    """Return a definition in which each alias has one owner and no forwarders form a loop."""

    def named(letter: str) -> list[str]:
        names = [f"{letter}{n}@{domain}" for n in "123" for domain in domains]
        return sorted(rng.sample(names, rng.randint(0, 4)))

    mailboxes, forwarders = named("m"), named("f")
    aliases: dict[str, list[str]] = {name: [] for name in mailboxes + forwarders}
    for local in ("a1", "a2", "a3", *ODD):
        for domain in domains:
            if aliases and rng.random() < 0.4:
                aliases[rng.choice(list(aliases))].append(f"{local}@{domain}")
    outside = ["x@elsewhere.example", "y+z@far.example"]
    return {
        "domains": sorted(domains),
        "mailboxes": [{"name": name, "aliases": sorted(aliases[name])} for name in mailboxes],
        "forwarders": [
            {
                "name": name,
                "members": sorted(rng.sample([*mailboxes, *outside], rng.randint(1, 2))),
                "aliases": sorted(aliases[name]),
            }
            for name in forwarders
        ],
    }


def rows_of(*definitions: Definition) -> dict[str, dict[str, Any]]:
    """Return the objects in definitions, in the API's format."""
    rows: dict[str, dict[str, Any]] = {}
    for definition in definitions:
        for name in definition["domains"]:
            rows[name] = {"id": name, "name": name, "type": "domain"}
        for entry in [*definition["mailboxes"], *definition["forwarders"]]:
            name = entry["name"]
            row: dict[str, Any] = {"id": name, "name": name, "type": "individual"}
            row["emails"] = frozenset({name, *entry["aliases"]})
            rows[name] = (
                {**row, "members": frozenset(entry["members"])} if "members" in entry else row
            )
    return rows


def fill(api: Api, *definitions: Definition) -> None:
    """Create exactly the objects in the definitions, without using the client under test."""
    api.clear()
    for name, row in sorted(rows_of(*definitions).items(), key=lambda item: "@" in item[0]):
        api.create(name, sorted(row.get("emails", ())), sorted(row.get("members", ())))


def passwords_of(definition: Definition) -> dict[str, str]:
    """Return a password for each mailbox in a definition."""
    return {entry["name"]: PASSWORD for entry in definition["mailboxes"]}


def _shortly(seconds: float) -> None:
    time.sleep(min(seconds, 0.002))


class Rig:
    """A tenant behind two services with the same database. One of the services fails."""

    def __init__(self, calm: RunningService, faulty: RunningService) -> None:
        self.api = Api(calm.url, calm.token)
        self.faulty = faulty
        self._senders = [Transport(one.url, one.token, trust_env=False) for one in (calm, faulty)]

    def run(
        self, definition: Definition, *, faults: bool = False, retries: int = 4, check: bool = False
    ) -> Outcome:
        """Converge the tenant through one of the services, with short waits."""
        sender = self._senders[faults]
        client = Client(sender, timeout=60, retries=retries, verify_delay=0.002, sleep=_shortly)
        options = {**DEFAULTS, **definition, "passwords": passwords_of(definition)}
        return ensure_tenant(client, {**options, "concurrency": 1 + retries}, check_mode=check)

    def close(self) -> None:
        """Close the connections."""
        for sender in self._senders:
            sender.close()
        self.api.close()


@pytest.fixture
def rig(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """Provide a tenant behind two services, one of which fails."""
    calm_place, faulty_place = tmp_path_factory.mktemp("calm"), tmp_path_factory.mktemp("faulty")
    faults = f"{request.param},retry_after=0"
    with (
        running_service(calm_place) as calm,
        running_service(faulty_place, faults=faults, database=calm.database) as faulty,
    ):
        rig = Rig(calm, faulty)
        yield rig
        rig.close()


@pytest.mark.full
@pytest.mark.parametrize("rig", SCHEDULES.values(), indirect=True, ids=SCHEDULES)
def test_random_tenants_converge(rig: Rig, request: pytest.FixtureRequest) -> None:
    """Despite faults, runs end in the declared state and never change other objects."""
    for seed in range(TENANTS):
        rng = Random(f"{request.node.name}-{seed}")  # noqa: S311 - any tenant will do
        start = random_definition(rng, [HOME, AWAY])
        wanted = random_definition(rng, [HOME, AWAY, NEW])
        fill(rig.api, BYSTANDERS, start)
        before, after = rows_of(BYSTANDERS, start), rows_of(BYSTANDERS, wanted)
        unchanged = {name: row for name, row in before.items() if after.get(name) == row}
        for run in range(MAX_RUNS):
            try:
                # The first runs allow few retries, so that later runs still have changes to make.
                rig.run(wanted, faults=True, retries=min(run, 4))
            except INTERRUPTED as error:
                assert_accounts(error)
                assert unchanged.items() <= rig.api.listing().items(), f"tenant {seed}"
            else:
                break
        else:
            pytest.fail(f"tenant {seed} did not converge in {MAX_RUNS} runs")
        assert rig.api.listing() == after, f"tenant {seed}"
        assert rig.run(wanted, check=True).changed is False, f"tenant {seed}"


def assert_accounts(error: errors.PostroomError) -> None:
    """Assert that an incomplete run reports the outcome of each object once."""
    if not isinstance(error, errors.Incomplete):
        return
    outcomes = [row["outcome"] for row in error.details["results"]]
    for outcome in ("failed", "not_attempted"):
        assert error.details["summary"][outcome] == outcomes.count(outcome)
    assert set(outcomes) <= {"changed", "failed", "not_attempted"}
    assert len({row["name"] for row in error.details["results"]}) == len(outcomes)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.full) for n in range(1, 20))]
)
def test_an_export_is_the_definition_of_its_tenant(tenant: RecordedTenant, seed: int) -> None:
    """The export of a tenant equals its definition, and applying it changes nothing."""
    rng = Random(seed)  # noqa: S311 - any tenant will do
    definition: dict[str, Any] = random_definition(rng, [HOME, AWAY, "xn--bcher-kva.example"])
    result = tenant.run("email_tenant", **definition, passwords=passwords_of(definition))
    assert not result["failed"], result
    assert tenant.listing() == rows_of(definition)
    export: dict[str, Any] = {"as": "definition"}
    exported = tenant.run("email_info", **export)
    assert exported["definition"] == definition
    assert "warnings" not in exported
    kinds = ["alias", "mailbox", "forwarder", "domain"]
    with tenant.recorder.forbidding_writes():
        for check in (True, False):
            again = tenant.run("email_tenant", check=check, **definition, purge=kinds)
            assert (again["failed"], again["changed"], again["changes"]) == (False, False, [])
            assert not any(again["undeclared"].values())
