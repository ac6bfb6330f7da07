# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Changes through the API affect delivery, and mail arrives once, unchanged and signed."""

from __future__ import annotations

import imaplib
import smtplib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from email.message import EmailMessage

import pytest

from ansible_collections.postroom.email.tests.hosts.mail_host import (
    ONE,
    PARTNER,
    SECRET,
    MailHost,
    unused,
    wait_for,
)
from ansible_collections.postroom.email.tests.support.mail import message

NON_ASCII = "pässwörd-€"


def test_each_secret_logs_in(host: MailHost) -> None:
    """Each of a mailbox's secrets works for IMAPS and for submission on ports 587 and 465."""
    name = host.one.mailbox(unused(), secrets=[SECRET, "second", NON_ASCII])
    for secret in (SECRET, "second", NON_ASCII):
        host.mail.imap(name, secret).logout()
        host.mail.submit(name, secret).quit()
    with pytest.raises(imaplib.IMAP4.error, match="AUTHENTICATIONFAILED"):
        host.mail.imap(name, "wrong")
    assert host.mail.log_in(name, "wrong").startswith("535")
    with smtplib.SMTP_SSL(host.host.address, 465, "localhost", context=host.mail.trust) as client:
        client.login(name, SECRET)


def test_login_needs_tls(host: MailHost) -> None:
    """Submission offers a login only after STARTTLS, and port 25 never offers one."""
    for port in (587, 25):
        with smtplib.SMTP(host.host.address, port, "localhost") as client:
            client.ehlo()
            assert not client.has_extn("auth")
            client.starttls(context=host.mail.trust)
            client.ehlo()
            assert client.has_extn("auth") == (port == 587)


def test_alias_added_moved_removed(host: MailHost) -> None:
    """Mail follows an alias that is added, moved or removed, without reloading Postfix."""
    alias, first, second = unused(), host.mailbox(), host.mailbox()
    assert host.reply_to(alias).startswith("550")
    host.one.patch(first, emails=[first, alias])
    host.wait_until_mapped(alias, first)
    host.mail.receive(alias, "to the first")
    assert host.wait_for_mail(first, "to the first")
    host.one.patch(first, emails=[first])
    host.one.patch(second, emails=[second, alias])
    host.wait_until_mapped(alias, second)
    host.mail.receive(alias, "to the second")
    assert host.wait_for_mail(second, "to the second")
    host.one.patch(second, emails=[second])
    host.wait_until_mapped(alias, "")
    assert host.reply_to(alias).startswith("550")


def test_new_domain_after_refusals(host: MailHost) -> None:
    """A Postfix process that refused a domain's mail accepts it after the domain is verified."""
    name = "late.example"
    address = f"postmaster@{name}"
    for _session in range(20):
        assert host.reply_to(address).startswith("5")
    host.add_domain(host.one, name)
    assert {host.reply_to(address)[:3] for _session in range(20)} == {"250"}
    assert host.reply_to(f"nobody@{name}").startswith("5")


def test_mailbox_and_alias_get_one_copy(host: MailHost) -> None:
    """A message to a mailbox and its alias is stored once.

    It keeps its original envelope sender.
    """
    alias = unused()
    name = host.mailbox(alias)
    with host.mail.mx() as client:
        client.send_message(message(PARTNER, alias), PARTNER, [name, alias])
    [mail] = host.wait_for_mail(name)
    assert f"Return-Path: <{PARTNER}>".encode() in mail


def test_forwarders(host: MailHost) -> None:
    """A forwarder delivers one copy to each mailbox, other forwarder and other service."""
    inner, outer = unused(), unused()
    near, far = host.mailbox(), host.mailbox()
    host.one.forwarder(inner, [far, "inner@partner.example"])
    host.one.forwarder(outer, [near, inner, far, "outer@partner.example"])
    sender = unused("partner.example")
    host.mail.receive(outer, "forwarded", sender)
    for name in (near, far):
        assert len(host.wait_for_mail(name, "forwarded")) == 1
    sent = {name: host.partner.wait_for(f"{name}@partner.example") for name in ("inner", "outer")}
    rewritten = {one.sender for one in sent.values()}
    [bounce_address] = rewritten
    assert bounce_address.startswith("SRS0=")
    with host.mail.mx() as client:
        client.send_message(message(PARTNER, PARTNER, "bounce"), "", [bounce_address])
    assert b"Subject: bounce" in host.partner.wait_for(sender).content


def test_replaced_secret(host: MailHost) -> None:
    """After a secret is replaced, the old one is refused and its sessions end."""
    name = host.mailbox()
    reading, sending = host.mail.imap(name, SECRET), host.mail.submit(name, SECRET)
    host.one.patch(name, secrets=["replaced"])
    wait_for(lambda: _has_ended(reading))
    with pytest.raises((smtplib.SMTPSenderRefused, smtplib.SMTPServerDisconnected)):
        sending.send_message(message(name, PARTNER), name, [PARTNER])
    sending.close()
    assert host.mail.log_in(name, SECRET).startswith("535")
    host.mail.imap(name, "replaced").logout()


def test_mailbox_created_again_is_empty(host: MailHost) -> None:
    """Deleting a mailbox removes its mail from disk, so a new mailbox of that name is empty."""
    name = host.mailbox()
    host.mail.receive(name)
    host.wait_for_mail(name)
    folders = _folders(host)
    session = host.mail.imap(name, SECRET)
    host.one.delete(name)
    wait_for(lambda: _has_ended(session))
    assert host.reply_to(name).startswith("550")
    wait_for(lambda: len(_folders(host)) < len(folders))
    host.one.mailbox(name, secrets=[SECRET])
    assert host.mail.inbox(name, SECRET) == []


def test_domain_with_its_mailboxes(host: MailHost) -> None:
    """Deleting a domain ends its mailboxes' sessions and removes their mail."""
    host.add_domain(host.one, "cascade.example")
    name = host.mailbox(domain="cascade.example")
    host.mail.receive(name)
    host.wait_for_mail(name)
    folders, session = _folders(host), host.mail.imap(name, SECRET)
    host.one.delete("cascade.example")
    wait_for(lambda: _has_ended(session))
    wait_for(lambda: len(_folders(host)) < len(folders))
    assert host.reply_to(name).startswith(("550", "554"))


def test_unverified_domain(host: MailHost) -> None:
    """Mailboxes of an unverified domain can log in, but can't receive or send mail."""
    host.one.domain("unverified.example")
    name = host.mailbox(domain="unverified.example")
    host.mail.imap(name, SECRET).logout()
    assert host.reply_to(name).startswith("5")
    with pytest.raises(smtplib.SMTPSenderRefused):
        host.send(name, PARTNER)


@pytest.mark.parametrize("lines", ["größe ☃\n", "x" * 5000 + "\n", ".\n..\nFrom here\n"])
def test_signature_of_unusual_text(host: MailHost, lines: str) -> None:
    """8-bit text, long lines and lines that begin with a dot arrive with a valid signature."""
    name, to = host.mailbox(), unused("partner.example")
    content = f"From: {name}\r\nTo: {to}\r\nSubject: unusual\r\n"
    content += "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n"
    content += lines.replace("\n", "\r\n")
    with host.mail.submit(name, SECRET) as client:
        client.sendmail(name, [to], content.encode(), ["BODY=8BITMIME"])
    received = host.partner.wait_for(to).content
    assert host.is_signed(received, ONE)
    assert received.endswith(lines.replace("\n", "\r\n").encode())


def test_large_message(host: MailHost) -> None:
    """A message of 5 MB arrives byte for byte."""
    name = host.mailbox()
    given = bytes(range(256)) * (5 * 4096)
    sent = EmailMessage()
    sent["From"], sent["To"], sent["Subject"] = name, name, "large"
    sent.add_attachment(given, maintype="application", subtype="octet-stream")
    with host.mail.submit(name, SECRET) as client:
        client.send_message(sent)
    host.wait_for_mail(name, "large")
    [mail] = host.mail.inbox(name, SECRET)
    [part] = mail.iter_attachments()
    assert part.get_payload(decode=True) == given


def test_idle(host: MailHost) -> None:
    """A client in IDLE is notified of new mail."""
    name = host.mailbox()
    session = host.mail.imap(name, SECRET)
    session.select()
    session.send(b"a IDLE\r\n")
    assert session.readline().startswith(b"+")
    host.mail.receive(name)
    assert b"EXISTS" in session.readline()
    session.shutdown()


def test_client_headers_are_removed(host: MailHost) -> None:
    """Received headers added by a client are removed, because they would reveal its location."""
    name, to = host.mailbox(), unused("partner.example")
    sent = message(name, to)
    sent["Received"] = "from laptop.home by nowhere"
    with host.mail.submit(name, SECRET) as client:
        client.send_message(sent)
    assert b"laptop.home" not in host.partner.wait_for(to).content


def test_concurrent_messages(host: MailHost) -> None:
    """Of 200 messages sent over 8 connections, each arrives exactly once."""
    name = host.mailbox()
    batches = [[f"m{number}" for number in range(start, 200, 8)] for start in range(8)]

    def submit(subjects: list[str]) -> None:
        with host.mail.submit(name, SECRET) as client:
            for subject in subjects:
                client.send_message(message(name, name, subject))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(submit, batches))
    wait_for(lambda: len(host.mail.inbox(name, SECRET)) >= 200)
    counts = Counter(mail["Subject"] for mail in host.mail.inbox(name, SECRET))
    assert counts == Counter(subject for batch in batches for subject in batch)


def test_postmaster(host: MailHost) -> None:
    """Mail to a nonexistent postmaster address of a domain goes to the operator."""
    operator = f"postmaster@{ONE}"
    host.one.mailbox(operator, secrets=[SECRET])
    host.mail.receive("postmaster@two.example", "for the operator")
    assert host.wait_for_mail(operator, "for the operator")


def _has_ended(session: imaplib.IMAP4_SSL) -> bool:
    """Return whether the host has ended a session. If it has, close the client's connection."""
    try:
        session.noop()
    except (imaplib.IMAP4.abort, OSError):
        session.shutdown()
        return True
    return False


def _folders(host: MailHost) -> list[str]:
    return [
        folder
        for each in host.hosts.values()
        for folder in each.run("ls", "/var/lib/postroom-mail").split()
    ]
