# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The submission milter, which restricts mailboxes to their own addresses and signs their mail."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field
from typing import NamedTuple

from kilter.protocol import (
    Abort,
    Accept,
    ActionFlags,
    Body,
    ChangeHeader,
    Close,
    Connect,
    Continue,
    EndOfMessage,
    EnvelopeFrom,
    EnvelopeRecipient,
    FilterProtocol,
    Header,
    InsertHeader,
    Macro,
    Negotiate,
    ProtocolFlags,
    ReplyCode,
    Stage,
)
from kilter.protocol.buffer import SimpleBuffer
from kilter.protocol.core import FilterMessage, MTAMessage

from postroom_common.database import DatabaseError

from .. import names
from ..signing import NOT_OWN_FROM, header_from, sign
from .limits import HourlyLimit
from .metrics import Metrics
from .views import Sender, Views

LOG_IN = "530 5.7.0 Log in first"
LOGIN_ENDED = "421 4.7.0 The password has changed: log in again"
NO_MAILBOX = "550 5.7.1 The mailbox no longer exists"
NOT_VERIFIED = "550 5.7.1 The domain is not verified yet: publish its DNS records"
NOT_OWN = "550 5.7.1 The sender is not an address of your mailbox"
TOO_MANY = "452 4.7.1 Too many recipients within an hour: try again later"
TOO_LARGE = "552 5.3.4 The message is too large"
TEMPORARY = "451 4.3.0 The message can't be handled now"

VERSION = 6
#: Postfix sends the body in chunks of at most 64 KiB, and headers up to header_size_limit.
MAX_PACKET = 1 << 20
#: The largest reply is a signature. Allocating MAX_PACKET would take as long as everything else.
MAX_REPLY = 1 << 14
#: Seconds after which a sender is looked up again, so that changes apply within a second.
MAX_AGE = 0.5
#: The largest message to keep in memory. Postfix's message_size_limit should be smaller.
MAX_MESSAGE = 64 << 20

_ACTIONS = ActionFlags.ADD_HEADERS | ActionFlags.CHANGE_HEADERS
#: Protocol flags to use if the mail server offers them.
_OPTIONAL = (
    ProtocolFlags.NO_HELO
    | ProtocolFlags.NO_DATA
    | ProtocolFlags.NO_UNKNOWN
    | ProtocolFlags.NO_END_OF_HEADERS
    | ProtocolFlags.NR_HEADER
    | ProtocolFlags.NR_BODY
)
#: The mail server should send no macro except the login, because kilter rejects macros with
#: non-ASCII characters.
_MACROS = {stage: ["{auth_authen}"] if stage is Stage.ENVELOPE_FROM else [] for stage in Stage}

#: A placeholder for a sender that has not been looked up yet, which may not send anything.
_UNKNOWN = Sender(exists=False, owns=False)

log = logging.getLogger("postroom_service.mail_host")


class ProtocolError(Exception):
    """The mail server sent something that this milter can't handle."""


@dataclass
class Message:
    """A message that the mail server is receiving.

    :param connected: the start of the connection, on the monotonic clock
    :param address: the envelope sender
    :param sender: whether the login may send from that address
    :param looked_up: the time at which `sender` was looked up, on the same clock
    """

    login: str
    connected: float
    address: str
    sender: Sender = _UNKNOWN
    looked_up: float = 0.0
    recipients: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytearray = field(default_factory=bytearray)
    is_too_large: bool = False

    def add(self, chunk: bytes) -> None:
        """Append a chunk to the body, unless the message is too large."""
        if len(self.body) + len(chunk) > MAX_MESSAGE:
            self.is_too_large = True
            self.body.clear()
        if not self.is_too_large:
            self.body += chunk


class Verdict(NamedTuple):
    """The result of checking a message.

    :param refusal: the SMTP reply that refuses the message; None to accept it
    :param signature: the value of the DKIM-Signature header of an accepted message
    """

    refusal: str | None
    signature: bytes = b""


class Milter:
    """A milter that checks and signs the messages of logged-in mailboxes."""

    def __init__(self, views: Views, limit: HourlyLimit, metrics: Metrics) -> None:
        self._views, self._limit, self._metrics = views, limit, metrics
        self._ended: dict[str, float] = {}
        self._all_ended = 0.0

    def end_logins(self, name: str | None) -> None:
        """Refuse further mail on a mailbox's open connections.

        :param name: the mailbox; None for the connections of all mailboxes
        """
        if name is None:
            self._all_ended = time.monotonic()
            self._ended.clear()
        else:
            self._ended[name] = time.monotonic()

    def _has_ended(self, message: Message) -> bool:
        ended = self._ended.get(names.any_name(message.login) or "", self._all_ended)
        return message.connected <= ended

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection, which may transmit several messages."""
        await _Connection(self, reader, writer).run()

    async def check_database(self) -> str | None:
        """Return the SMTP reply that refuses a connection while the database is down, or None.

        Without this check, Postfix would report a wrong password to clients during that time.
        """
        try:
            await self._views.check()
        except DatabaseError as error:
            log.warning("a connection is refused: %s", error)
            return TEMPORARY
        return None

    async def check_sender(self, message: Message) -> str | None:
        """Return the SMTP reply that refuses the envelope sender, or None."""
        if not message.login:
            return LOG_IN
        if self._has_ended(message):
            return LOGIN_ENDED
        try:
            message.looked_up = time.monotonic()
            message.sender = await self._views.sender(message.login, message.address)
        except DatabaseError as error:
            log.warning("a sender can't be checked: %s", error)
            return TEMPORARY
        return _refusal(message.sender, NOT_OWN)

    def check_recipient(self, login: str) -> str | None:
        """Count a recipient, and return the SMTP reply that refuses it, or None."""
        if self._limit.allows(names.any_name(login) or login):
            return None
        self._metrics.limited.inc()
        return TOO_MANY

    async def check_message(self, message: Message) -> Verdict:
        """Check the From header of a complete message, and sign the message."""
        try:
            loop = asyncio.get_running_loop()
            verdict = await asyncio.to_thread(self._checked, message, loop)
        except DatabaseError as error:
            log.warning("a message can't be checked: %s", error)
            verdict = Verdict(TEMPORARY)
        except Exception:  # the sender can try again
            log.exception("a message can't be handled")
            verdict = Verdict(TEMPORARY)
        result = "accepted"
        if verdict.refusal:
            result = "deferred" if verdict.refusal.startswith("4") else "refused"
        self._metrics.messages.labels(result).inc()
        self._metrics.signed.inc(bool(verdict.signature))
        fields = {"result": result, "recipients": message.recipients}
        log.info("message", extra={"fields": {**fields, "signed": int(bool(verdict.signature))}})
        return verdict

    def _checked(self, message: Message, loop: asyncio.AbstractEventLoop) -> Verdict:
        if self._has_ended(message):
            return Verdict(LOGIN_ENDED)
        if message.is_too_large:
            return Verdict(TOO_LARGE)
        address = header_from(b"".join(name + b":" + value for name, value in message.headers))
        sender = message.sender
        if address != message.address or time.monotonic() - message.looked_up > MAX_AGE:
            lookup = self._views.sender(message.login, address)
            sender = asyncio.run_coroutine_threadsafe(lookup, loop).result()
        refusal = _refusal(sender, NOT_OWN_FROM)
        if refusal or sender.key is None:
            return Verdict(refusal)
        domain = names.domain_of(names.address(address))
        return Verdict(None, sign(message.headers, bytes(message.body), domain, sender.key))


class _Connection:
    """A connection from the mail server."""

    def __init__(
        self, milter: Milter, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._milter, self._reader, self._writer = milter, reader, writer
        # Unknown commands, such as QUIT_NC, end the message, but another message may follow.
        self._protocol = FilterProtocol(abort_on_unknown=True)
        self._connected = time.monotonic()
        self._login = ""
        self._message: Message | None = None

    async def run(self) -> None:
        while not isinstance(event := await self._read(), Close):
            self._writer.write(b"".join(map(self._encoded, await self._handle(event))))
            await self._writer.drain()

    async def _read(self) -> MTAMessage:
        """Return the next command.

        :raises asyncio.IncompleteReadError: if the mail server closed the connection
        """
        head = await self._reader.readexactly(4)
        size = int.from_bytes(head, "big")
        if not 0 < size <= MAX_PACKET:
            raise ProtocolError
        buffer = SimpleBuffer(len(head) + size)
        buffer[:] = head + await self._reader.readexactly(size)
        message = next(self._protocol.read_from(buffer))
        message.freeze()
        return message

    def _encoded(self, reply: FilterMessage) -> bytes:
        buffer = SimpleBuffer(MAX_REPLY)
        self._protocol.write_to(buffer, reply)
        return buffer[:].tobytes()

    async def _handle(self, event: MTAMessage) -> list[FilterMessage]:
        match event:
            case Negotiate():
                return [_negotiate(event)]
            case Macro() if event.stage == EnvelopeFrom.ident:
                self._login = event.macros.get("{auth_authen}", "")
            case Abort():
                self._message = None
            case Connect():
                return [_answer(await self._milter.check_database())]
            case EnvelopeFrom():
                # The macros of one message don't apply to the next.
                address = bytes(event.sender).decode("utf-8", "replace").strip("<>")
                message = self._message = Message(self._login, self._connected, address)
                self._login = ""
                return [_answer(await self._milter.check_sender(message))]
            case EnvelopeRecipient():
                message = self._current()
                message.recipients += 1
                return [_answer(self._milter.check_recipient(message.login))]
            case Header():
                # Postfix passes line breaks as LF, but the signature must cover them as CRLF.
                value = bytes(event.value).replace(b"\n", b"\r\n") + b"\r\n"
                self._current().headers.append((event.name.encode("ascii"), value))
            case Body():
                self._current().add(bytes(event.content))
            case EndOfMessage():
                return await self._end(bytes(event.content))
        return [Continue()] if self._protocol.needs_response(event) else []

    async def _end(self, rest: bytes) -> list[FilterMessage]:
        """Return the replies to the end of a message: changes to the headers, or a refusal."""
        message, self._message = self._current(), None
        message.add(rest)
        verdict = await self._milter.check_message(message)
        if verdict.refusal:
            return [_answer(verdict.refusal)]
        replies: list[FilterMessage] = []
        # In reverse order, because deleting a header renumbers those after it.
        received = [name for name, _value in message.headers if name.lower() == b"received"]
        replies += [ChangeHeader(n, "Received", b"") for n in range(len(received), 0, -1)]
        if verdict.signature:
            value = verdict.signature.replace(b"\r\n", b"\n")
            replies.append(InsertHeader(1, "DKIM-Signature", value))
        return [*replies, Accept()]

    def _current(self) -> Message:
        if self._message is None:
            raise ProtocolError
        return self._message


def _refusal(sender: Sender, not_own: str) -> str | None:
    if not sender.exists:
        return NO_MAILBOX
    if not sender.owns:
        return not_own
    # A tenant can't send from a domain before proving that it owns the domain.
    return NOT_VERIFIED if sender.key is None else None


def _negotiate(offer: Negotiate) -> Negotiate:
    """Return the reply to the mail server's offer of protocol features.

    :raises ProtocolError: if the offer lacks a required feature
    """
    # Without this flag, the mail server does not pass the white space before a header's value.
    needed = ProtocolFlags.HEADER_LEADING_SPACE
    if offer.version < VERSION or needed & ~offer.protocol_flags or _ACTIONS & ~offer.action_flags:
        log.error("the mail server's milter protocol is too old: version 6 is required")
        raise ProtocolError
    actions, macros = _ACTIONS, {}
    if ActionFlags.SETSYMLIST in offer.action_flags:
        actions, macros = actions | ActionFlags.SETSYMLIST, _MACROS
    return Negotiate(VERSION, actions, needed | _OPTIONAL & offer.protocol_flags, macros)


def _answer(refusal: str | None) -> Continue | ReplyCode:
    return Continue() if refusal is None else ReplyCode(refusal.encode("ascii") + b"\0")
