# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The database views that Postfix and Dovecot read: addresses, logins and forwarders."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from argon2 import PasswordHasher

from ansible_collections.postroom.email.tests.mail_host.host import MailHost
from ansible_collections.postroom.email.tests.service.api import Api

DOMAIN, UNVERIFIED, OTHER = "example.com", "new.example", "tenant.example"
ALICE, SALES, BOB = f"alice@{DOMAIN}", f"sales@{DOMAIN}", f"bob@{DOMAIN}"
NINA, EVE = f"nina@{UNVERIFIED}", f"eve@{OTHER}"
PARTNER = "desk@partner.example"


@pytest.fixture(scope="module")
def other(host: MailHost) -> Iterator[Api]:
    """Create the objects of two tenants, and provide API access to the second tenant."""
    host.domain(DOMAIN)
    host.domain(UNVERIFIED, verified=False)
    # The first tenant has a verified and an unverified domain.
    host.api.mailbox(ALICE, SALES, f"alice@{UNVERIFIED}", secrets=["one", "two"])
    host.api.mailbox(BOB)
    host.api.mailbox(NINA, f"nina@{DOMAIN}")
    with Api(host.service.url, host.service.new_token("another")) as api:
        host.domain(OTHER, api=api)
        api.mailbox(EVE)
        yield api


def test_only_verified_domains_receive(host: MailHost, other: Api) -> None:
    """An address receives mail only if its domain and its mailbox's domain are verified."""
    served = {ALICE: ALICE, SALES: ALICE, BOB: BOB, EVE: EVE}
    unserved = {NINA: NINA, f"nina@{DOMAIN}": NINA, f"alice@{UNVERIFIED}": ALICE}
    unknown = dict.fromkeys([PARTNER, f"nobody@{DOMAIN}", "", "x", "@"])
    for function, expected in {
        "domain": {DOMAIN: DOMAIN, OTHER: OTHER, UNVERIFIED: None, "": None},
        "mailbox": served | dict.fromkeys(unserved) | unknown,
    }.items():
        query = f"SELECT mail.{function}(%s)"
        found = {key: host.sql(query, key, role="postfix") for key in expected}
        assert found == {key: [(name,)] for key, name in expected.items()}
    uids = set(host.sql("SELECT uid FROM mail.uids", role="postroom-mail"))
    assert {(host.uid(name),) for name in (ALICE, NINA)} <= uids


def test_logins_have_every_secret(host: MailHost, other: Api) -> None:
    """Logins contain every secret, including those of mailboxes on unverified domains."""
    query = "SELECT uid, hash FROM mail.logins WHERE name = %s"
    rows = host.sql(query, ALICE, role="dovecot")
    assert {uid for uid, _ in rows} == {host.uid(ALICE)}
    for secret in ("one", "two"):
        assert any(_verifies(stored, secret) for _, stored in rows)
    assert len(rows) == 2
    assert len(host.sql(query, NINA, role="dovecot")) == 1


def _verifies(stored: str, secret: str) -> bool:
    try:
        return PasswordHasher().verify(stored, secret)
    except Exception:  # noqa: BLE001 - the hash of another secret
        return False


def destinations(host: MailHost, address: str) -> list[str]:
    """Return the destinations of mail to an address, as Postfix reads them."""
    query = "SELECT * FROM mail.destinations(%s)"
    return sorted(address for (address,) in host.sql(query, address, role="postfix"))


def test_forwarders_lead_to_mailboxes_and_other_services(host: MailHost, other: Api) -> None:
    """A forwarder delivers once to each existing mailbox, and to other services."""
    team = host.api.forwarder(
        f"team@{DOMAIN}",
        [SALES, ALICE, PARTNER, EVE, f"nobody@{DOMAIN}", NINA, f"nina@{DOMAIN}"],
        f"team-alias@{DOMAIN}",
    )
    # An unverified domain is treated like a domain of another service.
    expected = sorted([ALICE, PARTNER, EVE, NINA])
    assert destinations(host, team) == destinations(host, f"team-alias@{DOMAIN}") == expected


def test_nested_forwarders_are_followed(host: MailHost, other: Api) -> None:
    """Nested forwarders are followed at any depth, even through another tenant's forwarder."""
    names = [host.api.forwarder(f"n0@{DOMAIN}", [BOB, PARTNER])]
    for n in range(1, 30):
        names.append(host.api.forwarder(f"n{n}@{DOMAIN}", [names[-1], BOB, SALES]))
    outer = other.forwarder(f"outer@{OTHER}", [names[-1], EVE])
    assert destinations(host, outer) == sorted([ALICE, BOB, EVE, PARTNER])


def test_a_loop_over_two_tenants_ends(host: MailHost, other: Api) -> None:
    """If forwarders of two tenants form a loop, members outside the loop get the mail once."""
    other.forwarder(f"loop@{OTHER}", [f"loop@{DOMAIN}", EVE])
    host.api.forwarder(f"loop@{DOMAIN}", [f"loop@{OTHER}", BOB])
    assert destinations(host, f"loop@{DOMAIN}") == [BOB, EVE]
    assert destinations(host, f"loop@{OTHER}") == [BOB, EVE]
    other.forwarder(f"empty@{OTHER}", [f"empty@{DOMAIN}"])
    host.api.forwarder(f"empty@{DOMAIN}", [f"empty@{OTHER}"])
    assert destinations(host, f"empty@{DOMAIN}") == []


def test_other_addresses_are_no_forwarders(host: MailHost, other: Api) -> None:
    """Mailboxes, unknown addresses and forwarders on unverified domains forward nothing."""
    unverified = host.api.forwarder(f"team@{UNVERIFIED}", [BOB])
    for address in (ALICE, SALES, PARTNER, f"nobody@{DOMAIN}", unverified, "", "x", "@"):
        assert destinations(host, address) == []
    forwarding = host.api.forwarder(f"to-unverified@{DOMAIN}", [unverified])
    assert destinations(host, forwarding) == [unverified]
