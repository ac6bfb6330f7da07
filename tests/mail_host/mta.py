# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The mail server's side of version 6 of the milter protocol, as Postfix implements it."""

from __future__ import annotations

import re
import socket
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

ALL_ACTIONS, ALL_OPTIONS = 0x1FF, 0x1FFFFF
ADD_AND_CHANGE = 0x111  # including the list of macros
NR_HEADER, NR_BODY, LEADING_SPACE = 0x80, 0x80000, 0x100000
CHUNK = 65535


def connected(path: Path) -> socket.socket:
    """Connect to a Unix socket."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(60)
    connection.connect(str(path))
    return connection


class Answer(NamedTuple):
    """The milter's answer to a message.

    :param reply: "accept", "continue" or an SMTP reply
    :param content: the message with the milter's changes
    """

    reply: str
    content: bytes = b""

    @property
    def code(self) -> str:
        """The first word of the reply."""
        return self.reply.partition(" ")[0]


class Mta:
    """One connection to a milter."""

    def __init__(self, path: Path, *, options: int = ALL_OPTIONS) -> None:
        self._socket = connected(path)
        self._file = self._socket.makefile("rb")
        self.send(b"O", struct.pack("!LLL", 6, ALL_ACTIONS, options))
        try:
            command, chosen = self.receive()
        except ConnectionResetError:
            self.close()
            raise
        assert command == b"O", command
        self.version, self.actions, self.options = struct.unpack_from("!LLL", chosen)
        self.macros = chosen[12:]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._file.close()
        self._socket.close()

    def send(self, command: bytes, data: bytes = b"") -> None:
        """Send a command."""
        self._socket.sendall(struct.pack("!L", len(data) + 1) + command + data)

    def receive(self) -> tuple[bytes, bytes]:
        """Return the command and data of the next answer."""
        head = self._file.read(5)
        if len(head) < 5:
            raise ConnectionResetError("the milter closed the connection")
        size, command = struct.unpack("!Lc", head)
        return command, self._file.read(size - 1)

    def reply(self) -> str:
        """Return the answer to a command other than the end of a message."""
        command, data = self.receive()
        names = {b"c": "continue", b"a": "accept", b"t": "451 tempfail"}
        return names.get(command) or data.rstrip(b"\0").decode()

    def mail(self, login: str | None, sender: str) -> str:
        """Send the macro for the login, if there is one, and the envelope sender."""
        if login is not None:
            self.send(b"D", b"M{auth_authen}\0" + login.encode() + b"\0")
        self.send(b"M", f"<{sender}>".encode() + b"\0")
        return self.reply()

    def rcpt(self, recipient: str) -> str:
        """Send a recipient."""
        self.send(b"R", f"<{recipient}>".encode() + b"\0")
        return self.reply()

    def abort(self) -> None:
        """Abort the message, but keep the connection."""
        self.send(b"A")

    def submit(
        self, login: str | None, sender: str, recipients: Sequence[str], content: bytes
    ) -> Answer:
        """Submit a message until it is refused or complete, and return the milter's last answer."""
        reply = self.mail(login, sender)
        if reply == "continue":
            replies = [self.rcpt(recipient) for recipient in recipients]
            reply = next((each for each in replies if each != "continue"), reply)
        if reply != "continue":
            self.abort()
            return Answer(reply)
        return self.content(content)

    def content(self, content: bytes) -> Answer:
        """Send the headers and body, and apply the milter's changes."""
        head, _, body = content.partition(b"\r\n\r\n")
        headers = [line.partition(b":")[::2] for line in re.split(rb"\r\n(?![ \t])", head)]
        for name, value in headers:
            # Postfix sends folded lines with LF.
            self.send(b"L", name + b"\0" + value.replace(b"\r\n", b"\n") + b"\0")
            if not self.options & NR_HEADER:
                assert self.reply() == "continue"
        for start in range(0, len(body), CHUNK):
            self.send(b"B", body[start : start + CHUNK])
            if not self.options & NR_BODY:
                assert self.reply() == "continue"
        self.send(b"E")
        return self._changed(headers, body)

    def _changed(self, headers: list[tuple[bytes, bytes]], body: bytes) -> Answer:
        while True:
            command, data = self.receive()
            if command in (b"a", b"c", b"y", b"t"):
                break
            number = struct.unpack_from("!L", data)[0]
            name, value, _ = data[4:].split(b"\0")
            if command == b"m":
                assert not value
                found = [n for n, got in enumerate(headers) if got[0].lower() == name.lower()]
                del headers[found[number - 1]]
            else:
                assert command == b"i"
                headers.insert(number - 1, (name, value.replace(b"\n", b"\r\n")))
        if command == b"y":
            return Answer(data.rstrip(b"\0").decode())
        lines = [name + b":" + value for name, value in headers]
        return Answer("accept", b"\r\n".join([*lines, b"", body]))
