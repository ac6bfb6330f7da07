# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A purge deletes undeclared objects of the chosen kinds, within a scope and limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.support.service import running_service
from ansible_collections.postroom.email.tests.support.tenant import Api, RecordedTenant

MODULE = "email_tenant"
ANN, BOB, TEAM = "ann@one.example", "bob@one.example", "team@one.example"
CAT, ALL = "cat@two.example", "all@two.example"
#: A domain, a mailbox and a forwarder, declared with fewer aliases than they actually have.
DECLARED: dict[str, Any] = {
    "domains": ["one.example", "two.example"],
    "mailboxes": [{"name": ANN, "aliases": ["info@one.example"]}],
    "forwarders": [{"name": TEAM, "members": [ANN], "aliases": []}],
}
#: The tenant's undeclared objects, keyed by kind.
UNDECLARED = {
    "alias": {"ann@two.example", "old@one.example", "crew@one.example"},
    "mailbox": {BOB, CAT},
    "forwarder": {ALL},
    "domain": {"spare.example"},
}


@pytest.fixture
def populated(tenant: RecordedTenant) -> RecordedTenant:
    """Provide a tenant that contains more objects than the definition declares."""
    tenant.create("one.example", "two.example", "spare.example")
    tenant.create(ANN, emails=[ANN, "info@one.example", "ann@two.example", "old@one.example"])
    tenant.create(BOB, emails=[BOB, "postmaster@two.example"])
    tenant.create(CAT)
    tenant.create(TEAM, emails=[TEAM, "crew@one.example"], members=[ANN])
    tenant.create(ALL, members=[ANN, "x@far.example"])
    tenant.recorder.take()
    return tenant


def everything(tenant: RecordedTenant) -> set[str]:
    """Return all names and addresses of a tenant."""
    listing = tenant.listing()
    return {address for name, row in listing.items() for address in (name, *row.get("emails", ()))}


def lost(tenant: RecordedTenant, **options: Any) -> set[str]:
    """Run a task that must succeed and match check mode's prediction. Return the deleted names."""
    before = everything(tenant)
    predicted = tenant.run(MODULE, check=True, **{**DECLARED, **options})
    result = tenant.run(MODULE, **{**DECLARED, **options})
    assert result == predicted
    assert not result["failed"], result["msg"]
    again = tenant.run(MODULE, **{**DECLARED, **options, "max_deletions": 0})
    assert (again["failed"], again["changed"]) == (False, False)
    assert everything(tenant) <= before
    return before - everything(tenant)


def test_nothing_is_purged_by_default(populated: RecordedTenant) -> None:
    """By default, undeclared objects are reported and kept."""
    assert lost(populated, max_deletions=100) == set()
    reported = populated.run(MODULE, **DECLARED)["undeclared"]
    assert set(reported["mailboxes"]) == UNDECLARED["mailbox"]
    assert set(reported["forwarders"]) == UNDECLARED["forwarder"]
    assert set(reported["domains"]) == UNDECLARED["domain"]
    assert {row["address"] for row in reported["aliases"]} == UNDECLARED["alias"]


@pytest.mark.parametrize(
    ("kind", "held"), [("alias", 5), ("mailbox", 3), ("forwarder", 2), ("domain", 3)]
)
def test_a_purge_never_exceeds_its_limits(populated: RecordedTenant, kind: str, held: int) -> None:
    """A run that would purge more than a limit allows is refused. In check mode, it warns."""
    count = len(UNDECLARED[kind])
    share = 100 * count / held
    given: dict[str, Any] = {**DECLARED, "purge": [kind], "max_deletions": count}
    for beyond in ({"max_deletions": count - 1}, {"max_delete_percent": share - 0.1}):
        with populated.recorder.forbidding_writes():
            predicted = populated.run(MODULE, check=True, **{**given, **beyond})
            refused = populated.run(MODULE, **{**given, **beyond})
        assert (predicted["changed"], predicted["summary"]["failed"]) == (True, 0)
        assert (refused["failed"], refused["changed"]) == (True, False)
        for message in (str(predicted["warnings"]), refused["msg"]):
            assert next(iter(beyond)) in message
    # Deleting a mailbox also deletes its addresses.
    gone = UNDECLARED[kind] | ({"postmaster@two.example"} if kind == "mailbox" else set())
    assert lost(populated, max_delete_percent=share + 0.1, **given) == gone


@pytest.mark.full
@pytest.mark.parametrize("chance", [0.5, 1.0])
def test_truncated_lists_delete_nothing_else(
    tenant: RecordedTenant, chance: float, tmp_path: Path
) -> None:
    """If lists are truncated, only the undeclared mailbox or nothing at all is deleted."""
    with (
        running_service(tmp_path / "calm") as calm,
        running_service(
            tmp_path / "cut", faults=f"truncate={chance},seed=3", database=calm.database
        ) as cut,
    ):
        api = Api(calm.url, calm.token)
        for name in ("one.example", ANN, BOB, "cat@one.example"):
            api.create(name)
        given: dict[str, Any] = {"mailboxes": [ANN, BOB], "purge": ["mailbox"], "max_deletions": 1}
        given |= {"api_url": cut.url, "api_token": cut.token, "retries": 30 if chance < 1 else 2}
        result = tenant.run(MODULE, **given)
        assert result["failed"] is (chance == 1)
        left = {"one.example", ANN, BOB} | ({"cat@one.example"} if chance == 1 else set())
        assert api.listing().keys() == left
        api.close()
