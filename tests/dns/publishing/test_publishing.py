# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Records come to a real name server and go again, and everybody else's stay as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api import errors
from ansible_collections.postroom.email.plugins.module_utils._api.planning.publication import (
    SetChange,
)
from ansible_collections.postroom.email.tests.dns.publishing.stage import (
    HOME,
    INCLUDE,
    KEY,
    SELECTOR,
    TTL,
    Stage,
    all_of_it,
    dkim,
    keys_apart,
    mx,
    records_of,
    spf,
    stage_with,
)
from ansible_collections.postroom.email.tests.support.bind import TsigKey, Zone, new_key

FOREIGN = r"""
@ TXT "site-verification=a\"b\\c\195\164" "  second string "
@ TXT "v=spf1 ip4:192.0.2.1 -all"
@ MX 20 backup.example.org.
service._domainkey TXT "a note" "of somebody"
"""
NOTHING: dict[str, tuple[str, ...]] = {"MX": (), "TXT": (), "DKIM": ()}


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """Run a name server with zones of several kinds."""
    delegating, keys = keys_apart("split.example")
    mail_names = f'grant "mail" name {HOME}. MX TXT; '
    zones: dict[str, Zone | str] = {
        HOME: "",
        "full.example": FOREIGN,
        "foreign.example": Zone(policy='grant "somebody" zonesub ANY;'),
        "tight.example": Zone(policy=mail_names.replace(HOME, "tight.example")),
        "alias.example": f"{SELECTOR} CNAME dkim.elsewhere.example.",
        "null.example": "@ MX 0 .",
        "split.example": delegating,
        "_domainkey.split.example": keys,
        "away.example": "_domainkey NS ns.elsewhere.example.",
    }
    with stage_with(tmp_path, zones) as stage:
        yield stage


def names(changes: Iterable[SetChange]) -> list[tuple[str, str]]:
    """Return actions and names of changes."""
    return [(change.action, str(change.subject)) for change in changes]


ALL = [f"{HOME} MX", f"{HOME} TXT", f"{SELECTOR}.{HOME} TXT"]


def test_publish_and_withdraw(stage: Stage) -> None:
    """Each step is foretold to the letter by a dry run, done by one update, and not done again."""
    for absent, action, held in ((False, "create", all_of_it()), (True, "delete", NOTHING)):
        foretold = stage.publish(records_of(HOME), absent=absent, dry_run=True)
        assert stage.gate.updates == int(absent)
        done = stage.publish(records_of(HOME), absent=absent)
        assert done == foretold
        assert done.diff == foretold.diff
        assert names(done.publication.changes) == [(action, name) for name in ALL]
        assert stage.held() == held
        assert bool(done.sets) is not absent
        again = stage.publish(records_of(HOME), absent=absent)
        assert again.publication.changes == ()
        assert again.sets == done.sets
        assert stage.gate.updates == 1 + absent
    assert stage.bind.lookup(HOME, "SOA")


def test_another_ttl_is_a_change(stage: Stage) -> None:
    """Of sets that hold nothing of others."""
    stage.bind.change(HOME, add=[f"{HOME}. 60 MX 10 mail.example.net."])
    changes = stage.publish(records_of(HOME)).publication.changes
    assert names(changes) == [
        ("update", ALL[0]), ("create", ALL[1]), ("create", ALL[2])
    ]  # fmt: skip
    answer = stage.bind.response(HOME, "MX").answer[0]
    assert answer.ttl == TTL
    assert stage.publish(records_of(HOME)).publication.changes == ()


def test_what_others_have_stays(stage: Stage) -> None:
    """Byte by byte, through publishing and withdrawing, and the SPF records of both are one."""
    before = stage.held("full.example")
    done = stage.publish(records_of("full.example"))
    held = stage.held("full.example")
    assert set(held["MX"]) == {*before["MX"], *mx()}
    assert set(held["DKIM"]) == {*before["DKIM"], *dkim()}
    merged = spf("ip4:192.0.2.1", INCLUDE, "-all")
    (note,) = (text for text in before["TXT"] if "verification" in text)
    assert set(held["TXT"]) == {note, *merged}
    assert any("backup.example.org" in warning for warning in done.publication.warnings)
    stage.publish(records_of("full.example"), absent=True)
    assert stage.held("full.example") == before


def test_a_key_of_somebody_is_replaced(stage: Stage) -> None:
    """At the selector of the service there is one key, and it is the service's."""
    stage.bind.change(HOME, add=[f'{SELECTOR}.{HOME}. 60 TXT "v=DKIM1; k=rsa; p=AAAA"'])
    stage.publish(records_of(HOME))
    assert stage.held()["DKIM"] == dkim()


#: Keys that the name server does not take.
STRANGERS = {
    "a secret that is not the key's": TsigKey("mail", new_key("mail").secret),
    "a name that nobody knows": new_key("nobody"),
    "an algorithm that is not the key's": TsigKey("mail", KEY.secret, "hmac-sha512"),
}


@pytest.mark.parametrize("case", STRANGERS)
def test_a_strange_key_is_refused(case: str, stage: Stage) -> None:
    """Before anything is sent that would write, in a dry run, too; no secret is told."""
    key = STRANGERS[case]
    for dry_run in (True, False):
        with pytest.raises(errors.KeyRefused) as caught:
            stage.publish(records_of(HOME), dry_run=dry_run, server=stage.server(key))
        assert key.name in str(caught.value)
        assert key.secret not in str(caught.value)
        assert not caught.value.done
    assert stage.gate.updates == 0
    assert stage.held() == NOTHING


@pytest.mark.parametrize("domain", ["elsewhere.example", "away.example"])
def test_what_is_kept_elsewhere_is_refused(domain: str, stage: Stage) -> None:
    """A zone that the name server does not have, and one that it delegates: nothing is written."""
    with pytest.raises(errors.UpdateRefused, match=domain):
        stage.publish(records_of(domain))
    assert stage.gate.updates == 0


@pytest.mark.parametrize("domain", ["foreign.example", "tight.example"])
def test_what_the_key_may_not_change_is_refused(domain: str, stage: Stage) -> None:
    """A zone, or one name in it: the update is one whole, so that nothing of it is written."""
    with pytest.raises(errors.UpdateRefused, match=domain) as caught:
        stage.publish(records_of(domain))
    assert not caught.value.done
    assert stage.gate.updates == 1
    assert stage.held(domain) == NOTHING


@pytest.mark.parametrize(
    ("domain", "words"), [("alias.example", "CNAME"), ("null.example", "null MX")]
)
def test_what_stands_in_the_way_is_refused(domain: str, words: str, stage: Stage) -> None:
    """By its name, and with nothing sent that would write."""
    with pytest.raises(errors.Refused, match=words):
        stage.publish(records_of(domain))
    assert stage.gate.updates == 0


def test_a_zone_of_its_own_for_keys(stage: Stage) -> None:
    """Where the name server has both zones, each gets an update."""
    stage.publish(records_of("split.example"))
    assert stage.gate.updates == 2
    assert stage.held("split.example") == all_of_it()
    stage.publish(records_of("split.example"), absent=True)
    assert stage.held("split.example") == NOTHING


def test_eight_at_once_in_one_zone(stage: Stage) -> None:
    """Each publishes a domain of its own; all of them are there."""
    domains = [f"d{number}.{HOME}" for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda domain: stage.publish(records_of(domain)), domains))
    assert all(len(one.publication.changes) == 3 for one in done)
    for domain in domains:
        assert stage.held(domain) == all_of_it()


def test_eight_at_once_in_one_record(stage: Stage) -> None:
    """Each has something to say in the same SPF record, and all of it is in there."""
    includes = [f"include:spf{number}.example.net" for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda include: stage.publish(records_of(HOME, include)), includes))
    assert all(one.publication.changes for one in done)
    (record,) = stage.held()["TXT"]
    words = record.strip('"').split()
    assert (words[0], words[-1]) == ("v=spf1", "~all")
    assert sorted(words[1:-1]) == includes
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda one: stage.publish(records_of(HOME, one), absent=True), includes[1:]))
    assert stage.held()["TXT"] == spf(includes[0], "~all")
