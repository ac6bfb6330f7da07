# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A purge deletes undeclared objects of a kind, within a scope and within limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.fakes.mail_api.quirky import (
    Quirks,
    QuirkyService,
    domain,
    forwarder,
    mailbox,
)
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import scripted
from ansible_collections.postroom.email.tests.support.service import running_service
from ansible_collections.postroom.email.tests.support.site import Api, Site

MODULE = "email_tenant"
ANN, BOB, TEAM = "ann@one.example", "bob@one.example", "team@one.example"
CAT, ALL = "cat@two.example", "all@two.example"
EVERY_KIND = ["alias", "mailbox", "forwarder", "domain"]
#: Declares one domain, one mailbox and one forwarder, all of them with fewer aliases.
DECLARED: dict[str, Any] = {
    "domains": ["one.example", "two.example"],
    "mailboxes": [{"name": ANN, "aliases": ["info@one.example"]}],
    "forwarders": [{"name": TEAM, "members": [ANN], "aliases": []}],
}
#: By kind, what else the tenant holds.
UNDECLARED = {
    "alias": {"ann@two.example", "old@one.example", "crew@one.example"},
    "mailbox": {BOB, CAT},
    "forwarder": {ALL},
    "domain": {"spare.example"},
}


@pytest.fixture
def inhabited(site: Site) -> Site:
    """Return a tenant that holds more than is declared."""
    site.create("one.example", "two.example", "spare.example")
    site.create(ANN, emails=[ANN, "info@one.example", "ann@two.example", "old@one.example"])
    site.create(BOB, emails=[BOB, "postmaster@two.example"])
    site.create(CAT)
    site.create(TEAM, emails=[TEAM, "crew@one.example"], members=[ANN])
    site.create(ALL, members=[ANN, "x@far.example"])
    site.recorder.take()
    return site


def everything(site: Site) -> set[str]:
    """Return all names and addresses of a tenant."""
    listing = site.listing()
    return {address for name, row in listing.items() for address in (name, *row.get("emails", ()))}


def lost(site: Site, **options: Any) -> set[str]:
    """Run a task that must succeed as check mode predicts, and return what it deleted."""
    before = everything(site)
    predicted = site.run(MODULE, check=True, **{**DECLARED, **options})
    result = site.run(MODULE, **{**DECLARED, **options})
    assert result == predicted
    assert not result["failed"], result["msg"]
    again = site.run(MODULE, **{**DECLARED, **options, "max_deletions": 0})
    assert (again["failed"], again["changed"]) == (False, False)
    assert everything(site) <= before
    return before - everything(site)


def refused(site: Site, **options: Any) -> dict[str, Any]:
    """Run a task that is refused before its first write, and return its result."""
    site.recorder.take()
    result = site.run(MODULE, **{**DECLARED, **options})
    assert (result["failed"], result["changed"]) == (True, False)
    assert site.recorder.take_writes() == []
    return result


def test_nothing_is_purged_by_default(inhabited: Site) -> None:
    """Undeclared objects stay and are reported, unless an ignore pattern matches them."""
    assert lost(inhabited, max_deletions=100) == set()
    reported = inhabited.run(MODULE, **DECLARED)["undeclared"]
    assert set(reported["mailboxes"]) == UNDECLARED["mailbox"]
    assert set(reported["forwarders"]) == UNDECLARED["forwarder"]
    assert set(reported["domains"]) == UNDECLARED["domain"]
    assert {row["address"] for row in reported["aliases"]} == UNDECLARED["alias"]
    address, owner = (reported["aliases"][0][key] for key in ("address", "owner"))
    (first, *others) = reported["mailboxes"]
    ignore = [address.upper(), owner, first]
    less = inhabited.run(MODULE, **DECLARED, ignore=ignore)["undeclared"]
    assert less == {**reported, "aliases": reported["aliases"][1:], "mailboxes": others}


@pytest.mark.parametrize(
    ("kind", "held"), [("alias", 5), ("mailbox", 3), ("forwarder", 2), ("domain", 3)]
)
def test_a_purge_never_exceeds_its_limits(inhabited: Site, kind: str, held: int) -> None:
    """Above a limit the whole run is refused and check mode warns; at the limit the kind goes."""
    count = len(UNDECLARED[kind])
    share = 100 * count / held
    given: dict[str, Any] = {"purge": [kind], "max_deletions": count - 1}
    predicted = inhabited.run(MODULE, check=True, **DECLARED, **given)
    assert (predicted["changed"], predicted["summary"]["failed"]) == (True, 0)
    result = refused(inhabited, **given)
    for message in (str(predicted["warnings"]), result["msg"]):
        assert f"set max_deletions to {count}" in message
    assert all(name in result["msg"] for name in UNDECLARED[kind])
    given["max_deletions"] = count
    result = refused(inhabited, max_delete_percent=share - 0.1, **given)
    assert "max_delete_percent" in result["msg"]
    # A mailbox takes its addresses along.
    gone = UNDECLARED[kind] | ({"postmaster@two.example"} if kind == "mailbox" else set())
    assert lost(inhabited, max_delete_percent=share + 0.1, **given) == gone


@pytest.mark.parametrize(
    ("scope", "ignore", "gone"),
    [
        (["*@TWO.example"], ["CAT@*"], {"ann@two.example", ALL}),
        (["*"], ["*@two.example", "spare.*"], {"old@one.example", "crew@one.example"}),
        (["b*@one.example"], [], {BOB, "postmaster@two.example"}),
        (["nothing"], [], set()),
    ],
)
def test_scope_and_ignore(
    inhabited: Site, scope: list[str], ignore: list[str], gone: set[str]
) -> None:
    """Objects out of scope or ignored stay, and so does a mailbox with an ignored alias."""
    given = {"purge": EVERY_KIND, "max_deletions": 100}
    assert lost(inhabited, scope=scope, ignore=ignore, **given) == gone


def test_a_purge_leaves_what_it_can_not_account_for(inhabited: Site) -> None:
    """Undeclared lists of aliases stay, and a domain that holds anything is not purged."""
    given: dict[str, Any] = {"purge": EVERY_KIND, "max_deletions": 100}
    silent = {"mailboxes": [ANN], "forwarders": [], "purge": ["alias"]}
    assert lost(inhabited, **{**given, **silent}) == set()
    result = refused(inhabited, **given, domains=["one.example"])
    assert "two.example" in result["msg"]


def test_force_counts_as_a_purge(inhabited: Site) -> None:
    """Objects on a forced domain count towards max_deletions, unless declared absent."""
    forced = {"domains": [{"name": "two.example", "state": "absent", "force": True}]}
    result = refused(inhabited, **forced)
    assert "set max_deletions to 4" in result["msg"]
    named = {
        **forced,
        "mailboxes": [
            {"name": ANN, "aliases": [{"address": "ann@two.example", "state": "absent"}]},
            {"name": BOB, "aliases": [{"address": "postmaster@two.example", "state": "absent"}]},
            {"name": CAT, "state": "absent"},
        ],
        "forwarders": [{"name": ALL, "state": "absent"}],
    }
    gone = {"two.example", "ann@two.example", "postmaster@two.example", CAT, ALL}
    assert lost(inhabited, **named) == gone


@pytest.mark.parametrize(
    "quirks",
    [
        Quirks(page_rows=3, pages="silent"),
        Quirks(page_rows=2, pages="total", hidden=BOB),
        Quirks(page_rows=2, pages="link", hidden=BOB),
        Quirks(items=True, hidden="zoe@two.example"),
    ],
)
def test_an_incomplete_list_deletes_nothing(site: Site, quirks: Quirks) -> None:
    """A capped list, and a list that lacks a mailbox, stop the purge before the first write."""
    held = [domain("one.example"), domain("two.example"), mailbox(ANN, "info@one.example")]
    held += [mailbox(BOB), forwarder(TEAM, ANN), mailbox("zoe@two.example")]
    # Either two.example is purged, on which a mailbox is missing in the list, or everything.
    given: dict[str, Any] = {"mailboxes": [ANN], "purge": EVERY_KIND}
    if quirks.hidden:
        given |= {"domains": ["one.example"], "purge": ["domain"]}
    with scripted(QuirkyService(quirks, *held)) as server:
        given |= {"api_url": server.url, "api_token": "any", "retries": 2}
        result = site.run(MODULE, **given, max_deletions=100)
        assert (result["failed"], result["changed"]) == (True, False)
        assert server.writes == []


@pytest.mark.full
@pytest.mark.parametrize("chance", [0.5, 1.0])
def test_truncated_lists_delete_nothing_else(site: Site, chance: float, tmp_path: Path) -> None:
    """With half of all answers cut, exactly the undeclared mailbox goes; with all, nothing."""
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
        result = site.run(MODULE, **given)
        assert result["failed"] is (chance == 1)
        left = {"one.example", ANN, BOB} | ({"cat@one.example"} if chance == 1 else set())
        assert api.listing().keys() == left
        api.close()
