# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The contract's rules about mail, connection settings and logins, tested with standard clients."""

from __future__ import annotations

import imaplib
import smtplib
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.mail.client import (
    ALICE,
    BOB,
    DOMAIN,
    HOST,
    PARTNER,
    SECRET,
    MailServer,
    is_signed,
    mail_server,
    message,
    resolve_to,
)
from ansible_collections.postroom.email.tests.service.api import Api
from ansible_collections.postroom.email.tests.support.loopback import address_with_ports


@pytest.fixture(scope="module")
def mail(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MailServer]:
    """Run one server for the tests that don't affect each other."""
    with mail_server(tmp_path_factory.mktemp("mail")) as mail:
        yield mail


def recipients(mail: MailServer, *addresses: str) -> list[int]:
    """Return the reply code for each recipient of a message from another server."""
    with mail.mx() as server:
        server.ehlo()
        server.mail(PARTNER)
        return [server.rcpt(address)[0] for address in addresses]


@pytest.mark.full
def test_mail_programs_connect_with_the_documented_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mail programs connect to the host in the MX record with the documented ports and TLS."""
    address = address_with_ports(587, 993)
    monkeypatch.setenv("NO_PROXY", address)
    options = [f"--host={address}", "--submission-port=587", "--imap-port=993"]
    with mail_server(tmp_path, *options) as mail:
        [mx] = mail.api.dns(DOMAIN).json()["mx"]
        resolve_to(address, mx["value"], monkeypatch)
        with smtplib.SMTP(mx["value"], 587, "localhost", timeout=60) as sending:
            sending.starttls(context=mail.trust)
            sending.login(ALICE, SECRET)
            sending.send_message(message(ALICE, BOB))
        with imaplib.IMAP4_SSL(mx["value"], 993, ssl_context=mail.trust, timeout=60) as reading:
            reading.login(BOB, SECRET)
            assert reading.select("INBOX")[1] == [b"1"]


def test_mail_to_an_alias_is_stored_in_the_inbox(mail: MailServer) -> None:
    """A message to both a mailbox and its alias is stored in the inbox once."""
    carol, sales = f"carol@{DOMAIN}", f"sales@{DOMAIN}"
    mail.api.mailbox(carol, sales, secrets=[SECRET])
    with mail.mx() as server:
        server.send_message(message(PARTNER, sales, "to sales"), PARTNER, [sales, carol])
    [found] = mail.inbox(carol)
    assert (found["Subject"], found["Return-Path"]) == ("to sales", f"<{PARTNER}>")


def test_a_forwarder_redirects_and_stores_nothing(mail: MailServer) -> None:
    """Mail to any address of a forwarder goes to all members. The forwarder stores nothing."""
    team, every, everyone = (f"{name}@{DOMAIN}" for name in ("team", "every", "everyone"))
    mail.api.forwarder(team, [BOB, PARTNER])
    mail.api.forwarder(every, [team, BOB, "two@partner.example"], everyone)
    for address in (every, everyone):
        mail.receive(address, f"to {address}")
        assert mail.subjects(BOB).count(f"to {address}") == 1
        assert f"X-Recipients: {PARTNER}, two@partner.example\r\n".encode() in mail.outbox()[-1]
    # A forwarder has no inbox that a client could read.
    with pytest.raises(imaplib.IMAP4.error):
        mail.imap(team, SECRET)
    mail.api.patch(team, members=["new@partner.example"])
    mail.receive(team, "to the new member")
    assert b"X-Recipients: new@partner.example\r\n" in mail.outbox()[-1]
    assert "to the new member" not in mail.subjects(BOB)
    mail.api.delete(every)
    assert recipients(mail, every, everyone, team) == [550, 550, 250]


def test_outgoing_mail_is_signed_with_its_domains_key(mail: MailServer) -> None:
    """Outgoing mail is signed with the key of its domain, and with no other key."""
    other = mail.api.domain("other.example")
    mail.api.mailbox(f"eve@{other}", secrets=[SECRET])
    records = {domain: mail.api.dns(domain).json() for domain in (DOMAIN, other)}
    for sender, domain in ((ALICE, DOMAIN), (f"eve@{other}", other)):
        with mail.submit(sender) as client:
            client.send_message(message(sender, PARTNER))
        sent = mail.outbox()[-1]
        assert is_signed(sent, records[domain], domain)
    assert not is_signed(sent, records[DOMAIN], other)
    assert not is_signed(sent.replace(b"Text.", b"Pay!."), records[other], other)


#: From headers that at least some mail programs read as something other than Alice's address.
SPOOFED = [
    *(f"From: {BOB}", "From: stranger@tenant.example", f"From: {ALICE}, {BOB}", "From:", "Cc: x"),
    *(f"From: {ALICE}\r\nFrom: {BOB}", f"From: {ALICE} <{BOB}>", f"From: <{ALICE}> <{BOB}>"),
    *(f"From : {BOB}\r\nFrom: {ALICE}", f"From: {ALICE}\r\r\nFrom: {BOB}"),
    *(f"From: {ALICE}\n\nFrom: {BOB}", f"no header\r\nFrom: {ALICE}"),
    *(f"From: friends: {ALICE};", "From: " + "(a)\r\n " * 500 + ALICE),
]


@pytest.fixture(scope="module")
def stranger(mail: MailServer) -> str:
    """Create a mailbox of another tenant, and return its address."""
    with Api(mail.service.url, mail.service.new_token("another")) as api:
        api.domain("tenant.example")
        return api.mailbox("stranger@tenant.example")


@pytest.mark.parametrize("header", SPOOFED)
def test_the_header_from_is_the_mailboxs_own(mail: MailServer, header: str) -> None:
    """The From header must be one of the mailbox's addresses, however a mail program parses it."""
    with mail.submit() as client:
        client.mail(ALICE)
        client.rcpt(BOB)
        client.docmd("DATA")
        client.send(f"{header}\r\nTo: {BOB}\r\n\r\nText.\r\n.\r\n".encode())
        assert client.getreply()[0] == 550


def test_a_mailbox_sends_from_its_own_addresses(mail: MailServer, stranger: str) -> None:
    """A mailbox can send only from its own addresses, and only to recipients that exist."""
    with mail.submit() as client:
        for sender in (BOB, stranger, PARTNER, ""):
            assert client.mail(sender)[0] == 553
        client.mail(ALICE)
        assert client.rcpt(f"nobody@{DOMAIN}")[0] == 550
        assert client.rcpt("nobody")[0] == 553
        client.rset()
        assert client.mail(ALICE, ["size=33554433"])[0] == 552
        client.sendmail(ALICE, [stranger], f"From: Alice B. <{ALICE.upper()}>\r\n\r\nText.\r\n")


def test_other_servers_reach_local_addresses_only(mail: MailServer) -> None:
    """Other servers can deliver only to local addresses, and nothing is relayed for them."""
    assert recipients(mail, f"nobody@{DOMAIN}", PARTNER, "nobody", BOB) == [550, 550, 553, 250]


def test_a_removed_address_is_refused(mail: MailServer) -> None:
    """Mail to a removed alias or domain is refused."""
    domain = mail.api.domain("gone.example")
    dave, old, new, team = (f"{name}@{domain}" for name in ("dave", "old", "new", "team"))
    mail.api.mailbox(dave, old, secrets=[SECRET])
    mail.api.forwarder(team, [PARTNER])
    assert recipients(mail, dave, old, new, team) == [250, 250, 550, 250]
    mail.api.patch(dave, emails=[dave, new])
    assert recipients(mail, dave, old, new, team) == [250, 550, 250, 250]
    mail.submit(dave).quit()
    mail.api.delete(domain)
    assert recipients(mail, dave, old, new, team) == [550, 550, 550, 550]
    assert mail.log_in(dave, SECRET).startswith("535")


def test_recipients_are_checked_again_when_the_message_comes(mail: MailServer) -> None:
    """A mailbox deleted after RCPT gets no mail, but the other recipients do."""
    for kept, expected in (([], 550), ([f"kept@{DOMAIN}"], 250)):
        addresses = [mail.api.mailbox(name, secrets=[SECRET]) for name in kept]
        late = mail.api.mailbox(f"late@{DOMAIN}")
        with mail.mx() as server:
            server.ehlo()
            server.mail(PARTNER)
            assert {server.rcpt(address)[0] for address in [*addresses, late]} == {250}
            mail.api.delete(late)
            assert server.data(message(PARTNER, late, "late").as_bytes())[0] == expected
    assert mail.subjects(f"kept@{DOMAIN}") == ["late"]


def test_any_secret_logs_in(mail: MailServer) -> None:
    """Each of a mailbox's secrets works with the full address, until PATCH replaces the secrets."""
    name, secrets = f"erin@{DOMAIN}", ["first", "zweites ü"]
    mail.api.mailbox(name, f"e@{DOMAIN}", secrets=secrets)
    check_logins(mail, name, secrets, "third")
    mail.api.patch(name, secrets=["third"])
    check_logins(mail, name, ["third"], *secrets)


@pytest.mark.parametrize("mechanism", ["LOGIN", "PLAIN"])
def test_each_mechanism_checks_the_secret(mail: MailServer, mechanism: str) -> None:
    """Each mechanism refuses wrong secrets and invalid base64, and lets the client try again."""
    with start_submission(mail) as client:
        assert client.docmd("AUTH", f"{mechanism} !")[0] == 501
        client.user = ALICE
        answer = getattr(client, f"auth_{mechanism.lower()}")
        for client.password, code in (("wrong", 530), (SECRET, 250)):
            with suppress(smtplib.SMTPAuthenticationError):
                client.auth(mechanism, answer)
            assert client.mail(ALICE)[0] == code


def start_submission(mail: MailServer) -> smtplib.SMTP:
    """Connect for submission with STARTTLS, but don't log in."""
    client = smtplib.SMTP(HOST, mail.service.ready["submission"], "localhost", timeout=60)
    client.starttls(context=mail.trust)
    client.ehlo()
    return client


def test_a_login_acts_for_its_own_mailbox_only(mail: MailServer) -> None:
    """An IMAP login can't act for another mailbox."""
    port = mail.service.ready["imap"]
    with imaplib.IMAP4_SSL(HOST, port, ssl_context=mail.trust, timeout=60) as client:
        for other, own in ((BOB, ALICE), (ALICE, ALICE)):
            given = f"{other}\0{own}\0{SECRET}".encode()
            with suppress(imaplib.IMAP4.error):
                client.authenticate("PLAIN", lambda _challenge, given=given: given)  # type: ignore[misc]
            assert client.state == ("AUTH" if other == own else "NONAUTH")


def check_logins(mail: MailServer, name: str, secrets: list[str], *wrong: str) -> None:
    """Check that the right secrets allow a login, and that wrong secrets and other names don't."""
    for secret in secrets:
        assert mail.inbox(name, secret) == []
        mail.submit(name, secret).quit()
    others = (name.replace("erin", "e"), "erin", PARTNER)
    for user, secret in [
        *((name, text) for text in wrong),
        *((user, secrets[0]) for user in others),
    ]:
        with pytest.raises(imaplib.IMAP4.error, match="AUTHENTICATIONFAILED"):
            mail.imap(user, secret)
        with pytest.raises(smtplib.SMTPAuthenticationError) as error:
            mail.submit(user, secret)
        assert error.value.smtp_code == 535


def test_logins_need_tls(mail: MailServer) -> None:
    """IMAP uses TLS from the start, and submission requires STARTTLS before a login."""
    with smtplib.SMTP(HOST, mail.service.ready["submission"], timeout=60) as client:
        client.ehlo()
        assert client.has_extn("starttls")
        assert not client.has_extn("auth")
        assert client.docmd("AUTH PLAIN")[0] == client.docmd(f"MAIL FROM:<{ALICE}>")[0] == 530
    with start_submission(mail) as client:
        assert client.mail(ALICE)[0] == client.rcpt(BOB)[0] == client.docmd("DATA")[0] == 530
    with socket.create_connection((HOST, mail.service.ready["imap"]), timeout=60) as plain:
        plain.sendall(b"a1 NOOP\r\n")
        assert b"OK" not in plain.recv(100)
