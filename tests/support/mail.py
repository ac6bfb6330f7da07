# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A mail client for the service's embedded mail server, for tests and demos."""

from __future__ import annotations

import base64
import email
import imaplib
import smtplib
import ssl
from collections.abc import Mapping
from contextlib import ExitStack
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path
from typing import Any

import dkim

ALICE = "alice@example.com"
SECRET = "correct-horse"
PARTNER = "desk@partner.example"
HOST = "127.0.0.1"
TIMEOUT = 60.0
CERTIFICATE, OUTBOX = "mail-cert.pem", "outbox"


def mail_options(folder: Path) -> list[str]:
    """Return the service's options to run the mail server, with its files in a directory."""
    ports = [f"--{name}-port=0" for name in ("submission", "imap", "mx")]
    files = {"cert": CERTIFICATE, "key": "mail-key.pem", "outbox": OUTBOX}
    return ["--mail", *ports, *(f"--mail-{name}={folder / file}" for name, file in files.items())]


class MailClient:
    """A mail client that sends and reads mail.

    :param ports: the ports, keyed by `submission`, `imap` and `mx`, as in the service's ready file
    :param folder: the directory that contains the server's certificate and outbox
    """

    def __init__(self, ports: Mapping[str, Any], folder: Path, host: str = HOST) -> None:
        self._ports = ports
        self.folder = folder
        self.host = host

    @property
    def trust(self) -> ssl.SSLContext:
        """A TLS context that trusts the certificate that the server generated."""
        return ssl.create_default_context(cafile=str(self.folder / CERTIFICATE))

    def submit(self, name: str = ALICE, secret: str = SECRET) -> smtplib.SMTP:
        """Return a connection that is logged in for submission."""
        client = self._smtp("submission")
        with ExitStack() as end:
            end.callback(client.close)
            code, text = self._authenticate(client, name, secret)
            if code != 235:
                raise smtplib.SMTPAuthenticationError(code, text)
            end.pop_all()
        return client

    def log_in(self, name: str, secret: str) -> str:
        """Try to log in for submission, and return the server's reply."""
        with self._smtp("submission") as client:
            code, text = self._authenticate(client, name, secret)
        return f"{code} {text.decode()}"

    def mx(self) -> smtplib.SMTP:
        """Connect to the listener for other mail servers."""
        return self._smtp("mx")

    def receive(self, to: str, subject: str = "hello", sender: str = PARTNER) -> None:
        """Deliver a message, as another mail server would."""
        with self.mx() as server:
            server.send_message(message(sender, to, subject), sender, [to])

    def imap(self, name: str = ALICE, secret: str = SECRET) -> imaplib.IMAP4_SSL:
        """Return a connection that is logged in for IMAP."""
        port = self._ports["imap"]
        client = imaplib.IMAP4_SSL(self.host, port, ssl_context=self.trust, timeout=TIMEOUT)
        with ExitStack() as end:
            end.callback(client.shutdown)
            client.authenticate("PLAIN", lambda _challenge: _plain(name, secret))
            end.pop_all()
        return client

    def inbox(self, name: str, secret: str = SECRET) -> list[EmailMessage]:
        """Return the messages of an inbox, oldest first."""
        client = self.imap(name, secret)
        client.select()
        _status, [numbers] = client.search(None, "ALL")
        found = []
        for number in numbers.split():
            _status, [part, *_more] = client.fetch(number, "(RFC822)")
            assert isinstance(part, tuple)
            found.append(email.message_from_bytes(part[1], policy=SMTP))
        client.logout()
        return found

    def subjects(self, name: str) -> list[str]:
        """Return the subjects in an inbox, oldest first."""
        return [found["Subject"] for found in self.inbox(name)]

    def outbox(self) -> list[bytes]:
        """Return the messages sent to other services, oldest first."""
        return [file.read_bytes() for file in sorted((self.folder / OUTBOX).glob("*.eml"))]

    def _smtp(self, listener: str) -> smtplib.SMTP:
        # Without an explicit name, smtplib looks up the host name, which takes seconds if DNS
        # fails.
        return smtplib.SMTP(self.host, self._ports[listener], "localhost", timeout=TIMEOUT)

    def _authenticate(self, client: smtplib.SMTP, name: str, secret: str) -> tuple[int, bytes]:
        client.starttls(context=self.trust)
        client.ehlo()
        # The login method of smtplib encodes secrets as ASCII.
        given = base64.b64encode(_plain(name, secret)).decode()
        return client.docmd("AUTH", f"PLAIN {given}")


def _plain(name: str, secret: str) -> bytes:
    return f"\0{name}\0{secret}".encode("utf-8", "surrogateescape")


def message(sender: str, to: str, subject: str = "hello") -> EmailMessage:
    """Return a short text message."""
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = sender, to, subject
    made.set_content("Text.\n")
    return made


def signing_key(sent: bytes, records: list[dict[str, str]], domain: str) -> str:
    """Return the name of the TXT record whose key verifies a DKIM signature, or an empty string.

    :param records: the TXT records of the DNS endpoint
    """
    published = {f"{record['host']}.{domain}.": record["value"] for record in records}
    queried: list[str] = []

    def answer(name: bytes, **_more: object) -> bytes | None:
        queried.append(name.decode())
        return published.get(queried[-1], "").encode() or None

    return queried[-1].rstrip(".") if dkim.verify(sent, dnsfunc=answer) else ""
