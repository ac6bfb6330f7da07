# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Test every module with {create, modify, delete} x {check, real run} x {first, second run}."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.support.tenant import RecordedTenant

PASSWORD = "correct-horse/battery#staple"
PAST, FUTURE = "2001-02-03", "2999-12-31"
ANN, BOB, NEW = "ann@one.example", "bob@one.example", "new@one.example"
ALL, LATER = "all@new.example", "later@new.example"


@dataclass(frozen=True)
class Operation:
    """A task, the objects that it must create or change, and the names that it must remove."""

    options: dict[str, Any]
    adds: list[dict[str, Any]] = field(default_factory=list)
    removes: tuple[str, ...] = ()

    def applied_to(self, listing: dict[str, Any]) -> dict[str, Any]:
        """Return the tenant's objects after the task."""
        kept = {name: shape for name, shape in listing.items() if name not in self.removes}
        return {**kept, **{shape["name"]: shape for shape in self.adds}}


def domain(name: str) -> dict[str, Any]:
    """Return a domain in the API's format."""
    return {"id": name, "name": name, "type": "domain"}


def mailbox(name: str, *aliases: str) -> dict[str, Any]:
    """Return a mailbox in the API's format."""
    emails = frozenset({name, *aliases})
    return {"id": name, "name": name, "type": "individual", "emails": emails}


def forwarder(name: str, *members: str, aliases: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return a forwarder in the API's format."""
    return {**mailbox(name, *aliases), "members": frozenset(members)}


#: The operations with which each module creates, modifies and deletes objects.
LIVES = {
    "email_domain": [
        Operation({"name": "new.example"}, [domain("new.example")]),
        # A domain itself can't be modified, only its contents.
        Operation(
            {"name": "two.example", "state": "absent", "force": True},
            [mailbox(ANN, "info@one.example")],
            ("two.example", "cat@two.example", "all@two.example"),
        ),
        Operation({"name": "new.example", "state": "absent"}, removes=("new.example",)),
    ],
    "email_mailbox": [
        Operation(
            {"name": NEW, "passwords": [PASSWORD], "aliases": ["hi@one.example"]},
            [mailbox(NEW, "hi@one.example")],
        ),
        Operation(
            {"name": NEW, "aliases": ["ho@two.example"], "purge_aliases": True},
            [mailbox(NEW, "ho@two.example")],
        ),
        Operation({"name": NEW, "state": "absent"}, removes=(NEW,)),
    ],
    "email_alias": [
        Operation(
            {"address": "new@two.example", "mailbox": ANN},
            [mailbox(ANN, "info@one.example", "ann@two.example", "new@two.example")],
        ),
        Operation(
            {"address": "new@two.example", "mailbox": BOB, "move": True},
            [
                mailbox(ANN, "info@one.example", "ann@two.example"),
                mailbox(BOB, "new@two.example"),
            ],
        ),
        Operation(
            {"address": "new@two.example", "mailbox": BOB, "state": "absent"}, [mailbox(BOB)]
        ),
    ],
    "email_forwarder": [
        Operation(
            {"name": NEW, "members": [ANN, "x@far.example"]}, [forwarder(NEW, ANN, "x@far.example")]
        ),
        Operation(
            {"name": NEW, "members": ["y@far.example", ANN]}, [forwarder(NEW, ANN, "y@far.example")]
        ),
        Operation({"name": NEW, "state": "absent"}, removes=(NEW,)),
    ],
    "email_tenant": [
        Operation(
            {
                "domains": ["new.example", {"name": "one.example"}],
                "mailboxes": [
                    ANN,
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
                        "name": ALL,
                        "members": ["new@new.example", "x@far.example"],
                        "aliases": ["everyone@new.example"],
                        "expires": FUTURE,
                    },
                    {"name": "former@new.example", "members": ["x@far.example"], "expires": PAST},
                ],
                "passwords": {"new@new.example": PASSWORD},
            },
            [
                domain("new.example"),
                mailbox("new@new.example", "hi@new.example", "spring@new.example"),
                forwarder(
                    ALL, "new@new.example", "x@far.example", aliases=("everyone@new.example",)
                ),
            ],
        ),
        # One alias moves to another mailbox, one is declared absent, and one has expired.
        Operation(
            {
                "domains": ["new.example"],
                "mailboxes": [
                    {"name": ANN, "aliases": ["ann@two.example"]},
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
                    {"name": ALL, "members": [ANN, "y@far.example"]},
                    {"name": LATER, "members": [ALL]},
                ],
            },
            [
                mailbox(ANN, "ann@two.example"),
                mailbox("new@new.example", "info@one.example"),
                forwarder(ALL, ANN, "y@far.example", aliases=("everyone@new.example",)),
                forwarder(LATER, ALL),
            ],
        ),
        Operation(
            {
                "domains": [{"name": "new.example", "state": "absent"}],
                "mailboxes": [{"name": "new@new.example", "state": "absent"}],
                "forwarders": [
                    {"name": ALL, "members": ["x@far.example"], "expires": PAST},
                    {"name": LATER, "state": "absent"},
                ],
            },
            removes=("new.example", "new@new.example", ALL, LATER),
        ),
    ],
}


@pytest.fixture
def populated(tenant: RecordedTenant) -> RecordedTenant:
    """Provide a tenant that contains an object of each kind, which tasks must not change."""
    tenant.create("one.example", "two.example")
    tenant.create(ANN, emails=[ANN, "info@one.example", "ann@two.example"])
    tenant.create(BOB, "cat@two.example")
    tenant.create("all@two.example", members=[ANN, "cat@two.example"])
    tenant.recorder.take()
    return tenant


def test_the_recorder_keeps_writes_back(tenant: RecordedTenant) -> None:
    """A forbidden write fails the test, and does not reach the service."""
    with pytest.raises(AssertionError, match="POST"), tenant.recorder.forbidding_writes():
        assert tenant.run("email_domain", name="one.example")["failed"] is True
    assert tenant.listing() == {}


def check(tenant: RecordedTenant, module: str, options: dict[str, Any]) -> dict[str, Any]:
    """Run a task in check mode, and fail the test if it sends a write."""
    with tenant.recorder.forbidding_writes():
        result = tenant.run(module, check=True, **options)
    assert tenant.recorder.take(), "no request was sent"
    return result


@pytest.mark.parametrize("module", LIVES)
def test_twelve_steps(populated: RecordedTenant, module: str) -> None:
    """Check mode predicts each operation, a real run performs it, and a second changes nothing."""
    for operation in LIVES[module]:
        before = populated.listing()
        predicted = check(populated, module, operation.options)
        assert (predicted["changed"], predicted["failed"]) == (True, False)
        assert populated.listing() == before
        assert populated.run(module, **operation.options) == predicted
        assert populated.recorder.take_writes()
        after = populated.listing()
        assert after == operation.applied_to(before)
        checked = check(populated, module, operation.options)
        for again in (checked, populated.run(module, **operation.options)):
            assert (again["changed"], again["failed"]) == (False, False)
            assert again["changes"] == again["diff"] == []
            for key in {"domain", "mailbox", "forwarder"} & again.keys():
                assert again[key] == predicted[key]
        assert populated.recorder.take_writes() == []
        assert populated.listing() == after


U_LABEL, A_LABEL = "bücher.example", "xn--bcher-kva.example"
SPELLINGS = [U_LABEL, "BÜCHER.Example", "XN--BCHER-KVA.EXAMPLE", "bu\u0308cher.example."]


def spelled(domain: str) -> list[tuple[str, dict[str, Any]]]:
    """Return tasks that create an object of each kind, on the domain in the given spelling."""
    members = [f"Ann@{domain}", "X@exämple.example"]
    return [
        ("email_domain", {"name": domain}),
        ("email_mailbox", {"name": f"Ann@{domain}", "passwords": [PASSWORD]}),
        ("email_alias", {"address": f"iNfO@{domain}", "mailbox": f"ANN@{domain}"}),
        ("email_forwarder", {"name": f"All@{domain}", "members": members}),
    ]


def test_every_spelling_is_the_same_name(tenant: RecordedTenant) -> None:
    """An object that was created in one spelling of its domain is found in every other spelling."""
    for module, options in spelled(SPELLINGS[1]):
        predicted = tenant.run(module, check=True, **options)
        assert tenant.run(module, **options) == predicted
        assert predicted["changed"] is True
    assert set(tenant.listing()) == {A_LABEL, f"ann@{A_LABEL}", f"all@{A_LABEL}"}
    tenant.recorder.take()
    for spelling in SPELLINGS:
        for module, options in spelled(spelling):
            result = tenant.run(module, **options)
            assert (result["changed"], result["failed"]) == (False, False), result
            (shown,) = (result[key] for key in ("domain", "mailbox", "forwarder") if key in result)
            own = options.get("mailbox") or options["name"]
            assert shown["name"].removesuffix(".") == own.removesuffix(".")
    assert tenant.recorder.take_writes() == []
