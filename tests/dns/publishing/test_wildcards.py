# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Publishing at names that wildcards answer for, whose records are nobody's there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.dns.publishing.stage import (
    HOME,
    INCLUDE,
    Stage,
    all_of_it,
    mx,
    records_of,
    spf,
    stage_with,
)
from ansible_collections.postroom.email.tests.support.bind import Zone

HOSTS = "hosts.example"
ALIASES = "aliases.example"
RECORDS = '* MX 20 wild.example.org.\n* TXT "v=spf1 -all"\n* TXT "somebody"\n'


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """Run a name server with wildcards of each kind."""
    zones: dict[str, Zone | str] = {
        HOME: f'@ TXT "v=spf1 -all"\nown TXT "v=spf1 -all"\nown TXT "somebody"\n{RECORDS}',
        HOSTS: "* A 192.0.2.7\n* AAAA 2001:db8::7\nold A 192.0.2.8\n",
        ALIASES: "* CNAME www.example.org.\n",
    }
    with stage_with(tmp_path, zones) as stage:
        yield stage


@pytest.mark.parametrize("domain", [f"new.{HOME}", f"a.new.{HOME}", f"new.{ALIASES}"])
def test_what_a_wildcard_gives_is_not_there(domain: str, stage: Stage) -> None:
    """It is neither merged nor in the way, and answers again for what was withdrawn."""
    before = stage.held(domain)
    done = stage.publish(records_of(domain))
    assert [change.action for change in done.publication.changes] == ["create"] * 3
    assert stage.gate.updates == 1
    assert stage.held(domain) == all_of_it()
    assert stage.publish(records_of(domain)).publication.changes == ()
    stage.publish(records_of(domain), absent=True)
    assert stage.gate.updates == 2
    assert stage.held(domain) == before
    assert stage.publish(records_of(domain), absent=True).publication.changes == ()


def test_a_key_below_a_wildcard(stage: Stage) -> None:
    """The domain is the zone's own name, where no wildcard reaches; its key's name is not."""
    stage.publish(records_of(HOME))
    assert stage.gate.updates == 1
    assert stage.held() == {**all_of_it(), "TXT": spf(INCLUDE, "-all")}


def test_the_same_as_a_wildcard_gives_is_kept(stage: Stage) -> None:
    """Somebody wrote it at the name itself, so it is theirs."""
    domain = f"own.{HOME}"
    stage.publish(records_of(domain))
    assert stage.gate.updates == 1
    held = stage.held(domain)
    assert held["MX"] == mx()
    assert set(held["TXT"]) == {'"somebody"', *spf(INCLUDE, "-all")}


def test_as_long_a_name_as_there_can_be(stage: Stage) -> None:
    """The name of its key has 253 characters, so that there is nothing below it."""
    domain = ".".join([*["a" * 63] * 3, "a" * 30, HOME])
    for actions in (["create"] * 3, []):
        done = stage.publish(records_of(domain))
        assert [change.action for change in done.publication.changes] == actions
    assert stage.held(domain) == all_of_it()


@pytest.mark.parametrize("zone", [HOSTS, ALIASES])
def test_addresses_by_a_wildcard_end(zone: str, stage: Stage) -> None:
    """A name that gets records of its own loses them, and that is foretold."""
    domain = f"shop.{zone}"
    foretold = stage.publish(records_of(domain), dry_run=True).publication
    (warning,) = foretold.warnings
    assert warning == (
        f"{domain} has addresses by a wildcard only, which ends where a name has records of its "
        f"own. Add A or AAAA records at {domain} if it is used for more than mail."
    )
    assert stage.publish(records_of(domain)).publication == foretold
    assert not stage.bind.response(domain, "A").answer
    assert not stage.publish(records_of(domain)).publication.warnings


def test_a_warning_outlives_a_lost_answer(stage: Stage) -> None:
    """At the next look the records are there, and the addresses are gone."""
    stage.gate.lost_answers = 1
    done = stage.publish(records_of(f"shop.{HOSTS}"), server=stage.server(seconds=0.5))
    assert stage.gate.updates == 1
    assert len(done.publication.warnings) == 1


@pytest.mark.parametrize("domain", [HOSTS, f"old.{HOSTS}"])
def test_addresses_of_its_own_stay(domain: str, stage: Stage) -> None:
    """Where a name is there already, no wildcard is concerned."""
    assert not stage.publish(records_of(domain)).publication.warnings
