# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The milter for submission checks, signs and rate-limits mail."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.mail_host.host import (
    MailHost,
    mail_host,
    running_daemon,
    wait,
)
from ansible_collections.postroom.email.tests.mail_host.mta import (
    ADD_AND_CHANGE,
    ALL_OPTIONS,
    LEADING_SPACE,
    Mta,
)
from ansible_collections.postroom.email.tests.service.api import Api, unused_domain
from ansible_collections.postroom.email.tests.support.mail import signing_key
from ansible_collections.postroom.email.tests.support.postgresql import (
    binaries,
    stoppable_cluster,
)
from postroom_service.mail_host.limits import HOUR, HourlyLimit
from postroom_service.mail_host.milter import MAX_AGE

DOMAIN, UNVERIFIED, STRANGERS = "example.com", "new.example", "tenant.example"
ALICE, SALES, BOB = f"alice@{DOMAIN}", f"sales@{DOMAIN}", f"bob@{DOMAIN}"
NINA, STRANGER = f"nina@{UNVERIFIED}", f"stranger@{STRANGERS}"
PARTNER = "desk@partner.example"


@pytest.fixture(scope="module")
def people(host: MailHost) -> None:
    """Create the mailboxes."""
    host.domain(DOMAIN)
    host.domain(UNVERIFIED, verified=False)
    host.api.mailbox(ALICE, SALES, NINA.replace("nina", "alice"))
    for name in (BOB, NINA):
        host.api.mailbox(name)
    with Api(host.service.url, host.service.new_token("another")) as api:
        host.domain(STRANGERS, api=api)
        api.mailbox(STRANGER)


@pytest.fixture
def mta(host: MailHost, people: None) -> Iterator[Mta]:
    """Connect to the milter."""
    with host.daemon.mta() as connection:
        yield connection


def message(header: str = f"From: {ALICE}") -> bytes:
    """Return a message that begins with this header."""
    return f"{header}\r\nTo: {PARTNER}\r\nSubject: Hello\r\n\r\nText.\r\n".encode()


def is_signed(host: MailHost, content: bytes, domain: str = DOMAIN) -> bool:
    """Return whether the key from the API verifies a message's DKIM signature."""
    return bool(signing_key(content, host.api.dns(domain).json()["txt"], domain))


def test_it_negotiates_what_it_needs(mta: Mta) -> None:
    """The milter negotiates the changes, options and macro that it needs."""
    assert (mta.version, mta.actions) == (6, ADD_AND_CHANGE)
    assert mta.options & LEADING_SPACE
    assert mta.macros.count(b"{") == 1
    assert b"\0\0\0\x02{auth_authen}\0" in mta.macros


def test_an_old_mail_server_is_refused(host: MailHost) -> None:
    """A mail server that drops the space before a header's value is refused."""
    with pytest.raises(ConnectionResetError):
        Mta(host.daemon.milter, options=ALL_OPTIONS & ~LEADING_SPACE)
    with host.daemon.mta() as mta:
        assert mta.mail(None, ALICE).startswith("530 ")


@pytest.mark.parametrize(
    ("login", "sender", "code"),
    [
        (ALICE, SALES, "continue"),
        (ALICE.upper(), ALICE.upper(), "continue"),
        *(
            (ALICE, sender, "550")
            for sender in (BOB, STRANGER, PARTNER, "", "alice", "@", "ä@ö.de")
        ),
        *((login, ALICE, "550") for login in (SALES, "gone@example.com", DOMAIN, "alice")),
        (None, ALICE, "530"),
        ("", ALICE, "530"),
    ],
)
def test_the_envelope_sender_is_the_mailboxs_own(
    mta: Mta, login: str | None, sender: str, code: str
) -> None:
    """The envelope sender must be an address of the mailbox that logged in."""
    assert mta.mail(login, sender).partition(" ")[0] == code


@pytest.mark.parametrize(
    "header",
    [
        *(f"From: {sender}" for sender in (BOB, STRANGER, PARTNER, "", "alice", "friends:;")),
        *(f"From: {ALICE}, {BOB}", f"From: {BOB}, {ALICE}", f"From: friends: {ALICE};"),
        *(f"From: {ALICE}\r\nFrom: {BOB}", f"From: {BOB}\r\nfrom: {ALICE}"),
        *(f"From: {ALICE} <{BOB}>", f"From: <{ALICE}> <{BOB}>", f'From: "{ALICE}" <{BOB}>'),
        *(f"From : {BOB}\r\nFrom: {ALICE}", f"From:{BOB}\r\nX-From: {ALICE}"),
        *(
            f"From: {ALICE}\r\r\n <{BOB}>",
            f"From: {ALICE}\r",
            f"X: y\rFrom: {BOB}\r\nFrom: {ALICE}",
        ),
        *(f"From:\r\n {BOB}", f"Sender: {ALICE}", f"From: {'(a)' * 1000}{ALICE}"),
    ],
)
def test_the_header_from_is_the_mailboxs_own(mta: Mta, header: str) -> None:
    """The From header must be one of the mailbox's addresses, however a mail program parses it."""
    assert mta.submit(ALICE, ALICE, [PARTNER], message(header)).reply == (
        "550 5.7.1 The From header is not an address of your mailbox"
    )
    assert mta.submit(ALICE, ALICE, [PARTNER], message()).reply == "accept"


@pytest.mark.parametrize(
    "content",
    [
        message(),
        message(f"From: Alice B. Clark <{SALES}>"),
        message(f"from:\t=?utf-8?q?Al=C3=ADce?=\r\n\t<{ALICE.upper()}>"),
        message(f"From:{ALICE}\r\nX-Empty:\r\nReply-To:   {PARTNER}  "),
        message().replace(b"Hello", b"Hello\r\n  and\r\n\tgood   bye \r\n "),
        message().replace(b"Hello", "Grüße \U0001f600".encode()),
        message().replace(b"Text.", b"\xff\xfe" + b"x " * 60_000 + b"\r\n..\r\n \t \r\n\r\n\r\n"),
        message().replace(b"Text.\r\n", b""),
        message().replace(b"Text.\r\n", b"no end of line"),
        message().replace(b"Text.", b"0123456789abcdef\r\n" * 500_000),
    ],
    ids=["plain", "name", "folded", "spaces", "folds", "utf8", "long", "empty", "open", "large"],
)
def test_mail_of_a_verified_domain_is_signed(host: MailHost, mta: Mta, content: bytes) -> None:
    """Mail from a verified domain is signed with the key in the API.

    Changing a header, or adding another From, Subject or Reply-To header, breaks the signature.
    """
    answer = mta.submit(ALICE, ALICE, [PARTNER, BOB], content)
    assert answer.reply == "accept"
    assert answer.content.startswith(b"DKIM-Signature: v=1;")
    assert answer.content.endswith(content)
    assert all(
        len(line) < 79 for line in answer.content.split(b"\r\nfrom:", 1)[0].split(b"\r\n")[:9]
    )
    assert is_signed(host, answer.content)
    assert not is_signed(host, answer.content.replace(b"To: desk", b"To: task"))
    for added in (b"From: x@y.example", b"Subject: Pay", b"Reply-To: x@y.example"):
        assert not is_signed(host, added + b"\r\n" + answer.content)


def test_the_domain_of_the_header_signs(host: MailHost, mta: Mta) -> None:
    """The domain of the From header signs the mail, not that of the login or the envelope."""
    second = host.domain(unused_domain())
    name, other = f"zoe@{DOMAIN}", f"zoe@{second}"
    host.api.mailbox(name, other)
    for sender, header, domain in ((name, other, second), (other, name, DOMAIN)):
        answer = mta.submit(name, sender, [PARTNER], message(f"From: {header}"))
        assert is_signed(host, answer.content, domain)


def test_unverified_domains_send_nothing(host: MailHost, mta: Mta) -> None:
    """Mail from an unverified domain is refused, because anyone can register a domain."""
    other = f"alice@{UNVERIFIED}"
    for login, sender in ((NINA, NINA), (ALICE, other)):
        assert mta.mail(login, sender).startswith("550 5.7.1 The domain is not verified")
    answer = mta.submit(ALICE, ALICE, [PARTNER], message(f"From: {other}"))
    assert answer.reply.startswith("550 5.7.1 The domain is not verified")


def test_received_headers_of_the_client_are_removed(host: MailHost, mta: Mta) -> None:
    """Received headers from a client are removed. The other headers keep their order."""
    trace = b"received: from home\r\nX-A: 1\r\nReceived: from [192.0.2.1]\r\n by x\r\nX-B: 2\r\n"
    answer = mta.submit(ALICE, ALICE, [PARTNER], trace + message() + b"Received: in the body\r\n")
    assert answer.content.endswith(
        b"X-A: 1\r\nX-B: 2\r\n" + message() + b"Received: in the body\r\n"
    )
    assert answer.content.lower().count(b"received:") == 1
    assert is_signed(host, answer.content)


def test_a_connection_takes_several_messages(host: MailHost, mta: Mta) -> None:
    """A connection can carry several messages, each of which needs its own login."""
    assert mta.submit(ALICE, ALICE, [PARTNER], message()).reply == "accept"
    assert mta.mail(BOB, BOB) == "continue"
    assert mta.rcpt(PARTNER) == "continue"
    mta.send(b"L", b"From\0 " + BOB.encode() + b"\0")
    mta.abort()
    assert mta.submit(BOB, BOB, [PARTNER], message(f"From: {BOB}")).reply == "accept"
    assert mta.submit(None, ALICE, [PARTNER], message()).code == "530"
    assert mta.submit(ALICE, ALICE, [PARTNER], message(f"From: {BOB}")).code == "550"
    mta.send(b"K")  # QUIT_NC: the connection is reused for another client
    assert is_signed(host, mta.submit(ALICE, ALICE, [PARTNER], message()).content)
    mta.send(b"Q")
    with pytest.raises(ConnectionResetError):
        mta.receive()


@pytest.mark.parametrize(
    "data",
    [b"\0\0\0\0", b"\xff\xff\xff\xff", b"\0\0\0\x01E", b"\0\0\0\x03L\0\0", b"GET / HTTP/1.1"],
)
def test_garbage_ends_only_its_connection(host: MailHost, mta: Mta, data: bytes) -> None:
    """Malformed or out-of-order commands close only the connection that sent them."""
    with host.daemon.mta() as other:
        other._socket.sendall(data)
        other._socket.shutdown(1)
        with pytest.raises(ConnectionResetError):
            other.receive()
    assert mta.submit(ALICE, ALICE, [PARTNER], message()).reply == "accept"


def test_changes_of_addresses_apply_at_once(host: MailHost, mta: Mta) -> None:
    """Address changes apply to open connections within a second."""
    ann, info = f"ann@{DOMAIN}", f"info@{DOMAIN}"
    host.api.mailbox(ann, info)
    assert mta.mail(ann, ann) == "continue"
    host.api.patch(ann, emails=[ann])
    assert "The From header is not" in mta.content(message(f"From: {info}")).reply
    host.api.patch(ann, emails=[ann, info])
    assert mta.mail(ann, info) == "continue"
    host.api.patch(ann, emails=[ann])
    time.sleep(MAX_AGE)
    assert "The From header is not" in mta.content(message(f"From: {info}")).reply


@pytest.mark.parametrize("deleted", [False, True])
def test_open_connections_end_with_the_login(host: MailHost, deleted: bool) -> None:
    """If a mailbox is deleted or gets new secrets, its connections end, but others continue."""
    names = [host.api.mailbox(f"{name}{int(deleted)}@{DOMAIN}") for name in ("ended", "kept")]
    with host.daemon.mta() as ended, host.daemon.mta() as kept:
        assert [ended.mail(names[0], names[0]), kept.mail(names[1], names[1])] == ["continue"] * 2
        if deleted:
            host.api.delete(names[0])
        else:
            host.api.patch(names[0], secrets=["another"])
        wait(lambda: f"kick -- {names[0]}" in host.daemon.kicks())
        assert ended.content(message(f"From: {names[0]}")).code == "421"
        assert ended.mail(names[0], names[0]).startswith("421 4.7.0 ")
        assert kept.content(message(f"From: {names[1]}")).reply == "accept"
    if not deleted:
        with host.daemon.mta() as again:
            assert again.mail(names[0], names[0]) == "continue"


def test_recipients_are_limited_per_login(host: MailHost, people: None, tmp_path: Path) -> None:
    """The number of recipients is limited per login, across all connections of the login."""
    with (
        running_daemon(tmp_path, host.service, "--recipients-per-hour=3") as daemon,
        ExitStack() as stack,
    ):
        wait(lambda: daemon.health() == 200)
        one, two = stack.enter_context(daemon.mta()), stack.enter_context(daemon.mta())
        assert one.submit(ALICE, ALICE, [PARTNER, BOB], message()).reply == "accept"
        assert two.mail(ALICE.upper(), ALICE) == "continue"
        assert [two.rcpt(PARTNER).partition(" ")[0] for _ in range(3)] == ["continue", "452", "452"]
        assert two.content(message()).reply == "accept"
        assert one.submit(BOB, BOB, [PARTNER], message(f"From: {BOB}")).reply == "accept"
        metrics = daemon.metrics()
    assert metrics["postroom_mail_limited_recipients_total"] == 2
    assert metrics['postroom_mail_messages_total{result="accepted"}'] == 3


def test_the_hour_slides() -> None:
    """Each recipient counts against the limit for one hour."""
    times = [0.0, 0.0, 10.0, 20.0, HOUR - 1, HOUR, HOUR + 9, HOUR + 10, 3 * HOUR]
    limit = HourlyLimit(2, lambda: times.pop(0))
    allowed = [limit.allows(login) for login in "aaaaaaab"]
    assert allowed == [True, True, False, False, True, False, True, True]
    assert set(limit._times) == {"b"}
    assert all(HourlyLimit(0).allows("a") for _ in range(10))


def test_a_message_can_be_too_large(mta: Mta) -> None:
    """A message larger than 64 MiB is refused."""
    content = message().replace(b"Text.", b"0123456789abcd\r\n" * (4 << 20))
    assert mta.submit(ALICE, ALICE, [PARTNER], content).code == "552"
    assert mta.submit(ALICE, ALICE, [PARTNER], message()).reply == "accept"


def test_a_stop_closes_connections(host: MailHost, people: None, tmp_path: Path) -> None:
    """A stopping daemon closes connections, so Postfix defers mail. No error is logged."""
    with running_daemon(tmp_path, host.service) as daemon, daemon.mta() as mta:
        assert mta.mail(ALICE, ALICE) == "continue"
        assert daemon.stop() == 0
        with pytest.raises(ConnectionResetError):
            mta.receive()
        assert '"level": "error"' not in daemon.log()


def test_a_closed_connection_is_replaced(host: MailHost, mta: Mta) -> None:
    """A closed database connection is replaced at the next lookup."""
    assert mta.mail(ALICE, ALICE) == "continue"
    closed = host.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE usename = 'postroom-mail' AND application_name = ''"
    )
    assert closed == [(True,)]
    mta.abort()
    assert mta.mail(ALICE, ALICE) == "continue"


@pytest.mark.full
def test_a_lost_database_defers_mail(tmp_path: Path) -> None:
    """While the database is down, mail is deferred at each step."""
    place = binaries()
    with ExitStack() as stack:
        cluster = stack.enter_context(stoppable_cluster(place))
        host = stack.enter_context(mail_host(tmp_path, cluster.url))
        host.domain(DOMAIN)
        host.api.mailbox(ALICE, SALES)
        wait(lambda: host.daemon.health() == 200)
        mta = stack.enter_context(host.daemon.mta())
        assert mta.mail(ALICE, ALICE) == "continue"
        cluster.stop()
        assert mta.content(message(f"From: {SALES}")).code == "451"
        assert mta.mail(ALICE, ALICE).startswith("451 4.3.0 ")
        assert host.daemon.health() == 503
        cluster.start()
        wait(lambda: host.daemon.health() == 200)
        # The password may have been changed in the meantime.
        assert mta.mail(ALICE, ALICE).startswith("421 4.7.0 ")
        mta = stack.enter_context(host.daemon.mta())
        assert is_signed(host, mta.submit(ALICE, ALICE, [PARTNER], message()).content)
        host.api.delete(ALICE)
        wait(lambda: host.daemon.kicks() == [f"kick -- {ALICE}"])


def test_the_log_has_no_mail_and_no_addresses(host: MailHost, people: None, tmp_path: Path) -> None:
    """Even at the lowest log level, the log contains no mail and no addresses."""
    with running_daemon(tmp_path, host.service, "--log-level=debug") as daemon:
        wait(lambda: daemon.health() == 200)
        with daemon.mta() as mta:
            mta.submit(ALICE, ALICE, [PARTNER], message())
            mta.submit(ALICE, ALICE, [PARTNER], message(f"From: {BOB}"))
            mta.submit(BOB, ALICE, [PARTNER], message())
        daemon.lookup(PARTNER, ALICE)
        log = daemon.log()
    assert '"event": "message"' in log
    for text in ("alice", "bob", "desk", "Hello", "Text.", "srs-secret", "PRIVATE"):
        assert text not in log
