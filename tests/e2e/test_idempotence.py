# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Every module passes {create, modify, delete} x {check, real} x {first, again}.

The recorder proves at the transport that check mode sends no write.
"""

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


def test_the_recorder_keeps_writes_back(site: Site) -> None:
    """A write while writes are forbidden fails the test and does not reach the service."""
    with pytest.raises(AssertionError, match="POST"), site.recorder.forbidding_writes():
        assert site.run("email_domain", name="one.example")["failed"] is True
    assert site.listing() == {}


@pytest.mark.parametrize("life", [DOMAIN, MAILBOX, ALIAS, FORWARDER], ids=lambda life: life.module)
def test_twelve_steps(inhabited: Site, life: Life) -> None:
    """Check mode predicts each operation, a real run does it, and a second run changes nothing."""
    for operation in (life.create, life.modify, life.delete):
        before = inhabited.listing()
        predicted = check(inhabited, life.module, operation)
        assert predicted["changed"] is True
        assert inhabited.listing() == before
        done = inhabited.run(life.module, **operation.options)
        assert done == predicted
        assert inhabited.recorder.take_writes()
        assert inhabited.listing() == operation.applied_to(before)
        assert_settled(inhabited, life.module, operation, done)


def check(site: Site, module: str, operation: Operation) -> dict[str, Any]:
    """Run a task in check mode, where a write at the transport fails the test."""
    with site.recorder.forbidding_writes():
        result = site.run(module, check=True, **operation.options)
    assert site.recorder.take(), "no request was sent"
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
    """By default an existing mailbox keeps its passwords; update_password=always replaces them."""
    options: dict[str, Any] = {"name": "bob@one.example", "passwords": [PASSWORD, "2"]}
    assert inhabited.run("email_mailbox", **options)["changed"] is False
    assert inhabited.recorder.take_writes() == []
    replace = Operation({**options, "update_password": "always"})
    for _ in range(2):
        predicted = check(inhabited, "email_mailbox", replace)
        done = inhabited.run("email_mailbox", **replace.options)
        assert done == predicted
        assert done["changed"] is True
        writes = inhabited.recorder.take_writes()
        assert [(write.method, write.status) for write in writes] == [("PATCH", 200)]


@pytest.mark.parametrize(
    ("module", "options"),
    [
        ("email_info", {}),
        ("email_info", {"domains": ["two.example"], "kinds": ["mailbox"]}),
        ("email_info", {"as": "definition"}),
        ("email_dns_records", {"domain": "one.example"}),
    ],
)
def test_reading_modules(inhabited: Site, module: str, options: dict[str, Any]) -> None:
    """Modules that only read return the same in both modes and never report a change."""
    with inhabited.recorder.forbidding_writes():
        results = [inhabited.run(module, check=mode, **options) for mode in (True, False, False)]
    assert results[0] == results[1] == results[2]
    assert results[0]["changed"] is False


def test_deleting_what_is_absent_changes_nothing(inhabited: Site) -> None:
    """An absent object, and an alias of an absent mailbox, is not an error either."""
    tasks: list[tuple[str, dict[str, Any]]] = [
        ("email_domain", {"name": "none.example"}),
        ("email_mailbox", {"name": "none@none.example"}),
        ("email_alias", {"address": "none@one.example", "mailbox": "bob@one.example"}),
        ("email_alias", {"address": "x@one.example", "mailbox": "none@one.example"}),
        ("email_forwarder", {"name": "none@one.example"}),
    ]
    for module, options in tasks:
        for mode in (True, False):
            result = inhabited.run(module, check=mode, state="absent", **options)
            assert (result["changed"], result["failed"]) == (False, False)
    assert inhabited.recorder.take_writes() == []


def test_lists_are_sets(inhabited: Site) -> None:
    """Neither order nor repetition matters, and only purging removes undeclared entries."""
    for members in (["cat@two.example", "ann@one.example"], ["ann@one.example"] * 2):
        options: dict[str, Any] = {"name": "all@two.example", "members": members}
        result = inhabited.run("email_forwarder", purge_members=False, **options)
        assert result["changed"] is False
    ann: dict[str, Any] = {"name": "ann@one.example", "purge_aliases": True}
    aliases = ["ann@two.example", "info@one.example", "ann@one.example"]
    for unchanged in ({**ann, "aliases": aliases}, {**ann, "aliases": [], "purge_aliases": False}):
        assert inhabited.run("email_mailbox", **unchanged)["changed"] is False
    assert inhabited.recorder.take_writes() == []
    assert inhabited.run("email_mailbox", aliases=[], **ann)["changed"] is True
    assert inhabited.listing()["ann@one.example"] == mailbox("ann@one.example")


U_LABEL, A_LABEL, FAR = "bücher.example", "xn--bcher-kva.example", "X@exämple.example"
SPELLINGS = [
    U_LABEL,
    "BÜCHER.Example",
    "XN--BCHER-KVA.EXAMPLE",
    f"{U_LABEL}.",
    "bu\u0308cher.example",
]


def spelled(domain: str) -> list[tuple[str, dict[str, Any]]]:
    """Return tasks that create one object of each kind, with the domain in one spelling."""
    return [
        ("email_domain", {"name": domain}),
        ("email_mailbox", {"name": f"Ann@{domain}", "passwords": [PASSWORD]}),
        ("email_alias", {"address": f"iNfO@{domain}", "mailbox": f"ANN@{domain}"}),
        ("email_forwarder", {"name": f"All@{domain}", "members": [f"Ann@{domain}", FAR]}),
    ]


def test_every_spelling_is_the_same_name(site: Site) -> None:
    """Objects created in one spelling are found, shown and deleted in every other."""
    for module, options in spelled(SPELLINGS[1]):
        predicted = site.run(module, check=True, **options)
        assert site.run(module, **options) == predicted
        assert predicted["changed"] is True
    assert set(site.listing()) == {A_LABEL, f"ann@{A_LABEL}", f"all@{A_LABEL}"}
    site.recorder.take()
    for spelling in SPELLINGS:
        for module, options in spelled(spelling):
            for mode in (True, False):
                result = site.run(module, check=mode, **options)
                assert (result["changed"], result["failed"]) == (False, False), result
                for key in KEYS & result.keys():
                    own = options["mailbox"] if module == "email_alias" else options["name"]
                    assert result[key]["name"].removesuffix(".") == own.removesuffix(".")
    assert site.recorder.take_writes() == []
    for module, options in reversed(spelled(SPELLINGS[2])):
        named = {
            key: value for key, value in options.items() if key not in ("passwords", "members")
        }
        assert site.run(module, state="absent", **named)["changed"] is True
    assert site.listing() == {}
