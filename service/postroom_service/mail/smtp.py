# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""SMTP handlers for mail from other servers and for mail that users submit."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import smtplib
import time
from collections.abc import Callable, Sequence
from email.utils import formatdate
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session

from postroom_common.logs import failure

from .. import names, signing
from .accounts import Accounts, LoginEnded, Undeliverable
from .sessions import Sessions
from .storage import MailStore

OK = "250 2.0.0 OK"
TOO_MANY_HOPS = "554 5.4.6 The message has passed too many servers"
LOGIN_ENDED = "421 4.7.0 The password is no longer valid"
NOT_OWN = "553 5.7.1 The sender is not an address of your mailbox"
TEMPORARY = "451 4.3.0 The message can't be handled now"

MAX_HOPS = 30
RELAY_TIMEOUT = 60.0

log = logging.getLogger("postroom_service.mail")

#: A function that sends a message from an envelope sender to recipients at other services.
Outgoing = Callable[[str, Sequence[str], bytes], None]


class Incoming:
    """A handler that accepts mail from other servers, but only for addresses of this service."""

    relays = False

    def __init__(self, accounts: Accounts, store: MailStore, send: Outgoing, host: str) -> None:
        self._accounts, self._store = accounts, store
        self._send, self._host = send, host

    async def handle_RCPT(  # noqa: N802 aiosmtpd calls it by this name
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _esmtp: list[str]
    ) -> str:
        """Accept a recipient if mail to it can be delivered."""
        try:
            await asyncio.to_thread(self._accounts.route, address, relays=self.relays)
        except Undeliverable as error:
            return str(error)
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 OK"

    async def handle_DATA(  # noqa: N802
        self, _server: SMTP, _session: Session, envelope: Envelope
    ) -> str:
        """Accept and deliver a message."""
        return await self.deliver(envelope, _content(envelope))

    async def deliver(self, envelope: Envelope, content: bytes) -> str:
        """Send the message to other services, and store it once in each mailbox."""
        if len(re.findall(rb"(?im)^received:", _head(content))) > MAX_HOPS:
            return TOO_MANY_HOPS
        mailboxes: set[str] = set()
        external: set[str] = set()
        reply = OK
        for address in envelope.rcpt_tos:
            try:
                # Look up the route again, because it may have changed since RCPT.
                route = await asyncio.to_thread(self._accounts.route, address, relays=self.relays)
            except Undeliverable as error:
                reply = str(error)
                continue
            mailboxes |= route.mailboxes
            external |= route.external
        if not mailboxes and not external:
            return reply
        # aiosmtpd keeps the brackets of the null sender.
        sender = (envelope.mail_from or "").strip("<>")
        trace = f"Received: by {self._host}; {formatdate()}\r\n".encode()
        if external:
            # Relay the message first. If the relay refuses it, nothing is stored, and the client
            # can retry.
            try:
                await asyncio.to_thread(self._send, sender, sorted(external), trace + content)
            except RelayFailed as error:
                return str(error)
        head = f"Return-Path: <{sender}>\r\n".encode()
        for uid in mailboxes:
            await self._store.append(uid, head + trace + content)
        log.info("message", extra={"fields": {"stored": len(mailboxes), "sent": len(external)}})
        return OK

    async def handle_exception(self, error: Exception) -> str:
        """Log an error, and ask the client to try again later."""
        log.error("a message can't be handled", extra={"fields": failure(error)})
        return TEMPORARY


class Submission(Incoming):
    """A handler that accepts mail from users who are logged in to a mailbox, and signs it."""

    relays = True

    def __init__(self, sessions: Sessions, *given: Any) -> None:
        super().__init__(*given)
        self._sessions = sessions

    async def auth_PLAIN(self, server: SMTP, args: list[str]) -> AuthResult:  # noqa: N802
        """Check the name and the secret, which the client sends together."""
        return await self._verified(server, await SMTP.auth_PLAIN(server, server, args))

    async def auth_LOGIN(self, server: SMTP, args: list[str]) -> AuthResult:  # noqa: N802
        """Check the name and the secret, which the client sends one after the other."""
        return await self._verified(server, await SMTP.auth_LOGIN(server, server, args))

    async def _verified(self, server: SMTP, given: AuthResult) -> AuthResult:
        if not given.success:
            return given
        name, secret = (text.decode("utf-8", "surrogateescape") for text in given.auth_data or ())
        async with self._accounts.logins:
            login = await asyncio.to_thread(self._accounts.log_in, name, secret)
        if login is None:
            log.info("an SMTP login was refused")
            return AuthResult(success=False, handled=False)
        transport: Any = server.transport
        self._sessions.add(server, login, transport.close)
        return AuthResult(success=True, auth_data=login)

    async def handle_MAIL(  # noqa: N802
        self, _server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """Accept the envelope sender if it is one of the mailbox's addresses."""
        refusal = await self._refusal(session, address, NOT_OWN)
        if refusal:
            return refusal
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 2.1.0 OK"

    async def handle_DATA(  # noqa: N802
        self, _server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        """Sign and deliver a message if it is from one of the mailbox's addresses."""
        content = _content(envelope)
        sender = signing.header_from(_head(content))
        refusal = await self._refusal(session, sender, signing.NOT_OWN_FROM)
        if refusal:
            return refusal
        signed = await asyncio.to_thread(self._signed, sender, content)
        return await self.deliver(envelope, signed)

    async def _refusal(self, session: Session, address: str, not_own: str) -> str | None:
        # aiosmtpd requires the login before MAIL.
        login: Any = session.auth_data
        try:
            own = await asyncio.to_thread(self._accounts.owns, login, address)
        except LoginEnded:
            return LOGIN_ENDED
        return None if own else not_own

    def _signed(self, sender: str, content: bytes) -> bytes:
        domain = names.domain_of(names.address(sender))
        key = self._accounts.signing_key(domain)
        if key is None:
            return content
        signature = signing.sign(*signing.split(content), domain, key)
        return b"DKIM-Signature:" + signature + b"\r\n" + content


class SubmissionServer(SMTP):
    """A connection from a mail client."""

    def __init__(self, sessions: Sessions, handler: Submission, **options: Any) -> None:
        super().__init__(
            handler,
            require_starttls=True,
            auth_required=True,
            # `Submission` checks the secret, in a thread.
            authenticator=lambda *given: AuthResult(success=True, auth_data=given[-1]),
            **options,
        )
        self._sessions = sessions

    def connection_lost(self, error: Exception | None) -> None:
        """Remove the session of the connection."""
        super().connection_lost(error)
        self._sessions.remove(self)


def _content(envelope: Envelope) -> bytes:
    content = envelope.content
    return content if isinstance(content, bytes) else b""  # aiosmtpd decodes only if configured to


def _head(content: bytes) -> bytes:
    return content.partition(b"\r\n\r\n")[0] + b"\r\n"


def outbox(folder: Path) -> Outgoing:
    """Return a function that writes outgoing mail to a folder, one file per message."""

    def send(sender: str, recipients: Sequence[str], message: bytes) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        head = f"Return-Path: <{sender}>\r\nX-Recipients: {', '.join(recipients)}\r\n"
        name = f"{time.time_ns()}-{secrets.token_hex(4)}"
        part = folder / f"{name}.part"
        part.touch(mode=0o600)
        part.write_bytes(head.encode() + message)
        # Rename the complete file, so that readers never see a partial message.
        part.replace(folder / f"{name}.eml")

    return send


class RelayFailed(Exception):
    """The relay did not accept a message. The exception's message is the SMTP reply."""


def relay(host: str, port: int, *, mail_host: str, refused: Outgoing) -> Outgoing:
    """Return a function that sends mail through another server, using STARTTLS if offered.

    :param mail_host: the host name for the EHLO command
    :param refused: a function that handles refused recipients if the relay accepts others
    """

    def send(sender: str, recipients: Sequence[str], message: bytes) -> None:
        code = 0
        try:
            with smtplib.SMTP(host, port, mail_host, timeout=RELAY_TIMEOUT) as client:
                client.ehlo()
                if client.has_extn("starttls"):
                    client.starttls()
                others = client.sendmail(sender, recipients, message)
        except smtplib.SMTPRecipientsRefused as error:
            code = min(code for code, _text in error.recipients.values())
        except smtplib.SMTPResponseException as error:
            code = error.smtp_code
        except (OSError, smtplib.SMTPException) as error:
            log.warning("the relay can't be used (%s)", type(error).__name__)
            raise RelayFailed("451 4.4.1 The relay can't be reached") from None
        else:
            if others:
                log.warning("the relay refused %d recipients: see the outbox", len(others))
                refused(sender, list(others), message)
            return
        log.warning("the relay refused a message with %d", code)
        permanent = 500 <= code < 600
        raise RelayFailed(f"{code if permanent else 451} {5 if permanent else 4}.0.0 Relay refused")

    return send
