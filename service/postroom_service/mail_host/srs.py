# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Sender rewriting (SRS) for forwarded mail. Postfix queries the maps through a socketmap."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import srslib

from ..server import ServeError
from .metrics import Metrics

MIN_SECRET = 16
#: srslib accepts shorter hashes, even of one character. `_SRS` requires the full length.
HASH_LENGTH = 6
MAX_REQUEST = 10_000

_SRS = re.compile(
    rf"(?:SRS0[-+=][^=]{{{HASH_LENGTH}}}=[^=]{{2}}|SRS1[-+=][^=]{{{HASH_LENGTH}}})"
    r"=(?P<host>[^=]+)=.+",
    re.IGNORECASE,
)
#: Addresses that need no quoting.
_PLAIN = re.compile(r"[^\x00-\x20\x7f-\U0010ffff\"(),:;<>@\[\\\]]+@[A-Za-z0-9.-]+")

log = logging.getLogger("postroom_service.mail_host")


def read_secrets(file: Path) -> list[str]:
    """Return the secrets in a file, one per line.

    :raises ServeError: if the file can't be read or a secret is too short
    """
    try:
        secrets = file.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise ServeError(f"{file} can't be read ({reason})") from None
    if not secrets or min(map(len, secrets)) < MIN_SECRET:
        raise ServeError(
            f"{file} must contain one secret per line, each of at least {MIN_SECRET} characters"
        )
    return secrets


class Rewriter:
    """A rewriter that converts senders to addresses on the mail host, and back.

    :param secrets: the secrets; the first one signs addresses, and each can verify an address
    """

    def __init__(self, secrets: Sequence[str], mail_host: str) -> None:
        self._secrets = secrets
        self._mail_host = mail_host

    def forward(self, address: str) -> str | None:
        """Return the rewritten sender of a forwarded message, or None to keep the sender.

        Senders on served domains are rewritten as well. Otherwise, anyone could send a message with
        such a sender to a forwarder, and the message would pass SPF when this host forwards it.
        """
        local, _, host = address.rpartition("@")
        # Keep the null sender. Postfix also looks up parts of addresses and the results of this
        # lookup, which are not rewritten either.
        if not local or self.reverse(address) is not None:
            return None
        if not _PLAIN.fullmatch(address):
            return f"postmaster@{self._mail_host}"
        # Sign the first hop, which is the host in an SRS1 address, or else the sender's own host.
        second = re.match(r"SRS1[-+=][^=]+=(?P<host>[^=]+)=", local, re.IGNORECASE)
        srs = self._srs(second["host"] if second else host)
        return str(srs.forward(address, self._mail_host))

    def reverse(self, address: str) -> str | None:
        """Return the original sender, or None if the address is not a valid SRS address."""
        local, _, host = address.rpartition("@")
        match = _SRS.fullmatch(local)
        if match is None or host.lower() != self._mail_host:
            return None
        try:
            return str(self._srs(match["host"]).reverse(address))
        except srslib.Error:
            return None

    def _srs(self, host: str) -> srslib.SRS:
        # srslib signs host and local part without a separator: the owner of example.co could turn
        # `mbob@example.co` into `bob@example.com`. A separate key for each host prevents that.
        keys = [f"{secret}\0{host.lower()}" for secret in self._secrets]
        return srslib.SRS(keys[0], keys[1:], hash_length=HASH_LENGTH)


class SocketMap:
    """A server for lookups in the ``forward`` and ``reverse`` maps."""

    def __init__(self, rewriter: Rewriter, metrics: Metrics) -> None:
        self._metrics = metrics
        self._maps: dict[str, Callable[[str], str | None]] = {
            "forward": rewriter.forward,
            "reverse": rewriter.reverse,
        }

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer a connection's requests, each a netstring with a map name, a space and a key."""
        while True:
            try:
                head = await reader.readuntil(b":")
            except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                return
            if not head[:-1].isdigit() or len(head) > 6 or int(head[:-1]) > MAX_REQUEST:
                return
            body = await reader.readexactly(int(head[:-1]) + 1)
            name, _, key = body[:-1].decode("utf-8", "replace").partition(" ")
            reply = self._answer(name, key).encode()
            writer.write(b"%d:%s," % (len(reply), reply))
            await writer.drain()

    def _answer(self, name: str, key: str) -> str:
        find = self._maps.get(name)
        if find is None:
            return "PERM unknown map: use forward or reverse"
        found = find(key)
        self._metrics.rewrites.labels(name, "found" if found else "not_found").inc()
        return "NOTFOUND " if found is None else f"OK {found}"
