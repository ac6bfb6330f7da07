# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What may be deleted though nobody named it: of which kind, where, how much, and on which list."""

from __future__ import annotations

import importlib
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
from ansible_collections.postroom.email.tests.support.modules import run_module
from ansible_collections.postroom.email.tests.support.service import running_service
from ansible_collections.postroom.email.tests.support.site import MODULES, Api, Site

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
#: Kind by kind, what is there beside.
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
    """Return the names and addresses of all that a tenant holds."""
    listing = site.listing()
    return {address for name, row in listing.items() for address in (name, *row.get("emails", ()))}


def lost(site: Site, **options: Any) -> set[str]:
    """Run a task that succeeds, foretold by check mode. Return what has gone."""
    before = everything(site)
    foretold = site.run(MODULE, check=True, **{**DECLARED, **options})
    result = site.run(MODULE, **{**DECLARED, **options})
    assert result == foretold
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


def test_nothing_by_default(inhabited: Site) -> None:
    """Whatever is not declared stays, and is told."""
    assert lost(inhabited, max_deletions=100) == set()
    told = inhabited.run(MODULE, **DECLARED)["undeclared"]
    assert set(told["mailboxes"]) == UNDECLARED["mailbox"]
    assert set(told["forwarders"]) == UNDECLARED["forwarder"]
    assert set(told["domains"]) == UNDECLARED["domain"]
    assert {row["address"] for row in told["aliases"]} == UNDECLARED["alias"]


def test_what_is_ignored_is_not_told(inhabited: Site) -> None:
    """By its own name, not by that of its owner or one of its aliases."""
    told = inhabited.run(MODULE, **DECLARED)["undeclared"]
    address, owner = (told["aliases"][0][key] for key in ("address", "owner"))
    (first, *others) = told["mailboxes"]
    ignore = [address.upper(), owner, first]
    less = inhabited.run(MODULE, **DECLARED, ignore=ignore)["undeclared"]
    assert less == {**told, "aliases": told["aliases"][1:], "mailboxes": others}
    nothing: dict[str, list[str]] = {kind: [] for kind in told}
    assert inhabited.run(MODULE, **DECLARED, ignore=["*"])["undeclared"] == nothing


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_each_kind_by_itself(inhabited: Site, kind: str) -> None:
    """Only what is of that kind goes; a mailbox takes its addresses along."""
    gone = UNDECLARED[kind] | ({"postmaster@two.example"} if kind == "mailbox" else set())
    count = len(UNDECLARED[kind])
    assert lost(inhabited, purge=[kind], max_deletions=count) == gone


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_one_too_many(inhabited: Site, kind: str) -> None:
    """Check mode warns of it, a real run is refused as a whole, and says what and how many."""
    count = len(UNDECLARED[kind])
    given = {"purge": [kind], "max_deletions": count - 1}
    foretold = inhabited.run(MODULE, check=True, **DECLARED, **given)
    assert (foretold["changed"], foretold["summary"]["failed"]) == (True, 0)
    result = refused(inhabited, **given)
    assert f"set max_deletions to {count}" in str(foretold["warnings"])
    assert f"set max_deletions to {count}" in result["msg"]
    for name in UNDECLARED[kind]:
        assert name in result["msg"]


@pytest.mark.parametrize(
    ("kind", "held"), [("alias", 5), ("mailbox", 3), ("forwarder", 2), ("domain", 3)]
)
def test_a_share_of_each_kind(inhabited: Site, kind: str, held: int) -> None:
    """A plan at the limit is carried out, one above it is not."""
    share = 100 * len(UNDECLARED[kind]) / held
    given = {"purge": [kind], "max_deletions": 100}
    result = refused(inhabited, max_delete_percent=share - 0.1, **given)
    assert "max_delete_percent allows" in result["msg"]
    assert len(lost(inhabited, max_delete_percent=share + 0.1, **given)) >= 1


@pytest.mark.parametrize(
    ("scope", "ignore", "gone"),
    [
        (["*@two.example"], [], {"ann@two.example", CAT, ALL}),
        (["*@TWO.example"], ["CAT@*"], {"ann@two.example", ALL}),
        (["*"], ["*@two.example", "spare.*"], {"old@one.example", "crew@one.example"}),
        (
            ["*"],
            ["postmaster@*", "old@*", "crew@*", "spare.example"],
            {"ann@two.example", CAT, ALL},
        ),
        (["b*@one.example"], [], {BOB, "postmaster@two.example"}),
        (["nothing"], [], set()),
        (["*"], ["*"], set()),
    ],
)
def test_scope_and_ignore(
    inhabited: Site, scope: list[str], ignore: list[str], gone: set[str]
) -> None:
    """What matches no scope or an ignored pattern stays, and a mailbox with such an alias too."""
    given = {"purge": EVERY_KIND, "max_deletions": 100}
    assert lost(inhabited, scope=scope, ignore=ignore, **given) == gone


def test_aliases_that_are_not_declared_at_all(inhabited: Site) -> None:
    """Where an entry has no list of aliases, its aliases are nobody's business."""
    given = {"mailboxes": [ANN], "forwarders": [], "purge": ["alias"], "max_deletions": 100}
    assert lost(inhabited, **given) == set()


def test_a_domain_that_holds_anything(inhabited: Site) -> None:
    """It is not purged, not even along with all that it holds."""
    given = {"domains": ["one.example"], "purge": EVERY_KIND, "max_deletions": 100}
    result = refused(inhabited, **given)
    assert "The domain two.example is not declared and would be purged" in result["msg"]


def test_force_counts_and_names_do_not(inhabited: Site) -> None:
    """What goes with a forced domain was not named; what is declared absent was."""
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


def run_against(url: str, **options: Any) -> dict[str, Any]:
    """Run the module against any server."""
    main = importlib.import_module(f"{MODULES}.{MODULE}").main
    access = {"api_url": url, "api_token": "any", "retries": 2, "timeout": 20}
    return run_module(main, {**access, **options})


QUIRKY = [
    domain("one.example"),
    domain("two.example"),
    mailbox(ANN, "info@one.example"),
    mailbox(BOB),
    forwarder(TEAM, ANN),
    mailbox("zoe@two.example"),
]


@pytest.mark.parametrize("rows", [2, 3, 4, 5])
def test_a_list_that_is_cut_short_in_silence(rows: int) -> None:
    """A cap on rows that nothing tells of is noticed before anything is deleted."""
    service = QuirkyService(Quirks(page_rows=rows, pages="silent"), *QUIRKY)
    with scripted(service) as server:
        result = run_against(
            server.url,
            mailboxes=[ANN],
            purge=EVERY_KIND,
            max_deletions=100,
        )
        assert result["failed"] is True
        assert result["changed"] is False
        assert server.writes == []


@pytest.mark.parametrize(
    "quirks",
    [
        Quirks(page_rows=2, pages="total", hidden=BOB),
        Quirks(page_rows=2, pages="link", hidden=BOB),
        Quirks(items=True, hidden="zoe@two.example"),
    ],
)
def test_a_list_with_a_hole(quirks: Quirks) -> None:
    """What a list lacks and a later look finds keeps its domain from being deleted."""
    service = QuirkyService(quirks, *QUIRKY)
    with scripted(service) as server:
        result = run_against(
            server.url, domains=["one.example"], mailboxes=[ANN], purge=["domain"], max_deletions=9
        )
        assert result["failed"] is True
        assert server.writes == []


def test_answers_that_break_off(tmp_path: Path) -> None:
    """Lists of which half arrives, time after time, are no lists; nothing is written."""
    with running_service(tmp_path, faults="truncate=1.0,methods=GET") as service:
        result = run_against(
            service.url, api_token=service.token, mailboxes=[], purge=EVERY_KIND, max_deletions=99
        )
        assert (result["failed"], result["changed"]) == (True, False)
        assert result["failure"]["kind"] in {"ConnectionBroken", "BadAnswer"}
        log = service.log_path.read_text("utf-8")
        assert "DELETE" not in log


def test_lists_that_break_off_now_and_then(tmp_path: Path) -> None:
    """With half of all answers cut, exactly what is to go goes in the end."""
    with (
        running_service(tmp_path / "calm") as calm,
        running_service(
            tmp_path / "cut", faults="truncate=0.5,seed=3", database=calm.database
        ) as cut,
    ):
        api = Api(calm.url, calm.token)
        api.create("one.example")
        for name in (ANN, BOB, CAT.replace("two", "one")):
            api.create(name)
        result = run_against(
            cut.url,
            api_token=cut.token,
            retries=30,
            mailboxes=[ANN, BOB],
            purge=["mailbox"],
            max_deletions=1,
        )
        assert not result["failed"], result["msg"]
        assert api.listing().keys() == {"one.example", ANN, BOB}
        api.close()
