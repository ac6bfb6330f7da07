# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A whole tenant in one task passes {create, modify, delete} x {check, real} x {first, again}."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.e2e.parity_runs import Stage, Way
from ansible_collections.postroom.email.tests.e2e.tenant_lives import (
    CREATE,
    FORMS,
    LIFE,
    PASSWORD,
    PASSWORDS,
    Operation,
    inhabit,
    shape,
)
from ansible_collections.postroom.email.tests.support.site import Site

MODULE = "email_tenant"
LIST = ("GET", "/api/principal")


@pytest.fixture
def inhabited(site: Site) -> Site:
    """Return a tenant that holds something of each kind, for tasks to leave alone."""
    inhabit(site)
    return site


def check(site: Site, **options: Any) -> dict[str, Any]:
    """Run a task in check mode, where a write at the transport fails the test."""
    before = site.listing()
    with site.recorder.forbidding_writes():
        result = site.run(MODULE, check=True, **options)
    assert site.listing() == before
    return result


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_twelve_steps(
    inhabited: Site, form: Callable[[dict[str, Any], Path], dict[str, Any]], tmp_path: Path
) -> None:
    """Each definition is foretold by check mode, comes true, and is then found true."""
    for operation in LIFE:
        given = form(operation.definition, tmp_path / operation.name)
        options = {**given, "passwords": PASSWORDS}
        before = inhabited.listing()
        foretold = check(inhabited, **options)
        assert_counts(foretold, operation)
        done = inhabited.run(MODULE, **options)
        assert done == foretold
        assert inhabited.listing() == operation.applied_to(before)
        assert_diff(done["diff"], before, inhabited.listing())
        assert inhabited.recorder.take_writes()
        assert_settled(inhabited, options)


def assert_counts(result: dict[str, Any], operation: Operation) -> None:
    """Assert that a result counts what is done, once for each object."""
    assert (result["changed"], result["failed"], result.get("warnings", [])) == (True, False, [])
    summary = result["summary"]
    assert tuple(summary[key] for key in ("created", "updated", "deleted")) == operation.counts
    assert (summary["failed"], summary["not_attempted"]) == (0, 0)
    assert len(result["results"]) == sum(operation.counts)
    assert {row["outcome"] for row in result["results"]} == {"changed"}


def assert_settled(site: Site, options: dict[str, Any]) -> None:
    """Assert that the task, run again in either mode, reads one list and reports no change."""
    before = site.listing()
    site.recorder.take()
    for run in (check, lambda site, **options: site.run(MODULE, **options)):
        again = run(site, **options)
        assert (again["changed"], again["failed"]) == (False, False)
        assert again["changes"] == again["diff"] == again["results"] == []
        requests = site.recorder.take()
        assert [(request.method, request.path) for request in requests] == [LIST]
    assert site.listing() == before


def assert_diff(diff: list[dict[str, Any]], before: dict[str, Any], after: dict[str, Any]) -> None:
    """Assert that a diff, read line for line, turns what was there into what is there."""
    state = dict(before)
    for part in diff:
        kind, _blank, name = part["before_header"].partition(" ")
        assert part["after_header"] == part["before_header"]
        assert_shows(part["before"], state.pop(name, None), kind)
        if part["after"]:
            state[name] = shown(part["after"], kind)
    assert state == after


def assert_shows(part: Any, row: dict[str, Any] | None, kind: str) -> None:
    """Assert that one side of a diff is what there is."""
    assert (shown(part, kind) if part else None) == row


def shown(part: Any, kind: str) -> dict[str, Any]:
    """Return one side of a diff in the shape of the wire."""
    value = json.loads(part) if isinstance(part, str) else part
    row = shape(value["name"], *value.get("aliases", ()), members=tuple(value.get("members", ())))
    assert ("members" in row) == (kind == "forwarder")
    return row


def test_passwords_are_left_alone_by_default(inhabited: Site) -> None:
    """Passwords of a mailbox that is there are neither sent nor reported."""
    result = inhabited.run(MODULE, mailboxes=["ann@one.example"], passwords=PASSWORDS)
    assert result["changed"] is False
    assert inhabited.recorder.take_writes() == []


def test_replaced_passwords_are_a_change_each_time(inhabited: Site) -> None:
    """With update_password=always those of declared mailboxes are replaced in each run."""
    given: dict[str, Any] = {
        "mailboxes": ["ann@one.example", "cat@two.example"],
        "passwords": {**PASSWORDS, "bob@one.example": PASSWORD},
        "update_password": "always",
    }
    for _run in range(2):
        foretold = check(inhabited, **given)
        inhabited.recorder.take()
        done = inhabited.run(MODULE, **given)
        assert done == foretold
        assert done["summary"]["updated"] == 1
        writes = inhabited.recorder.take_writes()
        assert [(write.method, write.path) for write in writes] == [
            ("PATCH", "/api/principal/ann%40one.example")
        ]


def test_a_mailbox_without_a_password(inhabited: Site) -> None:
    """Check mode warns of it, a real run fails before the first write."""
    given: dict[str, Any] = {"domains": ["new.example"], "mailboxes": ["new@new.example"]}
    foretold = check(inhabited, **given)
    assert "without a password" in str(foretold["warnings"])
    failed = inhabited.run(MODULE, **given)
    assert (failed["failed"], failed["changed"]) == (True, False)
    assert failed["problems"][0]["where"] == "mailboxes[0]"
    assert inhabited.recorder.take_writes() == []


def test_a_reviewed_plan_runs(inhabited: Site) -> None:
    """The digest that check mode gave is good for the same plan, and after it for none."""
    given = {**CREATE.definition, "passwords": PASSWORDS}
    digest = check(inhabited, **given)["plan_digest"]
    done = inhabited.run(MODULE, expected_plan=digest, **given)
    assert not done["failed"], done["msg"]
    assert done["plan_digest"] == digest
    again = inhabited.run(MODULE, expected_plan=digest, **given)
    assert (again["failed"], again["changed"]) == (False, False)


@pytest.mark.parametrize(
    "meanwhile",
    [
        {"mailboxes": [{"name": "ann@one.example", "aliases": ["hello@two.example"]}]},
        {"mailboxes": [{"name": "cat@two.example", "state": "absent"}]},
        {"forwarders": [{"name": "all@two.example", "members": ["bob@one.example"]}]},
    ],
)
def test_a_plan_that_nobody_reviewed_is_refused(inhabited: Site, meanwhile: dict[str, Any]) -> None:
    """What has changed between review and apply stands in the way, and nothing is written."""
    given: dict[str, Any] = {
        "mailboxes": [
            {"name": "ann@one.example", "aliases": ["more@one.example"]},
            {"name": "cat@two.example", "aliases": ["cats@two.example"]},
        ],
        "forwarders": [{"name": "all@two.example", "members": ["ann@one.example"]}],
        "passwords": {"cat@two.example": PASSWORD},
    }
    reviewed = check(inhabited, **given)["plan_digest"]
    assert not inhabited.run(MODULE, **meanwhile)["failed"]
    before = inhabited.listing()
    inhabited.recorder.take()
    refused = inhabited.run(MODULE, expected_plan=reviewed, **given)
    assert (refused["failed"], refused["changed"]) == (True, False)
    assert "The plan is not the one expected" in refused["msg"]
    assert inhabited.recorder.take_writes() == []
    assert inhabited.listing() == before


def test_another_definition_is_another_plan(inhabited: Site) -> None:
    """A digest says what is done, not how it is written down."""
    given = {"passwords": PASSWORDS, "domains": ["new.example"]}
    digest = check(inhabited, **given)["plan_digest"]
    assert check(inhabited, **{**given, "domains": ["NEW.example"]})["plan_digest"] == digest
    assert check(inhabited, **{**given, "domains": ["newer.example"]})["plan_digest"] != digest


@pytest.fixture
def stage(site: Site, tmp_path: Path) -> Stage:
    """Return a stage for playbooks over an empty tenant."""
    return Stage(tmp_path, site, {"passwords": PASSWORDS})


def playbook(folder: Path) -> Path:
    """Write a playbook that lives a tenant's life: each operation in its own form, four times."""
    forms = ("merged", "yaml", "inline")
    access = {"api_url": "{{ service_url }}", "api_token": "{{ service_token }}"}
    start = {
        "domains": ["one.example", "two.example"],
        "mailboxes": [
            {"name": "ann@one.example", "aliases": ["info@one.example", "ann@two.example"]}
        ],
    }
    tasks: list[dict[str, Any]] = [
        {"name": "start", "postroom.email.email_tenant": {**start, **GIVEN}}
    ]
    for operation, form in zip(LIFE, forms, strict=True):
        options = {**FORMS[form](operation.definition, folder / operation.name), **GIVEN}
        for step in ("foretold", "foretold again", "done", "done again"):
            task: dict[str, Any] = {"postroom.email.email_tenant": options, "diff": True}
            is_check = step.startswith("foretold")
            tasks.append({"name": f"{operation.name} {step}", "check_mode": is_check, **task})
    play = {
        "hosts": "localhost",
        "gather_facts": False,
        "module_defaults": {"group/postroom.email.api": access},
        "tasks": tasks,
    }
    file = folder / "life.yml"
    file.write_text(json.dumps([play]), "utf-8")
    return file


GIVEN = {"passwords": "{{ passwords }}"}


@pytest.mark.matrix
def test_a_playbook_in_both_ways(stage: Stage, tmp_path: Path) -> None:
    """In the worker and as a module: whole results, and what is printed, are the same."""
    here, modules = stage.both(playbook(tmp_path))
    assert here.run.status == modules.run.status == 0, here.run.output + modules.run.output
    assert here.results == modules.results
    assert here.shown == modules.shown
    for way, told in ((here, "in process"), (modules, "as a module")):
        assert all(one.startswith(told) for them in way.told.values() for one in them)
    for operation in LIFE:
        assert_life(here, operation)


def assert_life(way: Way, operation: Operation) -> None:
    """Assert that check mode foretells the real run, which is then found done."""
    step = {key: values[0] for key, values in way.results.items()}
    done = step[f"{operation.name} done"]
    assert step[f"{operation.name} foretold"] == step[f"{operation.name} foretold again"] == done
    assert (done["changed"], sum(operation.counts)) == (True, len(done["results"]))
    again = step[f"{operation.name} done again"]
    assert (again["changed"], again["changes"]) == (False, [])
