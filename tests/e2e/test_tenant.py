# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A whole tenant in one task passes {create, modify, delete} x {check, real} x {first, again}."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.postroom.email.tests.fakes.mail_api.quirky import (
    QuirkyService,
    domain,
    forwarder,
    mailbox,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import problem, scripted
from ansible_collections.postroom.email.tests.support.site import Site

MODULE = "email_tenant"
LIST = ("GET", "/api/principal")
PASSWORD = "correct-horse/battery#staple"
PASSWORDS = {"new@new.example": PASSWORD, "ann@one.example": [PASSWORD, "second-Quokka%17"]}
PAST, FUTURE = "2001-02-03", "2999-12-31"


def shape(name: str, *aliases: str, members: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return a principal as the service lists it, with sets for lists."""
    if "@" not in name:
        return {"id": name, "name": name, "type": "domain"}
    row = {"id": name, "name": name, "type": "individual", "emails": frozenset({name, *aliases})}
    return {**row, "members": frozenset(members)} if members else row


@dataclass(frozen=True)
class Operation:
    """A definition, the principals that it adds or changes, and those that it removes.

    :param counts: how many objects are created, updated, deleted
    """

    definition: dict[str, Any]
    counts: tuple[int, int, int]
    adds: list[dict[str, Any]] = field(default_factory=list)
    removes: tuple[str, ...] = ()

    def applied_to(self, listing: dict[str, Any]) -> dict[str, Any]:
        """Return the listing as the task must leave it."""
        kept = {name: row for name, row in listing.items() if name not in self.removes}
        return {**kept, **{row["name"]: row for row in self.adds}}


CREATE = Operation(
    {
        "domains": ["new.example", {"name": "one.example"}],
        "mailboxes": [
            "ann@one.example",
            {
                "name": "new@new.example",
                "aliases": [
                    "hi@new.example",
                    {"address": "spring@new.example", "expires": FUTURE},
                    {"address": "autumn@new.example", "expires": PAST},
                ],
            },
        ],
        "forwarders": [
            {
                "name": "all@new.example",
                "members": ["new@new.example", "x@far.example"],
                "aliases": ["everyone@new.example"],
                "expires": FUTURE,
            },
            {"name": "former@new.example", "members": ["x@far.example"], "expires": PAST},
        ],
    },
    (3, 0, 0),
    [
        shape("new.example"),
        shape("new@new.example", "hi@new.example", "spring@new.example"),
        shape(
            "all@new.example", "everyone@new.example", members=("new@new.example", "x@far.example")
        ),
    ],
)
#: An alias moves to another mailbox, one is declared absent, one has expired.
MODIFY = Operation(
    {
        "domains": ["new.example"],
        "mailboxes": [
            {"name": "ann@one.example", "aliases": ["ann@two.example"]},
            {
                "name": "new@new.example",
                "aliases": [
                    {"address": "hi@new.example", "state": "absent"},
                    {"address": "spring@new.example", "expires": PAST},
                    "info@one.example",
                ],
            },
        ],
        "forwarders": [
            {"name": "all@new.example", "members": ["ann@one.example", "y@far.example"]},
            {"name": "later@new.example", "members": ["all@new.example"]},
        ],
    },
    (1, 3, 0),
    [
        shape("ann@one.example", "ann@two.example"),
        shape("new@new.example", "info@one.example"),
        shape(
            "all@new.example", "everyone@new.example", members=("ann@one.example", "y@far.example")
        ),
        shape("later@new.example", members=("all@new.example",)),
    ],
)
DELETE = Operation(
    {
        "domains": [{"name": "new.example", "state": "absent"}],
        "mailboxes": [{"name": "new@new.example", "state": "absent"}],
        "forwarders": [
            {"name": "all@new.example", "members": ["x@far.example"], "expires": PAST},
            {"name": "later@new.example", "state": "absent"},
        ],
    },
    (0, 0, 4),
    removes=("new.example", "new@new.example", "all@new.example", "later@new.example"),
)


@pytest.fixture
def inhabited(site: Site) -> Site:
    """Return a tenant that holds something of each kind, for tasks to leave alone."""
    site.create("one.example", "two.example")
    emails = ["ann@one.example", "info@one.example", "ann@two.example"]
    site.create("ann@one.example", emails=emails)
    site.create("bob@one.example", "cat@two.example")
    site.create("all@two.example", members=["ann@one.example", "cat@two.example"])
    site.recorder.take()
    return site


def check(site: Site, **options: Any) -> dict[str, Any]:
    """Run a task in check mode, where a write at the transport fails the test."""
    before = site.listing()
    with site.recorder.forbidding_writes():
        result = site.run(MODULE, check=True, **options)
    assert site.listing() == before
    return result


@pytest.mark.parametrize("form", ["inline", "files"])
def test_twelve_steps(inhabited: Site, form: str, tmp_path: Path) -> None:
    """Check mode predicts each definition, a real run applies it, and a second changes nothing."""
    for operation in (CREATE, MODIFY, DELETE):
        definition = operation.definition
        if form == "files":
            by_hand, by_program = tmp_path / "tenant.yml", tmp_path / "tenant.json"
            forwarders = {"forwarders": definition["forwarders"]}
            by_program.write_text(json.dumps(forwarders, sort_keys=True), "utf-8")
            rest = {key: definition[key] for key in ("domains", "mailboxes")}
            by_hand.write_text(yaml.safe_dump(rest), "utf-8")
            definition = {"definition_files": [str(by_hand), str(by_program)]}
        options = {**definition, "passwords": PASSWORDS}
        before = inhabited.listing()
        predicted = check(inhabited, **options)
        assert_counts(predicted, operation)
        done = inhabited.run(MODULE, **options)
        assert done == predicted
        assert inhabited.listing() == operation.applied_to(before)
        assert_diff(done["diff"], before, inhabited.listing())
        assert inhabited.recorder.take_writes()
        assert_settled(inhabited, options)


def assert_counts(result: dict[str, Any], operation: Operation) -> None:
    """Assert that a result counts each object once."""
    assert (result["changed"], result["failed"], result.get("warnings", [])) == (True, False, [])
    summary = result["summary"]
    assert tuple(summary[key] for key in ("created", "updated", "deleted")) == operation.counts
    assert (summary["failed"], summary["not_attempted"]) == (0, 0)
    assert len(result["results"]) == sum(operation.counts)
    assert {row["outcome"] for row in result["results"]} == {"changed"}


def assert_settled(site: Site, options: dict[str, Any]) -> None:
    """Assert that another run in either mode reads one list and reports no change."""
    before = site.listing()
    for mode in (True, False):
        site.recorder.take()
        again = site.run(MODULE, check=mode, **options)
        assert (again["changed"], again["failed"]) == (False, False)
        assert again["changes"] == again["diff"] == again["results"] == []
        requests = site.recorder.take()
        assert [(request.method, request.path) for request in requests] == [LIST]
    assert site.listing() == before


def assert_diff(diff: list[dict[str, Any]], before: dict[str, Any], after: dict[str, Any]) -> None:
    """Assert that a diff turns the old listing into the new one."""
    state = dict(before)
    for part in diff:
        name = part["before_header"].partition(" ")[2]
        assert part["after_header"] == part["before_header"]
        assert (shown(part["before"]) if part["before"] else None) == state.pop(name, None)
        if part["after"]:
            state[name] = shown(part["after"])
    assert state == after


def shown(part: Any) -> dict[str, Any]:
    """Return one side of a diff in the shape of the listing."""
    value = json.loads(part) if isinstance(part, str) else part
    return shape(value["name"], *value.get("aliases", ()), members=tuple(value.get("members", ())))


def test_replaced_passwords_are_a_change_each_time(inhabited: Site) -> None:
    """With update_password=always, those of declared mailboxes are replaced in each run."""
    given: dict[str, Any] = {
        "mailboxes": ["ann@one.example", "cat@two.example"],
        "passwords": {**PASSWORDS, "bob@one.example": PASSWORD},
    }
    assert inhabited.run(MODULE, **given)["changed"] is False
    assert inhabited.recorder.take_writes() == []
    given["update_password"] = "always"
    for _run in range(2):
        predicted = check(inhabited, **given)
        done = inhabited.run(MODULE, **given)
        assert done == predicted
        assert done["summary"]["updated"] == 1
        writes = inhabited.recorder.take_writes()
        assert [(write.method, write.path) for write in writes] == [
            ("PATCH", "/api/principal/ann%40one.example")
        ]


def test_a_reviewed_plan_runs(inhabited: Site) -> None:
    """The digest of check mode allows the same plan, in any spelling, and no other."""
    given = {**CREATE.definition, "passwords": PASSWORDS}
    digest = check(inhabited, **given)["plan_digest"]
    spelled = {**given, "domains": ["NEW.example", "one.example"]}
    assert check(inhabited, **spelled)["plan_digest"] == digest
    different = {**given, "domains": ["new.example", "newer.example"]}
    assert check(inhabited, **different)["plan_digest"] != digest
    done = inhabited.run(MODULE, expected_plan=digest, **given)
    assert (done["failed"], done["plan_digest"]) == (False, digest)
    again = inhabited.run(MODULE, expected_plan=digest, **given)
    assert (again["failed"], again["changed"]) == (False, False)


def test_a_changed_plan_is_refused(inhabited: Site) -> None:
    """If the tenant changed between review and apply, nothing is written."""
    given: dict[str, Any] = {
        "mailboxes": [{"name": "ann@one.example", "aliases": ["more@one.example"]}],
        "forwarders": [{"name": "all@two.example", "members": ["ann@one.example"]}],
    }
    changed = {"name": "all@two.example", "members": ["bob@one.example"]}
    meanwhile: dict[str, Any] = {"forwarders": [changed]}
    reviewed = check(inhabited, **given)["plan_digest"]
    assert not inhabited.run(MODULE, **meanwhile)["failed"]
    before = inhabited.listing()
    with inhabited.recorder.forbidding_writes():
        refused = inhabited.run(MODULE, expected_plan=reviewed, **given)
    assert (refused["failed"], refused["changed"]) == (True, False)
    assert "The plan is not the one expected" in refused["msg"]
    assert inhabited.listing() == before


@pytest.mark.parametrize(("status", "times"), [(422, 1), (503, 2)])
def test_a_partial_run_is_finished_by_the_next(site: Site, status: int, times: int) -> None:
    """A failed object stops only those that need it, and the result accounts for each."""
    old, ann = "old@one.example", "ann@one.example"
    service = QuirkyService(
        None,
        domain("one.example"),
        mailbox(ann, "info@one.example"),
        mailbox(old),
        forwarder("team@one.example", ann),
    )
    new, team = "new@two.example", "team@one.example"
    given: dict[str, Any] = {
        "domains": ["two.example"],
        "mailboxes": [
            {"name": ann, "aliases": []},
            {"name": new, "aliases": ["info@one.example"]},
            {"name": old, "state": "absent"},
        ],
        "forwarders": [{"name": team, "members": [ann, "x@far.example"]}],
        "passwords": {new: PASSWORD},
        "retries": 1,
    }
    with scripted(service) as server:
        given |= {"api_url": server.url, "api_token": "any"}
        service.disturb("POST", problem(status, "Not now."), times=times)
        result = site.run(MODULE, **given)
        assert (result["failed"], result["changed"]) == (True, True)
        outcomes = {row["name"]: row["outcome"] for row in result["results"]}
        assert outcomes == {
            "two.example": "failed",
            new: "not_attempted",
            # The alias stays with its mailbox until the other can take it.
            ann: "not_attempted",
            old: "changed",
            team: "changed",
        }
        assert (result["summary"]["failed"], result["summary"]["not_attempted"]) == (1, 2)
        assert {change["name"] for change in result["changes"]} == {old, team}
        assert "two.example" in result["msg"]
        assert "info@one.example" in service.principals[ann]["emails"]
        assert site.run(MODULE, **given)["failed"] is False
        assert site.run(MODULE, **given)["changed"] is False
        assert set(service.principals[new]["emails"]) == {new, "info@one.example"}
        assert set(service.principals[ann]["emails"]) == {ann}
