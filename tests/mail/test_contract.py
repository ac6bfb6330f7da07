# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the contract says about mail, connection settings and logins, with standard clients."""

from __future__ import annotations

import imaplib
import smtplib
import socket
from collections.abc import Iterator

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
)
from ansible_collections.postroom.email.tests.service.api import Api


@pytest.fixture(scope="module")
def mail(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MailServer]:
    """Run one server for the tests that don't disturb each other."""
    with mail_server(tmp_path_factory.mktemp("mail")) as mail:
        yield mail


def refused(mail: MailServer, *addresses: str) -> list[int]:
    """Return how another server's recipients are answered."""
    with mail.mx() as server:
        server.ehlo()
        server.mail(PARTNER)
        return [server.rcpt(address)[0] for address in addresses]


def test_mail_to_an_alias_is_stored_in_the_inbox(mail: MailServer) -> None:
    """Once, even if a message is sent to the mailbox and its alias."""
    carol, sales = f"carol@{DOMAIN}", f"sales@{DOMAIN}"
    mail.api.mailbox(carol, sales, secrets=[SECRET])
    with mail.mx() as server:
        server.send_message(message(PARTNER, sales, "to sales"), PARTNER, [sales, carol])
    [found] = mail.inbox(carol)
    assert (found["Subject"], found["Return-Path"]) == ("to sales", f"<{PARTNER}>")


def test_a_forwarder_redirects_and_stores_nothing(mail: MailServer) -> None:
    """To every member, here and elsewhere, also through another forwarder; until it is deleted."""
    team, all_ = f"team@{DOMAIN}", f"all@{DOMAIN}"
    mail.api.forwarder(team, [BOB, PARTNER])
    mail.api.forwarder(all_, [team, BOB])
    mail.receive(all_, "to all")
    assert mail.subjects(BOB).count("to all") == 1
    assert f"X-Recipients: {PARTNER}".encode() in mail.outbox()[-1]
    mail.api.patch(team, members=["new@partner.example"])
    mail.receive(team, "to the new member")
    assert b"X-Recipients: new@partner.example\r\n" in mail.outbox()[-1]
    mail.api.delete(all_)
    assert refused(mail, all_, team) == [550, 250]


def test_outgoing_mail_is_signed_with_its_domains_key(mail: MailServer) -> None:
    """The signature verifies with the record of that domain, not with another's."""
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


#: Headers From that are not exactly Alice, some only for other readers.
SPOOFED = [
    *(f"From: {BOB}", "From: stranger@tenant.example", f"From: {ALICE}, {BOB}", "From:", "Cc: x"),
    *(f"From: {ALICE}\r\nFrom: {BOB}", f"From: {ALICE} <{BOB}>", f"From: <{ALICE}> <{BOB}>"),
    *(f"From : {BOB}\r\nFrom: {ALICE}", f"From: {ALICE}\r\r\nFrom: {BOB}"),
    *(f"From: {ALICE}\n\nFrom: {BOB}", f"no header\r\nFrom: {ALICE}"),
]


@pytest.fixture(scope="module")
def stranger(mail: MailServer) -> str:
    """Return a mailbox of another tenant."""
    with Api(mail.service.url, mail.service.new_token("another")) as api:
        api.domain("tenant.example")
        return api.mailbox("stranger@tenant.example")


@pytest.mark.parametrize("header", SPOOFED)
def test_the_header_from_is_the_mailboxs_own(mail: MailServer, header: str) -> None:
    """Exactly one address, however mail programs read the header."""
    with mail.submit() as client:
        client.mail(ALICE)
        client.rcpt(BOB)
        client.docmd("DATA")
        client.send(f"{header}\r\nTo: {BOB}\r\n\r\nText.\r\n.\r\n".encode())
        assert client.getreply()[0] == 550


def test_a_mailbox_sends_from_its_own_addresses(mail: MailServer, stranger: str) -> None:
    """To existing recipients."""
    with mail.submit() as client:
        for sender in (BOB, stranger, PARTNER, ""):
            assert client.mail(sender)[0] == 553
        client.mail(ALICE)
        assert client.rcpt(f"nobody@{DOMAIN}")[0] == 550
        assert client.rcpt("nobody")[0] == 553
        client.rset()
        client.sendmail(ALICE, [stranger], f"From: Alice B. <{ALICE.upper()}>\r\n\r\nText.\r\n")


def test_other_servers_reach_local_addresses_only(mail: MailServer) -> None:
    """Nothing is relayed, also not for somebody who names a sender of this service."""
    assert refused(mail, f"nobody@{DOMAIN}", PARTNER, BOB) == [550, 550, 250]


def test_a_removed_address_is_refused(mail: MailServer) -> None:
    """An alias by PATCH, and all addresses of a deleted domain, from the API's answer on."""
    domain = mail.api.domain("gone.example")
    dave, old, team = (f"{name}@{domain}" for name in ("dave", "old", "team"))
    mail.api.mailbox(dave, old, secrets=[SECRET])
    mail.api.forwarder(team, [PARTNER])
    assert refused(mail, dave, old, team) == [250, 250, 250]
    mail.api.patch(dave, emails=[dave])
    assert refused(mail, dave, old, team) == [250, 550, 250]
    mail.api.delete(domain)
    assert refused(mail, dave, old, team) == [550, 550, 550]


def test_any_secret_logs_in(mail: MailServer) -> None:
    """With the full address of the mailbox, not with an alias; PATCH replaces the secrets."""
    name, secrets = f"erin@{DOMAIN}", ["first", "zweites ü"]
    mail.api.mailbox(name, f"e@{DOMAIN}", secrets=secrets)
    check_logins(mail, name, secrets, "third")
    mail.api.patch(name, secrets=["third"])
    check_logins(mail, name, ["third"], *secrets)


def check_logins(mail: MailServer, name: str, secrets: list[str], *wrong: str) -> None:
    """Log in with the right secrets, and try others and other names."""
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
    """IMAP speaks TLS from the start, submission refuses to go on without STARTTLS."""
    with smtplib.SMTP(HOST, mail.service.ready["submission"], timeout=60) as client:
        client.ehlo()
        assert client.has_extn("starttls")
        assert not client.has_extn("auth")
        assert client.docmd("AUTH PLAIN")[0] == client.docmd(f"MAIL FROM:<{ALICE}>")[0] == 530
    with mail.submit() as client:
        assert client.docmd("AUTH LOGIN")[0] == 503  # already logged in
    with socket.create_connection((HOST, mail.service.ready["imap"]), timeout=60) as plain:
        plain.sendall(b"a1 NOOP\r\n")
        assert b"OK" not in plain.recv(100)
