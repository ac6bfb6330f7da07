# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The embedded mail server: sessions, relayed mail, verified domains and its log."""

from __future__ import annotations

import imaplib
import smtplib
import socket
import sqlite3
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from aiosmtpd.controller import Controller

from ansible_collections.postroom.email.tests.fakes.nameserver.behaviors import (
    answer,
    failing,
    nothing_there,
)
from ansible_collections.postroom.email.tests.fakes.nameserver.server import fake_nameserver
from ansible_collections.postroom.email.tests.mail.client import (
    ALICE,
    BOB,
    DOMAIN,
    HOST,
    PARTNER,
    SECRET,
    is_signed,
    mail_server,
    message,
)
from ansible_collections.postroom.email.tests.service.api import Api
from ansible_collections.postroom.email.tests.support.loopback import free_port
from ansible_collections.postroom.email.tests.support.postgresql import (
    binaries,
    cluster,
)
from ansible_collections.postroom.email.tests.support.service import ServiceError


@pytest.mark.parametrize("stored", [(), ("--mail-dir",)])
def test_sessions_end_with_their_login(stored: tuple[str, ...], tmp_path: Path) -> None:
    """Sessions end when their secret is replaced or when their mailbox and its mail are deleted."""
    options = [f"{option}={tmp_path / 'maildir'}" for option in stored]
    with mail_server(tmp_path / "service", *options) as mail:
        mail.receive(BOB)
        assert len(mail.inbox(BOB)) == 1
        other = mail.imap(mail.api.mailbox(f"other@{DOMAIN}", secrets=[SECRET]))
        reading, deleted, sending = mail.imap(ALICE), mail.imap(BOB), mail.submit(ALICE)
        mail.api.patch(ALICE, secrets=["another"])
        mail.api.delete(BOB)
        with pytest.raises((smtplib.SMTPSenderRefused, smtplib.SMTPServerDisconnected)):
            sending.send_message(message(ALICE, BOB))
        for session in (reading, deleted):
            wait(lambda session=session: has_ended(session.noop, imaplib.IMAP4.abort))  # type: ignore[misc]
            session.shutdown()
        wait(lambda: has_ended(sending.noop, smtplib.SMTPServerDisconnected))
        assert other.noop()[0] == "OK"
        other.logout()
        mail.api.mailbox(BOB, secrets=[SECRET])
        assert mail.inbox(BOB) == []
        folders = tmp_path / "maildir"
        wait(lambda: not stored or len(list(folders.iterdir())) == 3)


def test_maildir_folders_survive_a_restart(tmp_path: Path) -> None:
    """Maildir folders and flags survive a restart of the service."""
    option = f"--mail-dir={tmp_path / 'maildir'}"
    with mail_server(tmp_path, option) as mail:
        mail.receive(ALICE, "kept")
        client = mail.imap()
        client.select()
        client.store("1", "+FLAGS", r"(\Flagged)")
        client.create("Old")
        client.copy("1", "Old")
        assert client.rename("Old", "Archive/2026")[0] == "OK"
        client.logout()
    with mail_server(tmp_path, option, populate=False) as mail:
        assert mail.subjects(ALICE) == ["kept"]
        client = mail.imap()
        assert client.select("Archive/2026")[1] == [b"1"]
        client.select()
        assert client.search(None, "FLAGGED")[1] == [b"1"]
        client.logout()


def test_mail_to_other_services_goes_through_a_relay(tmp_path: Path) -> None:
    """Mail to other services goes through a relay, and is deferred while the relay is down."""
    port = free_port(HOST)
    with mail_server(tmp_path / "here", f"--mail-relay={HOST}:{port}") as mail:
        team = mail.api.forwarder(f"team@{DOMAIN}", [ALICE, PARTNER])
        with pytest.raises(smtplib.SMTPDataError) as error:
            mail.receive(team)
        assert error.value.smtp_code == 451
        assert "ConnectionRefusedError" in mail.service.log_path.read_text()
        assert mail.inbox(ALICE) == []
        with mail_server(tmp_path / "there", f"--mx-port={port}") as there:
            there.api.domain("partner.example")
            there.api.mailbox(PARTNER, secrets=[SECRET])
            mail.receive(team, sender="somebody@elsewhere.example")
            [found] = there.inbox(PARTNER)
            mail.api.patch(team, members=[PARTNER, "nobody@partner.example"])
            mail.receive(team, "to both")
            assert b"X-Recipients: nobody@partner.example\r\n" in mail.outbox()[0]
            mail.api.patch(team, members=[ALICE, "nobody@partner.example"])
            with pytest.raises(smtplib.SMTPDataError) as error:
                mail.receive(team, "to nobody")
            assert error.value.smtp_code == 550
        assert found["Return-Path"] == "<somebody@elsewhere.example>"
        assert len(mail.inbox(ALICE)) == 1


class Refusal:
    """A handler that makes an SMTP server refuse one command."""

    def __init__(self, command: str, reply: str) -> None:
        self._reply = reply
        setattr(self, f"handle_{command}", self._refuse)

    async def _refuse(self, *_given: object) -> str:
        return self._reply


@pytest.mark.parametrize(
    ("command", "reply", "code"),
    [("RCPT", "450 busy", 451), ("DATA", "452 full", 451), ("DATA", "552 too large", 552)],
)
def test_a_relays_refusal_reaches_the_client(
    command: str, reply: str, code: int, tmp_path: Path
) -> None:
    """A relay's refusal reaches the client unchanged.

    Nothing is stored until the client tries again.
    """
    port = free_port(HOST)
    relay = Controller(Refusal(command, reply), HOST, port)
    with mail_server(tmp_path, f"--mail-relay={HOST}:{port}") as mail, ExitStack() as stack:
        relay.start()
        stack.callback(relay.stop)
        team = mail.api.forwarder(f"team@{DOMAIN}", [ALICE, PARTNER])
        with pytest.raises(smtplib.SMTPDataError) as error:
            mail.receive(team)
        assert error.value.smtp_code == code
        assert (mail.inbox(ALICE), mail.outbox()) == ([], [])


def test_loops_are_refused(tmp_path: Path) -> None:
    """Forwarding loops are refused, whether between two accounts or through other servers."""
    with mail_server(tmp_path) as mail, mail.mx() as server:
        with Api(mail.service.url, mail.service.new_token("other")) as other:
            other.domain("other.example")
            other.forwarder("b@other.example", [f"a@{DOMAIN}"])
        mail.api.forwarder(f"a@{DOMAIN}", ["b@other.example"])
        server.ehlo()
        server.mail(PARTNER)
        code, text = server.rcpt(f"a@{DOMAIN}")
        assert (code, text[:5]) == (550, b"5.4.6")
        server.rset()
        trace = b"Received: by x\r\n" * 31
        with pytest.raises(smtplib.SMTPDataError) as error:
            server.sendmail(PARTNER, [ALICE], trace + message(PARTNER, ALICE).as_bytes())
        assert error.value.smtp_code == 554


def test_only_verified_domains_are_served_and_sign(tmp_path: Path) -> None:
    """A domain sends and receives mail only once its own DKIM record has been found in DNS."""
    record = ("service._domainkey.example.com", "TXT")
    wrong = answer('"v=DKIM1; k=rsa; p=MIIB"')
    with ExitStack() as stack:
        dns = stack.enter_context(fake_nameserver({record: failing("SERVFAIL")}))
        options = ("--check-domains", f"--resolvers={dns}")
        mail = stack.enter_context(mail_server(tmp_path, *options))
        wait(lambda: "DNS queries for domains failed" in mail.service.log())
        command = ("domain", "verify", f"--resolvers={dns}", DOMAIN)
        with pytest.raises(ServiceError, match=r"exited with 2: .* the DNS query"):
            mail.service.command(*command)
        for dns.behaviors[record] in (nothing_there("NXDOMAIN"), wrong):
            with pytest.raises(ServiceError, match=r"exited with 1: .* TXT record service\."):
                mail.service.command(*command)
        with mail.submit() as client:
            client.send_message(message(ALICE, BOB))
        assert b"DKIM-Signature" not in mail.outbox()[-1]
        addresses = [ALICE, f"alias@{DOMAIN}", f"team@{DOMAIN}"]
        mail.api.patch(ALICE, emails=addresses[:2])
        mail.api.forwarder(addresses[2], [ALICE])
        with pytest.raises(smtplib.SMTPRecipientsRefused) as refused, mail.mx() as server:
            server.sendmail(PARTNER, addresses, message(PARTNER, ALICE).as_bytes())
        assert set(refused.value.recipients) == set(addresses)
        value = mail.api.dns(DOMAIN).json()["txt"][1]["value"]
        dns.behaviors[record] = answer(f'"{value[:200]}" "{value[200:]}"')
        wait(lambda: "a domain is verified" in mail.service.log())
        assert "is verified" in mail.service.command(*command)
        for address in addresses:
            mail.receive(address, address)
        assert mail.subjects(ALICE) == addresses
        with mail.submit() as client:
            client.send_message(message(ALICE, PARTNER))
        assert is_signed(mail.outbox()[-1], mail.api.dns(DOMAIN).json(), DOMAIN)


@pytest.mark.parametrize("name", ["/", ".", "", "..", "a/../b", "/etc", "x" * 300])
def test_folders_stay_in_their_mailbox(name: str, tmp_path: Path) -> None:
    """A client can't leave its mailbox's directory, even with a crafted folder name."""
    folder = tmp_path / "maildir"
    (folder / "photos").mkdir(parents=True)
    with mail_server(tmp_path, f"--mail-dir={folder}") as mail:
        mail.receive(ALICE)
        mail.inbox(ALICE)
        before = set(folder.iterdir())
        for command in ("CREATE", "DELETE"):
            with suppress(imaplib.IMAP4.abort):
                client = mail.imap(BOB)
                client.xatom(command, f'"{name}"')
            client.shutdown()
        mail.api.delete(BOB)
        wait(lambda: len(set(folder.iterdir())) == len(before))
        assert before == set(folder.iterdir())
        assert len(mail.inbox(ALICE)) == 1


@pytest.mark.parametrize("stored", [(), ("--mail-dir",)])
def test_odd_commands_do_no_harm(stored: tuple[str, ...], tmp_path: Path) -> None:
    """Unusual or malformed commands do no harm."""
    options = [f"{option}={tmp_path / 'maildir'}" for option in stored]
    with mail_server(tmp_path / "service", *options) as mail:
        client = mail.imap()
        with pytest.raises(imaplib.IMAP4.error, match="BAD"):
            client.create('"R&D"')
        answers = [client.create(name)[0] for name in ("A", "A", "B")]
        assert answers == ["OK", "NO", "OK"]
        for command in ("RENAME A B", "RENAME Nope C"):
            assert client.xatom(*command.split())[0] == "NO"
        client.logout()
        with suppress(imaplib.IMAP4.abort):
            client = mail.imap()
            client.xatom("NOOP", "x" * 200_000)
        client.shutdown()
        assert mail.subjects(ALICE) == []


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("--mail-dir={0}/cert", "cert can't be used"),
        ("--mail-outbox={0}/cert", "cert can't be used"),
        ("--mail-cert={0}/cert", "cert or its key can't be used"),
        ("--mail-cert={0}/none/cert", "key exists, but .*cert does not"),
        ("--mail-key={0}/none/key", "cert exists, but .*key does not"),
        ("--mail-cert={0}/none/cert --mail-key={0}/none/key", "key can't be written"),
        ("--mail-cert={0}/a --mail-key={0}/b --imap-port={1}", "port {1} for imap"),
    ],
)
def test_a_failed_start_names_the_reason(option: str, reason: str, tmp_path: Path) -> None:
    """If a directory, certificate or port is unusable, startup fails and states the reason."""
    for name in ("cert", "key"):
        (tmp_path / name).write_text("not PEM")
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
        files = [f"--mail-{name}={tmp_path / name}" for name in ("cert", "key")]
        options = [*files, *option.format(tmp_path, port).split()]
        start = mail_server(tmp_path / "service", *options)
        with pytest.raises(ServiceError, match=reason.format("", port)), start:
            pass
    assert {file.read_text() for file in (tmp_path / "cert", tmp_path / "key")} == {"not PEM"}
    assert not (tmp_path / "service" / "ready.json").exists()


def test_checks_continue_after_the_database_failed(tmp_path: Path) -> None:
    """After a database failure, domain checks continue and sessions still end."""
    record = ("service._domainkey.example.com", "TXT")
    with ExitStack() as stack:
        dns = stack.enter_context(fake_nameserver({record: nothing_there()}))
        options = ("--check-domains", f"--resolvers={dns}")
        mail = stack.enter_context(mail_server(tmp_path, *options))
        database = sqlite3.connect(mail.service.database, isolation_level=None)
        stack.callback(database.close)
        reading = mail.imap()
        for table, checked in (("secret", "sessions"), ("dkim_key", "domains")):
            database.execute(f"ALTER TABLE {table} RENAME TO away")
            wait(lambda checked=checked: f"{checked} could not be checked" in mail.service.log())  # type: ignore[misc]
            database.execute(f"ALTER TABLE away RENAME TO {table}")
        value = mail.api.dns(DOMAIN).json()["txt"][1]["value"]
        dns.behaviors[record] = answer(f'"{value[:200]}" "{value[200:]}"')
        wait(lambda: "a domain is verified" in mail.service.log())
        mail.api.patch(ALICE, secrets=[SECRET])
        wait(lambda: has_ended(reading.noop, imaplib.IMAP4.abort))
        reading.shutdown()
        database.execute("UPDATE dkim_key SET private_pem = 'no key'")
        with mail.submit() as client, pytest.raises(smtplib.SMTPDataError) as error:
            client.send_message(message(ALICE, PARTNER))
        assert (error.value.smtp_code, mail.outbox()) == (451, [])


@pytest.mark.full
def test_a_lost_database_loses_no_mail(tmp_path: Path) -> None:
    """While PostgreSQL is down, other mail servers get a temporary error."""
    place = binaries()
    with ExitStack() as stack:
        with cluster(place) as url:
            mail = stack.enter_context(mail_server(tmp_path, database=url))
            client = stack.enter_context(mail.submit())
        assert client.mail(ALICE)[0] == 451
        server = stack.enter_context(mail.mx())
        server.ehlo()
        server.mail(PARTNER)
        assert server.rcpt(BOB)[0] == 451
        with pytest.raises(imaplib.IMAP4.error) as error:
            mail.imap()
        assert "AUTHENTICATIONFAILED" not in str(error.value)


def test_a_certificate_is_generated_once(tmp_path: Path) -> None:
    """A certificate is generated once, and only the owner can read its key."""
    key = tmp_path / "mail-key.pem"
    with mail_server(tmp_path):
        before = key.read_bytes()
    assert key.stat().st_mode & 0o777 == 0o600
    with mail_server(tmp_path, populate=False) as mail:
        mail.submit().quit()
    assert key.read_bytes() == before


def test_the_log_has_no_mail_and_no_secrets(tmp_path: Path) -> None:
    """Even at the lowest log level and after errors, the log contains no mail and no secrets."""
    with mail_server(tmp_path, "--log-level=debug") as mail:
        (tmp_path / "outbox").rmdir()
        (tmp_path / "outbox").write_text("in the way of the folder")
        mail.receive(ALICE, "canary-subject")
        assert mail.subjects(ALICE)
        with mail.submit() as client, pytest.raises(smtplib.SMTPDataError) as error:
            client.send_message(message(ALICE, PARTNER, "canary-subject"))
        assert error.value.smtp_code == 451
        for log_in in (mail.imap, mail.submit):
            for secret in ("canary-wrong", "canary-\udcff"):
                with pytest.raises((imaplib.IMAP4.error, smtplib.SMTPAuthenticationError)):
                    log_in(ALICE, secret)
        log = mail.service.log_path.read_text()
    assert "FileExistsError" in log
    for text in (SECRET, "canary", "alice", "desk", "Text."):
        assert text not in log


def has_ended(command: Callable[[], object], error: type[Exception]) -> bool:
    """Return whether the server has ended a session."""
    try:
        command()
    except error:
        return True
    return False


def wait(is_true: Callable[[], object]) -> None:
    """Wait for a condition that another process fulfills."""
    for _ in range(600):
        if is_true():
            return
        time.sleep(0.1)
    raise AssertionError("the condition was not met within a minute")
