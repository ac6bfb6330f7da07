# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""SRS over the socketmap: rewriting the senders of forwarded mail and the recipients of bounces."""

from __future__ import annotations

import re
import socket
from contextlib import suppress
from datetime import timedelta

import pytest
import srslib

from ansible_collections.postroom.email.tests.mail_host.host import (
    NAME,
    SRS_SECRETS,
    MailHost,
)
from ansible_collections.postroom.email.tests.mail_host.mta import connected
from postroom_service.mail_host.srs import HASH_LENGTH, Rewriter

SENDER = "Ann.O=Neil+x@partner.example"
NOT_FOUND = "NOTFOUND "


@pytest.fixture(scope="module", autouse=True)
def domains(host: MailHost) -> None:
    """Register a verified and an unverified domain."""
    host.domain("example.com")
    host.domain("new.example", verified=False)


def forward(host: MailHost, sender: str) -> str:
    """Return the rewritten address of a sender."""
    [answer] = host.daemon.lookup(sender)
    assert answer.startswith("OK "), answer
    return answer.removeprefix("OK ")


def reverse(host: MailHost, *addresses: str) -> list[str]:
    """Return the original senders for these addresses."""
    return host.daemon.lookup(*addresses, name="reverse")


@pytest.mark.parametrize(
    "sender", [SENDER, "a@new.example", "x@sub.example.com", "-a_b@xn--p1ai.de"]
)
def test_a_bounce_goes_to_the_sender(host: MailHost, sender: str) -> None:
    """A bounce reaches the original sender, even if mail servers changed the SRS address's case."""
    rewritten = forward(host, sender)
    local, _, host_name = rewritten.rpartition("@")
    assert host_name == NAME
    assert re.fullmatch(rf"SRS0=.{{{HASH_LENGTH}}}=..=.+", local)
    found = reverse(host, rewritten, rewritten.lower(), rewritten.upper())
    assert [answer.lower() for answer in found] == [f"OK {sender}".lower()] * 3
    assert found[0] == f"OK {sender}"


@pytest.mark.parametrize("sender", ["", "<>", "alice", "@partner.example"])
def test_these_senders_are_kept(host: MailHost, sender: str) -> None:
    """Null senders and incomplete addresses are not rewritten."""
    assert host.daemon.lookup(sender) == [NOT_FOUND]


def test_rewritten_senders_are_kept(host: MailHost) -> None:
    """A rewritten sender is not rewritten again, unless it is forged."""
    rewritten = forward(host, SENDER)
    assert host.daemon.lookup(rewritten) == [NOT_FOUND]
    assert forward(host, rewritten.replace("=", "=x", 1)).startswith("SRS1=")


@pytest.mark.parametrize("sender", ["alice@example.com", f"postmaster@{NAME}"])
def test_senders_of_this_service_are_rewritten(host: MailHost, sender: str) -> None:
    """Senders on this service's domains are also rewritten, because anyone can use them."""
    rewritten = forward(host, sender)
    assert rewritten.startswith("SRS0=")
    assert reverse(host, rewritten) == [f"OK {sender}"]


@pytest.mark.parametrize(
    "sender",
    [
        *('"a b"@partner.example', '"a"@example.com', "ä@partner.example", "a@b@c.example"),
        *("a@ö.example", "a b@partner.example", "a@[192.0.2.1]", "a\n@partner.example"),
    ],
)
def test_odd_senders_are_replaced(host: MailHost, sender: str) -> None:
    """Unusual senders are replaced with the postmaster's address."""
    assert forward(host, sender) == f"postmaster@{NAME}"


def test_forged_addresses_are_not_found(host: MailHost) -> None:
    """A forged address is not found, no matter which part was changed."""
    rewritten = forward(host, "mbob@example.co")
    start, _, rest = rewritten.partition("=")
    digest, time, domain, local = rest.removesuffix(f"@{NAME}").split("=")
    forged = [
        *(f"{start}={digest}={time}={domain}={name}@{NAME}" for name in ("eve", "mbo", "")),
        # Joined without a separator, the domain and the local part give the same text as before.
        f"{start}={digest}={time}=example.com=bob@{NAME}",
        f"{start}={digest}={'AB' if time != 'AB' else 'AC'}={domain}={local}@{NAME}",
        *(f"{start}={digest[:n]}={time}={domain}={local}@{NAME}" for n in range(HASH_LENGTH)),
        *(f"{start}={letter}={time}={domain}={local}@{NAME}" for letter in "abcdefgh+/01"),
        f"{start}={digest}x={time}={domain}={local}@{NAME}",
        rewritten.replace(NAME, "other.example"),
        *(f"alice@{NAME}", f"@{NAME}", "", f"SRS0@{NAME}", f"SRS1={digest}=a=b@{NAME}"),
    ]
    assert set(reverse(host, *forged)) == {NOT_FOUND}
    assert reverse(host, rewritten) == ["OK mbob@example.co"]


def test_addresses_expire() -> None:
    """A rewritten address expires after three weeks."""
    rewriter = Rewriter(SRS_SECRETS, NAME)
    for days, found in ((20, SENDER), (22, None)):
        srs = rewriter._srs("partner.example")
        now = srs._time_fn()
        srs._time_fn = lambda now=now, days=days: now - timedelta(days=days).total_seconds()
        assert rewriter.reverse(srs.forward(SENDER, NAME)) == found


def test_a_second_hop_bounces_to_the_first(host: MailHost) -> None:
    """If mail was forwarded twice, a bounce goes to the first host."""
    first = srslib.SRS("another-host").forward(SENDER, "first.example")
    second = forward(host, first)
    assert second.startswith("SRS1=")
    assert reverse(host, second) == [f"OK {first}"]
    third = srslib.SRS("another-host").forward(first, "second.example")
    again = forward(host, third)
    assert reverse(host, again) == [f"OK {first}"]
    assert reverse(host, again.replace("first.example", "evil.example")) == [NOT_FOUND]


def test_secrets_can_be_replaced(host: MailHost) -> None:
    """The first secret signs new addresses. Addresses signed with an earlier secret stay valid."""
    old = Rewriter([SRS_SECRETS[1]], NAME).forward(SENDER)
    new = Rewriter([SRS_SECRETS[0]], NAME).forward(SENDER)
    other = Rewriter(["a-secret-of-another-host"], NAME).forward(SENDER)
    assert old
    assert new
    assert other
    assert reverse(host, old, new, other) == [f"OK {SENDER}", f"OK {SENDER}", NOT_FOUND]
    assert forward(host, SENDER) == new


def test_unknown_maps_are_an_error(host: MailHost) -> None:
    """Looking up a key in an unknown map is a permanent error."""
    [answer] = host.daemon.lookup(SENDER, name="other")
    assert answer.startswith("PERM ")


@pytest.mark.parametrize(
    "request_", [b"x:forward a,", b"99999999:", b"10001:forward", b"1" * 99_999]
)
def test_garbage_ends_only_its_connection(host: MailHost, request_: bytes) -> None:
    """Malformed input closes only the connection that sent it."""
    with connected(host.daemon.socketmap) as connection:
        connection.sendall(request_)
        connection.shutdown(socket.SHUT_WR)
        with suppress(ConnectionResetError):
            assert connection.recv(100) == b""
    assert host.daemon.lookup("") == [NOT_FOUND]
