# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Exports of random tenants: they change nothing where they come from, and make it elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ansible_collections.postroom.email.tests.support.site import Site
from ansible_collections.postroom.email.tests.support.wishes import (
    HaveForwarder,
    HaveMailbox,
    Impossible,
    Wish,
    World,
)

DOMAINS = ("home.example", "away.example", "xn--bcher-kva.example")
#: Some are special to YAML, to templates or to URLs.
LOCALS = ("a", "b", "c", "d", "null", "1e3", "o'neil", "*", "{{x}}", "#tag", "%2f", "a/b", "=", "~")
PASSWORD = "correct-horse/battery#staple"
RARE = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]

address = st.builds("{}@{}".format, st.sampled_from(LOCALS), st.sampled_from(DOMAINS))
several = st.frozensets(address, max_size=4)
outside = st.sampled_from(["x@far.example", "y+z@far.example"])
wish: st.SearchStrategy[Wish] = st.builds(
    HaveMailbox, address, several, st.just(value=True)
) | st.builds(
    HaveForwarder,
    address,
    st.frozensets(address | outside, min_size=1, max_size=3),
    st.just(value=True),
    several,
    st.just(value=True),
)


def world_of(domains: frozenset[str], wished: list[Wish]) -> World:
    """Return what comes of wishes; those that can't come true are left out."""
    world = World(domains)
    for one in wished:
        try:
            world = one.come_true(world)
        except Impossible:
            continue
    return world


worlds = st.builds(world_of, st.frozensets(st.sampled_from(DOMAINS)), st.lists(wish, max_size=8))
EVERYTHING = world_of(
    frozenset(DOMAINS),
    [
        HaveMailbox("~@home.example", frozenset(f"{one}@away.example" for one in LOCALS), True),
        HaveForwarder(
            "*@home.example", frozenset({"{{x}}@away.example", "x@far.example"}), True,
            frozenset({"a@home.example"}), True,
        ),
    ],
)  # fmt: skip


def fill(site: Site, world: World) -> None:
    """Make an empty tenant hold a world, with plain requests."""
    site.clear()
    site.create(*sorted(world.domains))
    for name, box in world.boxes.items():
        emails = [name, *sorted(box.aliases)]
        site.create(name, emails=emails, members=sorted(box.members))


def definition_of(world: World) -> dict[str, Any]:
    """Return the definition of a world, by hand."""
    boxes = sorted(world.boxes.items())
    return {
        "domains": sorted(world.domains),
        "mailboxes": [
            {"name": name, "aliases": sorted(box.aliases)} for name, box in boxes if not box.members
        ],
        "forwarders": [
            {"name": name, "members": sorted(box.members), "aliases": sorted(box.aliases)}
            for name, box in boxes
            if box.members
        ],
    }


def export(site: Site) -> dict[str, Any]:
    """Return the tenant's definition."""
    options: dict[str, Any] = {"as": "definition"}
    result = site.run("email_info", **options)
    assert not result["failed"], result
    assert "warnings" not in result
    definition: dict[str, Any] = result["definition"]
    return definition


@settings(max_examples=30, deadline=None, print_blob=True, suppress_health_check=RARE)
@given(world=worlds)
@example(world=EVERYTHING)
def test_an_export_changes_nothing(site: Site, tmp_path: Path, world: World) -> None:
    """As options and as a file, in check mode and in earnest, even if all else is purged."""
    fill(site, world)
    definition = export(site)
    assert definition == definition_of(world)
    file = tmp_path / "tenant.json"
    file.write_text(json.dumps(definition), "utf-8")
    kinds = ["alias", "mailbox", "forwarder", "domain"]
    purge: dict[str, Any] = {"purge": kinds, "max_deletions": 1000}
    site.recorder.take()
    for check in (True, False):
        for given_as in (definition, {"definition_files": [str(file)]}, {**definition, **purge}):
            result = site.run("email_tenant", check=check, **given_as)
            assert not result["failed"], result
            assert not result["changed"], result
            assert result["changes"] == []
            assert not any(result["undeclared"].values())
            assert "warnings" not in result
    assert site.recorder.take_writes() == []


@settings(max_examples=30, deadline=None, print_blob=True, suppress_health_check=RARE)
@given(world=worlds)
@example(world=EVERYTHING)
def test_what_was_converged_is_exported(site: Site, world: World) -> None:
    """A tenant made from a definition is exported as that definition."""
    site.clear()
    definition = definition_of(world)
    passwords = {mailbox["name"]: PASSWORD for mailbox in definition["mailboxes"]}
    result = site.run("email_tenant", **definition, passwords=passwords)
    assert not result["failed"], result
    assert site.listing() == world.listing()
    assert export(site) == definition
