# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Attacks by a tenant, a client or another mail server, all of which must fail."""

from __future__ import annotations

import imaplib
import smtplib
import socket

import pytest

from ansible_collections.postroom.email.tests.hosts.mail_host import (
    ADDRESS,
    ONE,
    PARTNER,
    SECRET,
    TWO,
    MailHost,
    unused,
    wait_for,
)
from ansible_collections.postroom.email.tests.support.mail import message


@pytest.mark.parametrize(
    "headers",
    [
        "From: {victim}",
        "From: {sender}\r\nFrom: {victim}",
        "From: {victim}, {sender}",
        "From: {sender}, {victim}",
        "From: team: {victim};",
        "Subject: none",
        'From: "{sender}" <{victim}>',
    ],
)
def test_header_from(host: MailHost, headers: str) -> None:
    """A message is refused unless its From header is one address of the sender's mailbox."""
    sender = host.mailbox()
    for victim in (host.mailbox(), host.mailbox(api=host.two, domain=TWO), PARTNER):
        content = headers.format(sender=sender, victim=victim) + "\r\n\r\nText.\r\n"
        with host.mail.submit(sender, SECRET) as client:
            client.ehlo()
            with pytest.raises(smtplib.SMTPDataError) as refused:
                client.sendmail(sender, [PARTNER], content)
        assert refused.value.smtp_code in (550, 553, 554)


def test_envelope_sender(host: MailHost) -> None:
    """The envelope sender must be an address or alias of the mailbox that logged in."""
    alias = unused()
    sender = host.mailbox(alias)
    for victim in (host.mailbox(), host.mailbox(api=host.two, domain=TWO), PARTNER, ""):
        with host.mail.submit(sender, SECRET) as client, pytest.raises(smtplib.SMTPException):
            client.send_message(message(sender, PARTNER), victim, [PARTNER])
    to = unused("partner.example")
    with host.mail.submit(sender, SECRET) as client:
        client.send_message(message(alias, to), alias, [to])
    assert host.is_signed(host.partner.wait_for(to).content, ONE)


def test_signature_is_of_the_senders_domain(host: MailHost) -> None:
    """A message is signed only with the key of its sender's own domain."""
    sender, to = host.mailbox(api=host.two, domain=TWO), unused("partner.example")
    host.send(sender, to)
    received = host.partner.wait_for(to).content
    assert host.is_signed(received, TWO)
    assert f"d={ONE}".encode() not in received


def test_tenants_are_isolated(host: MailHost) -> None:
    """A tenant's API can neither see nor change another tenant's objects."""
    name = host.mailbox()
    assert host.two.get(name).status_code == 404
    assert host.two.delete(name).status_code == 404
    assert host.two.patch(name, secrets=["stolen"]).status_code == 404
    host.mail.imap(name, SECRET).logout()


def test_domain_takeover(host: MailHost) -> None:
    """If a tenant registers a domain that it doesn't own, mail still goes to the real owner."""
    host.two.domain("partner.example")
    host.two.mailbox("target@partner.example", secrets=[SECRET])
    host.send(host.mailbox(), "target@partner.example")
    assert host.partner.wait_for("target@partner.example")
    assert host.reply_to("target@partner.example").startswith("5")
    host.two.delete("partner.example")


def test_no_relay(host: MailHost) -> None:
    """Port 25 accepts only mail for this service, even from clients that claim to be local."""
    for sender in (PARTNER, f"postmaster@{ONE}", ""):
        assert host.reply_to("someone@elsewhere.example", sender).startswith(("5", "4"))
    for odd in (f"someone%elsewhere.example@{ONE}", f"elsewhere.example!someone@{ONE}"):
        assert host.reply_to(odd).startswith("5")


@pytest.mark.parametrize("socket", ["milter", "socketmap"])
def test_only_postfix_reaches_the_daemon(host: MailHost, socket: str) -> None:
    """Only Postfix can connect to the daemon, because the daemon signs mail for any client."""
    path = f"/run/postroom-mail/{socket}"
    code = f"from socket import *; socket(AF_UNIX).connect('{path}')"
    connect = ("python3", "-c", code)
    statuses = {
        user: host.host.attempt("runuser", "--user", user, "--", *connect).returncode
        for user in ("postfix", "nobody")
    }
    assert statuses == {"postfix": 0, "nobody": 1}


def test_submission_needs_login(host: MailHost) -> None:
    """A client that has not logged in can't submit mail."""
    with smtplib.SMTP(ADDRESS, 587, "localhost") as client:
        client.starttls(context=host.mail.trust)
        client.ehlo()
        assert client.mail(PARTNER)[0] in (250, 530)
        assert client.rcpt(f"postmaster@{ONE}")[0] >= 500


@pytest.mark.parametrize("sender", [f"ceo@{ONE}", f'"ceo"@{ONE}', f"postmaster@{TWO}"])
def test_forwarded_mail_is_not_sent_as_its_sender(host: MailHost, sender: str) -> None:
    """Forwarded mail gets an SRS sender and no signature, so it can't be used to forge senders."""
    forwarder, to = unused(TWO), unused("partner.example")
    host.two.forwarder(forwarder, [to])
    host.mail.receive(forwarder, sender=sender)
    received = host.partner.wait_for(to)
    assert received.sender.startswith("SRS0=")
    assert b"DKIM-Signature" not in received.content


def test_forged_srs(host: MailHost) -> None:
    """A forged SRS address is refused."""
    forged = "SRS0=AAAA=BB=elsewhere.example=someone@mail.example"
    assert host.reply_to(forged, "").startswith("550")


def test_harvested_srs(host: MailHost) -> None:
    """An SRS address generated by the host accepts only bounces, so it can't relay other mail."""
    forwarder = unused()
    host.one.forwarder(forwarder, ["harvester@partner.example"])
    host.mail.receive(forwarder, "forwarded")
    made = host.partner.wait_for("harvester@partner.example").sender
    assert made.startswith("SRS0=")
    for address in (made, made.lower(), f'"{made.partition("@")[0]}"@mail.example'):
        for sender in (PARTNER, f"postmaster@{ONE}", '"<>x"@partner.example'):
            assert host.reply_to(address, sender).startswith("550 5.7.1"), (address, sender)
    assert host.reply_to(made, "").startswith("250")


@pytest.mark.parametrize("end", [b"\n.\n", b"\r\n.\n", b"\n.\r\n", b"\r.\r"])
def test_smuggling(host: MailHost, end: bytes) -> None:
    """Only the exact sequence CR LF, dot, CR LF ends a message."""
    name = host.mailbox()
    inner = f"MAIL FROM:<{PARTNER}>\r\nRCPT TO:<{name}>\r\nDATA\r\nSubject: smuggled\r\n\r\n"
    with host.mail.mx() as client:
        client.ehlo()
        client.mail(PARTNER)
        client.rcpt(name)
        client.docmd("DATA")
        client.send(b"Subject: outer\r\n\r\nText." + end + inner.encode() + b"x\r\n.\r\n")
        client.getreply()
    host.mail.receive(name, "last")
    host.wait_for_mail(name, "last")
    subjects = [mail["Subject"] for mail in host.mail.inbox(name, SECRET)]
    assert "smuggled" not in subjects


def test_password_guessing(host: MailHost) -> None:
    """Guessing the password of one mailbox does not lock out other mailboxes."""
    victim, other = host.mailbox(), host.mailbox()
    for guess in range(3):
        with pytest.raises(imaplib.IMAP4.error):
            host.mail.imap(victim, f"guess{guess}")
    host.mail.imap(other, SECRET).logout()


def test_forwarding_loop_over_tenants(host: MailHost) -> None:
    """A forwarding loop across tenants ends, and members outside the loop get the mail once."""
    here, there, outside = unused(ONE), unused(TWO), host.mailbox()
    host.one.forwarder(here, [there, outside])
    host.two.forwarder(there, [here])
    host.mail.receive(there, "around")
    assert len(host.wait_for_mail(outside, "around")) == 1
    alone, back = unused(ONE), unused(TWO)
    host.one.forwarder(alone, [back])
    host.two.forwarder(back, [alone])
    assert host.reply_to(alone).startswith("5")


def test_many_members(host: MailHost) -> None:
    """A forwarder delivers to each of its 1,000 members."""
    forwarder = unused()
    members = [f"m{number}@partner.example" for number in range(999)]
    host.one.forwarder(forwarder, [*members, host.mailbox()])
    host.mail.receive(forwarder, "many")
    wanted = set(members)
    wait_for(lambda: wanted <= {to for one in host.partner.received for to in one.recipients})


def test_null_bytes_and_bad_lines(host: MailHost) -> None:
    """A client that sends garbage is refused, and doesn't affect other clients."""
    with socket.create_connection((ADDRESS, 25), 10) as raw:
        raw.sendall(b"\x00\xff" * 5000 + b"\r\n")
        raw.recv(1000)
    name = host.mailbox()
    host.mail.receive(name)
    assert host.wait_for_mail(name)
