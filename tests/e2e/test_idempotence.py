# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Every module passes {create, modify, delete} x {check, real} x {first, again}."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.support.site import Site

PASSWORD = "correct-horse/battery#staple"


@dataclass(frozen=True)
class Operation:
    """A task, and what must be there after it beside what it found and did not name."""

    options: dict[str, Any]
    adds: dict[str, dict[str, Any]] = field(default_factory=dict)
    removes: tuple[str, ...] = ()

    def applied_to(self, listing: dict[str, Any]) -> dict[str, Any]:
        """Return the listing as the task must leave it."""
        kept = {name: shape for name, shape in listing.items() if name not in self.removes}
        return {**kept, **self.adds}


@dataclass(frozen=True)
class Life:
    """An object's life under one module: created, modified, deleted."""

    module: str
    create: Operation
    modify: Operation
    delete: Operation


def domain(name: str) -> dict[str, Any]:
    """Return the wire's shape of a domain."""
    return {"id": name, "name": name, "type": "domain"}


def mailbox(name: str, *aliases: str) -> dict[str, Any]:
    """Return the wire's shape of a mailbox."""
    emails = frozenset({name, *aliases})
    return {"id": name, "name": name, "type": "individual", "emails": emails}


def forwarder(name: str, *members: str) -> dict[str, Any]:
    """Return the wire's shape of a forwarder."""
    return {**mailbox(name), "members": frozenset(members)}


DOMAIN = Life(
    "email_domain",
    Operation({"name": "new.example"}, {"new.example": domain("new.example")}),
    # A domain has nothing to modify but what it holds.
    Operation(
        {"name": "two.example", "state": "absent", "force": True},
        {"ann@one.example": mailbox("ann@one.example", "info@one.example")},
        ("two.example", "cat@two.example", "all@two.example"),
    ),
    Operation({"name": "new.example", "state": "absent"}, removes=("new.example",)),
)

MAILBOX = Life(
    "email_mailbox",
    Operation(
        {"name": "new@one.example", "passwords": [PASSWORD], "aliases": ["hi@one.example"]},
        {"new@one.example": mailbox("new@one.example", "hi@one.example")},
    ),
    Operation(
        {"name": "new@one.example", "aliases": ["ho@two.example"], "purge_aliases": True},
        {"new@one.example": mailbox("new@one.example", "ho@two.example")},
    ),
    Operation({"name": "new@one.example", "state": "absent"}, removes=("new@one.example",)),
)

ALIAS = Life(
    "email_alias",
    Operation(
        {"address": "new@two.example", "mailbox": "ann@one.example"},
        {
            "ann@one.example": mailbox(
                "ann@one.example", "info@one.example", "ann@two.example", "new@two.example"
            )
        },
    ),
    Operation(
        {"address": "new@two.example", "mailbox": "bob@one.example", "move": True},
        {
            "ann@one.example": mailbox("ann@one.example", "info@one.example", "ann@two.example"),
            "bob@one.example": mailbox("bob@one.example", "new@two.example"),
        },
    ),
    Operation(
        {"address": "new@two.example", "mailbox": "bob@one.example", "state": "absent"},
        {"bob@one.example": mailbox("bob@one.example")},
    ),
)

FORWARDER = Life(
    "email_forwarder",
    Operation(
        {"name": "new@one.example", "members": ["ann@one.example", "x@far.example"]},
        {"new@one.example": forwarder("new@one.example", "ann@one.example", "x@far.example")},
    ),
    Operation(
        {"name": "new@one.example", "members": ["y@far.example", "ann@one.example"]},
        {"new@one.example": forwarder("new@one.example", "ann@one.example", "y@far.example")},
    ),
    Operation({"name": "new@one.example", "state": "absent"}, removes=("new@one.example",)),
)


@pytest.fixture
def inhabited(site: Site) -> Site:
    """Return a tenant that holds something of each kind, for tasks to leave alone."""
    site.create("one.example", "two.example")
    site.create(
        "ann@one.example", emails=["ann@one.example", "info@one.example", "ann@two.example"]
    )
    site.create("bob@one.example", "cat@two.example")
    site.create("all@two.example", members=["ann@one.example", "cat@two.example"])
    site.recorder.take()
    return site


@pytest.mark.parametrize("life", [DOMAIN, MAILBOX, ALIAS, FORWARDER], ids=lambda life: life.module)
def test_twelve_steps(inhabited: Site, life: Life) -> None:
    """Each operation is foretold by check mode, done once, and then found done."""
    for operation in (life.create, life.modify, life.delete):
        before = inhabited.listing()
        foretold = check(inhabited, life.module, operation)
        assert foretold["changed"] is True
        assert inhabited.listing() == before
        done = inhabited.run(life.module, **operation.options)
        assert done == foretold
        assert inhabited.recorder.take_writes()
        assert inhabited.listing() == operation.applied_to(before)
        assert_settled(inhabited, life.module, operation, done)


def check(site: Site, module: str, operation: Operation) -> dict[str, Any]:
    """Run a task in check mode, where a write at the transport fails the test."""
    with site.recorder.forbidding_writes():
        result = site.run(module, check=True, **operation.options)
    assert site.recorder.take(), "it has not even looked"
    return result


def assert_settled(site: Site, module: str, operation: Operation, done: dict[str, Any]) -> None:
    """Assert that the task, run again in either mode, only reads and reports no change."""
    before = site.listing()
    for again in (check(site, module, operation), site.run(module, **operation.options)):
        assert again["changed"] is False
        assert again["changes"] == again["diff"] == []
        assert {key: again[key] for key in KEYS & again.keys()} == {
            key: done[key] for key in KEYS & done.keys()
        }
    assert site.recorder.take_writes() == []
    assert site.listing() == before


KEYS = {"domain", "mailbox", "forwarder"}


def test_replaced_passwords_are_a_change_each_time(inhabited: Site) -> None:
    """With update_password=always both runs change, and check mode still writes nothing."""
    replace = Operation(
        {"name": "bob@one.example", "passwords": [PASSWORD, "2"], "update_password": "always"}
    )
    for _ in range(2):
        foretold = check(inhabited, "email_mailbox", replace)
        done = inhabited.run("email_mailbox", **replace.options)
        assert done == foretold
        assert done["changed"] is True
        writes = inhabited.recorder.take_writes()
        assert [(write.method, write.status) for write in writes] == [("PATCH", 200)]


def test_passwords_of_an_existing_mailbox_stay(inhabited: Site) -> None:
    """By default passwords of a mailbox that is there are neither sent nor reported."""
    result = inhabited.run("email_mailbox", name="bob@one.example", passwords=[PASSWORD])
    assert result["changed"] is False
    assert inhabited.recorder.take_writes() == []


@pytest.mark.parametrize(
    ("module", "options"),
    [
        ("email_info", {}),
        ("email_info", {"name": "ann@one.example"}),
        ("email_info", {"domains": ["two.example"], "kinds": ["mailbox"]}),
        ("email_info", {"as": "definition"}),
        ("email_dns_records", {"domain": "one.example"}),
    ],
)
def test_reading_modules(inhabited: Site, module: str, options: dict[str, Any]) -> None:
    """The modules that only read answer the same in check mode and never report a change."""
    with inhabited.recorder.forbidding_writes():
        results = [inhabited.run(module, check=mode, **options) for mode in (True, False, False)]
    assert results[0] == results[1] == results[2]
    assert results[0]["changed"] is False


@pytest.mark.parametrize(
    ("module", "options"),
    [
        ("email_domain", {"name": "none.example"}),
        ("email_mailbox", {"name": "none@one.example"}),
        ("email_mailbox", {"name": "none@none.example"}),
        ("email_alias", {"address": "none@one.example", "mailbox": "bob@one.example"}),
        ("email_alias", {"address": "x@one.example", "mailbox": "none@one.example"}),
        ("email_forwarder", {"name": "none@one.example"}),
    ],
)
def test_absent_is_absent(inhabited: Site, module: str, options: dict[str, Any]) -> None:
    """What was never there is not deleted again."""
    for mode in (True, False):
        result = inhabited.run(module, check=mode, state="absent", **options)
        assert (result["changed"], result["failed"]) == (False, False)
    assert inhabited.recorder.take_writes() == []


def test_lists_are_sets(inhabited: Site) -> None:
    """Another order, or an entry twice, is the same list; the primary address is no alias."""
    for members in (["cat@two.example", "ann@one.example"], ["ann@one.example"] * 2):
        options: dict[str, Any] = {
            "name": "all@two.example",
            "members": members,
            "purge_members": False,
        }
        assert inhabited.run("email_forwarder", **options)["changed"] is False
    aliases = ["ann@two.example", "info@one.example", "ann@one.example"]
    options = {"name": "ann@one.example", "aliases": aliases, "purge_aliases": True}
    assert inhabited.run("email_mailbox", **options)["changed"] is False
    assert inhabited.recorder.take_writes() == []


def test_untouched_unless_named(inhabited: Site) -> None:
    """Aliases that are not given stay; with an empty list and purge all of them go."""
    kept = inhabited.run("email_mailbox", name="ann@one.example")
    assert kept["changed"] is False
    added = inhabited.run("email_mailbox", name="ann@one.example", aliases=[])
    assert added["changed"] is False
    purged = inhabited.run("email_mailbox", name="ann@one.example", aliases=[], purge_aliases=True)
    assert purged["changed"] is True
    assert inhabited.listing()["ann@one.example"] == mailbox("ann@one.example")
