# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Publishing to a real name server: merges, conflicts, lost updates and wildcards."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api import errors
from ansible_collections.postroom.email.plugins.module_utils._api.dns.publish import (
    SetChange,
)
from ansible_collections.postroom.email.plugins.module_utils._api.dns.query import Server
from ansible_collections.postroom.email.plugins.module_utils._api.dns.resolver import (
    Resolvers,
)
from ansible_collections.postroom.email.tests.dns.bind_with_faults import (
    DKIM,
    DKIM_HELD,
    HOME,
    INCLUDE,
    MX,
    SELECTOR,
    BindWithFaults,
    bind_with_faults,
    everything,
    records_of,
    spf,
)
from ansible_collections.postroom.email.tests.support.bind import Zone

FOREIGN = r"""
@ TXT "site-verification=a\"b\\c\195\164" "  second string "
@ TXT "v=spf1 ip4:192.0.2.1 -all"
@ MX 20 backup.example.org.
service._domainkey TXT "a note" "of the owner"
"""
WILD = """
@ TXT "v=spf1 -all"
own TXT "v=spf1 -all"
own TXT "other"
* MX 20 wild.example.org.
* TXT "v=spf1 -all"
* TXT "other"
"""
NOTHING: dict[str, tuple[str, ...]] = {"MX": (), "TXT": (), "DKIM": ()}
ALL = [f"{HOME} MX", f"{HOME} TXT", f"{SELECTOR}.{HOME} TXT"]
ELSEWHERE = "keys.elsewhere.example"
# These terms are short enough for an SPF record that fits into one string.
MAILERS = [f"include:s{number}.test" for number in range(11)]
QUICK = 1.0


def keys_zone(domain: str) -> str:
    """Return the zone file for the zone of a domain's keys.

    BIND does not accept a name server below a name that contains an underscore.
    """
    host = f"ns1.{domain}."
    return f"@ IN SOA {host} hostmaster.{domain}. 1 3600 600 86400 60\n@ NS {host}"


@pytest.fixture
def dns_server(tmp_path: Path) -> Iterator[BindWithFaults]:
    """Run a name server with several kinds of zones."""
    other = 'grant "other" zonesub ANY;'
    zones: dict[str, Zone | str] = {
        HOME: "",
        "full.example": FOREIGN,
        "foreign.example": Zone(policy=other),
        "tight.example": Zone(policy='grant "mail" name tight.example. MX TXT;'),
        "alias.example": f"{SELECTOR} CNAME dkim.elsewhere.example.",
        "null.example": "@ MX 0 .",
        "split.example": "_domainkey NS ns1.split.example.",
        "_domainkey.split.example": keys_zone("split.example"),
        "partly.example": "_domainkey NS ns1.partly.example.",
        "_domainkey.partly.example": Zone(keys_zone("partly.example"), policy=other),
        "renamed.example": "_domainkey DNAME keys.renamed.example.",
        "delegated.example": "_domainkey NS ns1.elsewhere.example.",
        "wild.example": WILD,
        "hosts.example": "* A 192.0.2.7\n* AAAA 2001:db8::7\nold A 192.0.2.8\n",
        "aliases.example": "* CNAME www.example.org.\n",
        # Zones that SPF records refer to.
        "test": '* TXT "v=spf1 -all"',
        "example.net": 'spf TXT "v=spf1 -all"',
    }
    with bind_with_faults(tmp_path, zones) as dns_server:
        yield dns_server


def names(changes: Iterable[SetChange]) -> list[tuple[str, str]]:
    """Return the actions and names of changes."""
    return [(change.action, str(change.subject)) for change in changes]


def test_other_records_stay(dns_server: BindWithFaults) -> None:
    """Other clients' records stay unchanged, byte for byte, and SPF records are merged."""
    before = dns_server.held("full.example")
    done = dns_server.publish(records_of("full.example"))
    held = dns_server.held("full.example")
    assert set(held["MX"]) == {*before["MX"], *MX}
    assert set(held["DKIM"]) == {*before["DKIM"], *DKIM_HELD}
    (note,) = (text for text in before["TXT"] if "verification" in text)
    assert set(held["TXT"]) == {note, *spf("ip4:192.0.2.1", INCLUDE, "-all")}
    assert any("backup.example.org" in warning for warning in done.plan.warnings)
    dns_server.publish(records_of("full.example"), absent=True)
    assert dns_server.held("full.example") == before


@pytest.mark.parametrize(
    ("domain", "error", "words", "updates"),
    [
        ("elsewhere.example", errors.UpdateRefused, "elsewhere.example", 0),
        ("foreign.example", errors.UpdateRefused, "foreign.example", 1),
        ("tight.example", errors.UpdateRefused, "tight.example", 1),
        ("alias.example", errors.Refused, "CNAME", 0),
        ("null.example", errors.Refused, "null MX", 0),
    ],
)
def test_what_cannot_be_published(
    dns_server: BindWithFaults, domain: str, error: type[Exception], words: str, updates: int
) -> None:
    """If any record can't be published, the zone is not changed at all."""
    before = dns_server.held(domain)
    with pytest.raises(error, match=words) as caught:
        dns_server.publish(records_of(domain))
    assert not getattr(caught.value, "done", ())
    assert dns_server.gate.updates == updates
    assert dns_server.held(domain) == before


def test_keys_in_another_zone(dns_server: BindWithFaults) -> None:
    """Keys in another zone are updated separately.

    A failure reports the changes that were already made.
    """
    dns_server.publish(records_of("split.example"))
    assert dns_server.gate.updates == 2
    assert dns_server.held("split.example") == everything()
    dns_server.publish(records_of("split.example"), absent=True)
    assert dns_server.held("split.example") == NOTHING
    with pytest.raises(errors.UpdateRefused, match="_domainkey") as caught:
        dns_server.publish(records_of("partly.example"))
    done = [change["name"] for change in caught.value.done]
    assert done == ["partly.example MX", "partly.example TXT"]
    assert dns_server.held("partly.example") == {**everything(), "DKIM": ()}


def test_eight_writers_at_once(dns_server: BindWithFaults) -> None:
    """Eight concurrent writers never lose each other's records, even within one SPF record."""
    domains = [f"d{number}.{HOME}" for number in range(8)]
    includes = [f"include:spf{number}.example.net" for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda domain: dns_server.publish(records_of(domain)), domains))
        assert all(len(one.plan.changes) == 3 for one in done)
        assert all(dns_server.held(domain) == everything() for domain in domains)

        done = list(
            pool.map(lambda include: dns_server.publish(records_of(HOME, include)), includes)
        )
        assert all(one.plan.changes for one in done)
        (record,) = dns_server.held()["TXT"]
        words = record.strip('"').split()
        assert (words[0], sorted(words[1:-1]), words[-1]) == ("v=spf1", includes, "~all")

        list(
            pool.map(
                lambda one: dns_server.publish(records_of(HOME, one), absent=True), includes[1:]
            )
        )
        assert dns_server.held()["TXT"] == spf(includes[0], "~all")


@pytest.mark.parametrize(("lost", "updates"), [("lost_answers", 1), ("lost_updates", 2)])
def test_a_lost_message(dns_server: BindWithFaults, lost: str, updates: int) -> None:
    """After a lost message, reading the zone shows whether to repeat the update."""
    setattr(dns_server.gate, lost, 1)
    until = time.monotonic() + 4.0
    done = dns_server.publish(records_of(HOME), server=dns_server.server(seconds=10.0, until=until))
    assert names(done.plan.changes) == [("create", name) for name in ALL]
    assert dns_server.gate.updates == updates
    assert dns_server.held() == everything()


def test_a_slow_server_gets_no_more_time(dns_server: BindWithFaults) -> None:
    """All queries of a task share its deadline."""
    dns_server.gate.delay = 0.4
    with pytest.raises(errors.NameServerError, match="timed out"):
        dns_server.publish(records_of(HOME), server=dns_server.server(until=time.monotonic() + 1.0))
    assert len(dns_server.front.asked) <= 3
    assert dns_server.gate.updates == 0


@pytest.mark.parametrize("sent", [True, False])
def test_a_silent_server(dns_server: BindWithFaults, sent: bool) -> None:
    """The outcome is reported as unknown only if an update was actually sent."""

    def fall_silent() -> None:
        dns_server.gate.is_silent = True

    dns_server.gate.before_update = fall_silent
    dns_server.gate.is_silent = not sent
    with pytest.raises(errors.NoAnswer) as caught:
        dns_server.publish(records_of(HOME), server=dns_server.server(seconds=QUICK), seconds=3.0)
    assert bool(caught.value.unsure) is sent
    assert (f"{HOME} MX" in str(caught.value)) is sent
    assert not caught.value.done
    assert bool(dns_server.gate.updates) is sent


def test_another_writer_is_faster(dns_server: BindWithFaults) -> None:
    """If another client writes first, the update is merged again, a limited number of times."""

    def once() -> None:
        dns_server.gate.before_update = lambda: None
        dns_server.bind.change(HOME, add=[f'{HOME}. 60 TXT "v=spf1 a -all"'])

    dns_server.gate.before_update = once
    done = dns_server.publish(records_of(HOME))
    assert dns_server.gate.updates == 2
    assert dns_server.held()["TXT"] == spf("a", INCLUDE, "-all")
    assert [change.action for change in done.plan.changes] == ["create", "update", "create"]

    rivals = iter(range(1000))
    domain = f"contested.{HOME}"
    dns_server.gate.before_update = lambda: dns_server.bind.change(
        HOME, add=[f"{domain}. 60 MX 50 m{next(rivals)}.example.org."]
    )
    with pytest.raises(errors.ZoneChanged) as caught:
        dns_server.publish(records_of(domain), seconds=4.0)
    assert not caught.value.done
    assert not caught.value.unsure
    assert next(rivals) > 2
    assert set(MX).isdisjoint(dns_server.held(domain)["MX"])


def test_a_key_behind_aliases_of_the_zone(dns_server: BindWithFaults) -> None:
    """A key behind aliases in the same zone counts as published and is never changed."""
    alias = f"{SELECTOR}.{HOME}. 60 CNAME"
    chain = [f"one.{HOME}. 60 CNAME two.{HOME}.", f"two.{HOME}. 60 TXT {DKIM_HELD[0]}"]
    dns_server.bind.change(HOME, add=[f"{alias} one.{HOME}.", *chain])
    for absent in (False, True):
        done = dns_server.publish(records_of(HOME), absent=absent)
        assert [str(change.subject) for change in done.plan.changes] == ALL[:2]
        assert dns_server.publish(records_of(HOME), absent=absent).plan.changes == ()


def test_a_key_behind_an_alias_of_another_zone(dns_server: BindWithFaults) -> None:
    """A key behind an alias of another zone is looked up with resolvers."""
    dns_server.bind.change(HOME, add=[f"{SELECTOR}.{HOME}. 60 CNAME {ELSEWHERE}."])
    asked: list[tuple[str, str]] = []
    answers: list[tuple[str, ...] | None] = [
        (DKIM,),
        None,
        (),
        ("v=DKIM1; k=rsa; p=AAAA",),
    ]

    def ask(name: str, kind: str) -> tuple[str, ...] | None:
        asked.append((name, kind))
        return answers.pop()

    for _answer in answers[1:]:
        with pytest.raises(errors.Refused, match=rf"CNAME record at .* leads to {ELSEWHERE}"):
            dns_server.publish(records_of(HOME), ask=ask)
    assert dns_server.gate.updates == 0
    done = dns_server.publish(records_of(HOME), ask=ask)
    assert len(done.plan.changes) == 2
    assert asked == [(ELSEWHERE, "TXT")] * 4


def test_what_a_merged_spf_record_costs(dns_server: BindWithFaults) -> None:
    """A merge that exceeds ten lookups is refused, unless the old record already exceeded them."""
    ask = Resolvers(
        [Server("", dns_server.bind.address, dns_server.bind.port)], 5.0
    ).confirmed_texts

    def own(domain: str, *terms: str) -> tuple[str, ...]:
        dns_server.bind.change(HOME, add=[f'{domain}. 60 TXT "v=spf1 {" ".join(terms)} -all"'])
        return dns_server.publish(records_of(domain), ask=ask).plan.warnings

    with pytest.raises(errors.TooExpensive, match="more than 10 DNS lookups"):
        own(f"eleven.{HOME}", *MAILERS[:10])
    held = dns_server.held(f"eleven.{HOME}")
    assert held == {**everything(), "TXT": spf(*MAILERS[:10], "-all")}
    assert own(f"ten.{HOME}", *MAILERS[:9]) == ()
    assert dns_server.held(f"ten.{HOME}")["TXT"] == spf(*MAILERS[:9], INCLUDE, "-all")
    (warning,) = own(f"twelve.{HOME}", *MAILERS)
    assert "Receivers reject" in warning
    assert dns_server.held(f"twelve.{HOME}")["TXT"] == spf(*MAILERS, INCLUDE, "-all")
    # Without resolvers, the lookups can't be counted.
    dns_server.bind.change(HOME, add=[f'{HOME}. 60 TXT "v=spf1 mx {MAILERS[0]} -all"'])
    (warning,) = dns_server.publish(records_of(HOME)).plan.warnings
    assert "could not be counted" in warning
    assert dns_server.publish(records_of(HOME)).plan.warnings == ()


@pytest.mark.parametrize(
    "domain", ["new.wild.example", "a.new.wild.example", "new.aliases.example"]
)
def test_a_wildcard_holds_no_records_of_a_name(domain: str, dns_server: BindWithFaults) -> None:
    """A wildcard's records are not merged, and don't prevent publishing.

    They reappear after a withdrawal.
    """
    before = dns_server.held(domain)
    done = dns_server.publish(records_of(domain))
    assert [change.action for change in done.plan.changes] == ["create"] * 3
    assert dns_server.held(domain) == everything()
    assert dns_server.publish(records_of(domain)).plan.changes == ()
    dns_server.publish(records_of(domain), absent=True)
    assert dns_server.gate.updates == 2
    assert dns_server.held(domain) == before
    assert dns_server.publish(records_of(domain), absent=True).plan.changes == ()


def test_names_that_a_wildcard_does_not_cover(dns_server: BindWithFaults) -> None:
    """Existing names keep their own records, even if a wildcard has the same ones."""
    dns_server.publish(records_of("wild.example"))
    assert dns_server.held("wild.example") == {**everything(), "TXT": spf(INCLUDE, "-all")}
    dns_server.publish(records_of("own.wild.example"))
    held = dns_server.held("own.wild.example")
    assert (held["MX"], set(held["TXT"])) == (MX, {'"other"', *spf(INCLUDE, "-all")})
    assert dns_server.gate.updates == 2
    # This domain's key has a name of 253 characters, so a longer name can't be probed.
    longest = ".".join([*["a" * 63] * 3, "a" * 29, "wild.example"])
    dns_server.publish(records_of(longest))
    assert dns_server.held(longest) == everything()


def test_records_by_a_wildcard_end(dns_server: BindWithFaults) -> None:
    """Publishing warns that it will hide a wildcard's records."""
    domain = "shop.wild.example"
    (warning,) = dns_server.publish(records_of(domain), dry_run=True).plan.warnings
    assert warning.startswith(f"{domain} gets MX and TXT records from a wildcard")
    copies = [f"{domain}. 60 MX 20 wild.example.org.", f'{domain}. 60 TXT "v=spf1 -all"']
    dns_server.bind.change("wild.example", add=copies)
    dns_server.publish(records_of(domain))
    held = dns_server.held(domain)
    assert held["MX"] == (*MX, "20 wild.example.org.")
    assert held["TXT"] == spf(INCLUDE, "-all")


@pytest.mark.parametrize(
    ("domain", "record", "remedies"),
    [
        (
            "renamed.example",
            "_domainkey.renamed.example. DNAME",
            ["DNAME record at _domainkey.renamed.example", f"{SELECTOR.split('.')[0]}.keys"],
        ),
        (
            "delegated.example",
            "_domainkey.delegated.example. NS",
            ["NS record at _domainkey.delegated.example", "ns1.elsewhere.example"],
        ),
    ],
)
def test_keys_that_are_kept_elsewhere(
    dns_server: BindWithFaults, domain: str, record: str, remedies: list[str]
) -> None:
    """A key behind a DNAME or NS record counts as published, and the message names that record."""
    with pytest.raises(errors.Refused) as caught:
        dns_server.publish(records_of(domain))
    assert [words for words in remedies if words not in str(caught.value)] == []
    assert f"at {record.split('. ', maxsplit=1)[0]}" in str(caught.value)
    assert dns_server.gate.updates == 0
    if "DNAME" in record:
        key = f"service.keys.{domain}. 60 TXT {DKIM_HELD[0]}"
        dns_server.bind.change(domain, add=[key])
    done = dns_server.publish(records_of(domain), ask=lambda _name, _kind: (DKIM,))
    assert len(done.plan.changes) == 2
    (warning,) = dns_server.publish(records_of(domain), absent=True).plan.warnings
    assert record.split(". ", maxsplit=1)[0] in warning
    dns_server.bind.change(domain, delete=[record])
    dns_server.publish(records_of(domain))
    assert dns_server.held(domain) == everything()


@pytest.mark.parametrize("zone", ["hosts.example", "aliases.example"])
def test_addresses_by_a_wildcard_end(zone: str, dns_server: BindWithFaults) -> None:
    """Publishing warns once that it will hide the addresses from a wildcard."""
    domain = f"shop.{zone}"
    predicted = dns_server.publish(records_of(domain), dry_run=True).plan
    (warning,) = predicted.warnings
    assert warning.startswith(f"{domain} gets ")
    dns_server.gate.lost_answers = 1
    assert dns_server.publish(records_of(domain)).plan == predicted
    assert dns_server.gate.updates == 1
    assert not dns_server.bind.response(domain, "A").answer
    for kept in (domain, "hosts.example", "old.hosts.example"):
        assert not dns_server.publish(records_of(kept)).plan.warnings
