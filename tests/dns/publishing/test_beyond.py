# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Publishing where records lead elsewhere: keys behind aliases, SPF records that include others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.errors import Refused
from ansible_collections.postroom.email.plugins.module_utils._api.nameservers.resolving import (
    Resolvers,
)
from ansible_collections.postroom.email.plugins.module_utils._api.records.lookups import Lookup
from ansible_collections.postroom.email.plugins.module_utils._api.records.observed import Server
from ansible_collections.postroom.email.tests.dns.publishing.stage import (
    HOME,
    INCLUDE,
    SELECTOR,
    Stage,
    all_of_it,
    dkim,
    public_key,
    records_of,
    spf,
    stage_with,
)

ELSEWHERE = "keys.elsewhere.example"
# Short, so that all of them fit into one string.
MAILERS = [f"include:s{number}.test" for number in range(11)]


class Told:
    """Answers all questions alike, and keeps them."""

    def __init__(self, answer: Lookup) -> None:
        self.answer = answer
        self.asked: list[tuple[str, str]] = []

    def __call__(self, name: str, kind: str) -> Lookup:
        """Answer one question."""
        self.asked.append((name, kind))
        return self.answer


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """Run a name server with a domain, and all that SPF records lead to."""
    records = {"test": '* TXT "v=spf1 -all"', "example.net": 'mail TXT "v=spf1 -all"'}
    with stage_with(tmp_path, {HOME: "", **records}) as stage:
        yield stage


def asking(stage: Stage) -> Resolvers:
    """Return a way to the rest of the world, which that name server knows."""
    return Resolvers([Server("", stage.bind.address, stage.bind.port)], 5.0)


def at_key(stage: Stage, *lines: str) -> None:
    """Put records at the name of the key, and others."""
    stage.bind.change(HOME, add=[f"{SELECTOR}.{HOME}. 60 {lines[0]}", *lines[1:]])


def test_an_alias_of_the_key_is_left(stage: Stage) -> None:
    """Over two steps, in the same zone: the rest is published, and withdrawn."""
    at_key(
        stage,
        f"CNAME one.{HOME}.",
        f"one.{HOME}. 60 CNAME two.{HOME}.",
        f"two.{HOME}. 60 TXT {dkim()[0]}",
    )
    done = stage.publish(records_of(HOME))
    assert [str(change.subject) for change in done.publication.changes] == [
        f"{HOME} MX", f"{HOME} TXT"
    ]  # fmt: skip
    # BIND hands over what is behind the alias as well, under its own name.
    assert stage.held() == {**all_of_it(), "DKIM": ()}
    assert stage.publish(records_of(HOME)).publication.changes == ()
    assert len(stage.publish(records_of(HOME), absent=True).publication.changes) == 2


def test_an_alias_of_a_key_that_others_keep(stage: Stage) -> None:
    """What is there is asked elsewhere, and has to be the key."""
    at_key(stage, f"CNAME {ELSEWHERE}.")
    for found in (Lookup("found", ("v=DKIM1; k=rsa; p=AAAA",)), Lookup("void"), Lookup("failed")):
        with pytest.raises(Refused, match=rf"is an alias \(CNAME\) of {ELSEWHERE}"):
            stage.publish(records_of(HOME), ask=Told(found))
    assert stage.gate.updates == 0
    told = Told(Lookup("found", (f"v=DKIM1; k=rsa; p={public_key()}",)))
    assert len(stage.publish(records_of(HOME), ask=told).publication.changes) == 2
    assert told.asked == [(ELSEWHERE, "TXT")]


def test_too_long_a_chain_of_aliases(stage: Stage) -> None:
    """Not everybody who receives mail follows it, so it is in the way."""
    chain = [f"a{number}.{HOME}. 60 CNAME a{number + 1}.{HOME}." for number in range(9)]
    at_key(stage, f"CNAME a0.{HOME}.", *chain, f"a9.{HOME}. 60 TXT {dkim()[0]}")
    with pytest.raises(Refused, match="CNAME"):
        stage.publish(records_of(HOME))


def own_spf(stage: Stage, *terms: str) -> None:
    """Let the owner have an SPF record."""
    stage.bind.change(HOME, add=[f'{HOME}. 60 TXT "v=spf1 {" ".join(terms)} -all"'])


def test_ten_lookups_are_published(stage: Stage) -> None:
    """That many receivers make."""
    own_spf(stage, *MAILERS[:9])
    done = stage.publish(records_of(HOME), ask=asking(stage).lookup)
    assert not done.publication.warnings
    assert stage.held()["TXT"] == spf(*MAILERS[:9], INCLUDE, "-all")


@pytest.mark.parametrize("dry_run", [True, False])
def test_one_lookup_too_many_is_refused(dry_run: bool, stage: Stage) -> None:
    """All the owner's mail would suffer, so nothing is written."""
    own_spf(stage, *MAILERS[:10])
    with pytest.raises(Refused) as caught:
        stage.publish(records_of(HOME), dry_run=dry_run, ask=asking(stage).lookup)
    assert str(caught.value) == (
        f"With the service's terms, receivers would reject the SPF record at {HOME}: it takes more "
        "than 10 DNS look-ups. Before you publish, take out what no mail of yours needs, or write "
        "ip4 and ip6 for include, a and mx."
    )
    assert stage.gate.updates == 0


def test_what_is_broken_before_is_warned_of(stage: Stage) -> None:
    """It is not the service's terms that do it."""
    own_spf(stage, *MAILERS)
    done = stage.publish(records_of(HOME), ask=asking(stage).lookup)
    (warning,) = done.publication.warnings
    assert warning.startswith(f"Receivers reject the SPF record at {HOME}: it takes more than 10")
    assert stage.held()["TXT"] == spf(*MAILERS, INCLUDE, "-all")


def test_a_service_without_a_record_is_warned_of(stage: Stage) -> None:
    """It is not the number of look-ups, and nothing that the owner could take out."""
    own_spf(stage, "a")
    stage.bind.change("example.net", delete=["mail.example.net. TXT"])
    done = stage.publish(records_of(HOME), ask=asking(stage).lookup)
    (warning,) = done.publication.warnings
    assert f"has {INCLUDE}, but mail.example.net has no SPF record" in warning


def test_what_cannot_be_counted_is_published(stage: Stage) -> None:
    """There is a warning, where there are terms of others."""
    own_spf(stage, "mx", *MAILERS[:5])
    (warning,) = stage.publish(records_of(HOME)).publication.warnings
    assert f"look-ups of the SPF record at {HOME} could not be counted to the end" in warning
    assert not stage.publish(records_of(HOME)).publication.warnings
