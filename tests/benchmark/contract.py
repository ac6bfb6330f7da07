# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A server that takes and hands out principals and does nothing else: no token, no rules, no disk.

What a client needs beside it is the client's own. It is started with the file that is to tell where
it listens, and the milliseconds that each answer is to wait; other connections don't wait with it.
Standard library only.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote

PRINCIPALS = "/api/principal"
DONE = b'{"success":true}'
NOT_FOUND = b'{"type":"about:blank","title":"There is no such principal","status":404}'
REASONS = {200: b"OK", 201: b"Created", 404: b"Not Found"}

#: A status and a body.
Reply = tuple[int, bytes]


class Tenant:
    """What the server holds, each principal ready to be sent."""

    def __init__(self) -> None:
        self._held: dict[str, bytes] = {}

    def reply(self, method: str, target: str, body: bytes) -> Reply:
        """Do what a request asks for."""
        path, _mark, query = target.partition("?")
        name = unquote(path[len(PRINCIPALS) + 1 :])
        if method == "POST":
            return 201, self._put(json.loads(body))
        if not name:
            return 200, self._listed(query.removeprefix("type="))
        if name not in self._held:
            return 404, NOT_FOUND
        if method == "DELETE":
            return 200, self._delete(name)
        if method == "PATCH":
            return 200, self._put(json.loads(self._held[name]) | json.loads(body))
        return 200, self._held[name]

    def _put(self, principal: dict[str, Any]) -> bytes:
        principal.pop("secrets", None)
        principal["id"] = name = principal["name"]
        self._held[name] = shown = json.dumps(principal).encode()
        return shown

    def _delete(self, name: str) -> bytes:
        for other in [other for other in self._held if other.endswith(f"@{name}")]:
            del self._held[other]
        del self._held[name]
        return DONE

    def _listed(self, kind: str) -> bytes:
        marks = {"domain": False, "individual": True}
        rows = (row for name, row in self._held.items() if not kind or ("@" in name) is marks[kind])
        return b"[" + b",".join(rows) + b"]"


class Connection(asyncio.Protocol):
    """One connection: reads requests, answers each in turn."""

    def __init__(self, tenant: Tenant, delay: float) -> None:
        self._tenant = tenant
        self._delay = delay
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        self._transport = cast("asyncio.WriteTransport", transport)

    def data_received(self, data: bytes) -> None:
        """Answer what has come in whole."""
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            head = self._received[:end].decode("latin-1")
            body_end = end + 4 + _length(head)
            if len(self._received) < body_end:
                return
            body, self._received = self._received[end + 4 : body_end], self._received[body_end:]
            method, target, _version = head.partition("\r\n")[0].split(" ")
            self._send(*self._tenant.reply(method, target, body))

    def _send(self, status: int, body: bytes) -> None:
        answer = (
            b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s"
        ) % (status, REASONS[status], len(body), body)
        if self._delay:
            asyncio.get_running_loop().call_later(self._delay, self._transport.write, answer)
        else:
            self._transport.write(answer)


def _length(head: str) -> int:
    for line in head.lower().split("\r\n"):
        if line.startswith("content-length:"):
            return int(line[15:])
    return 0


async def serve(ready_file: Path, delay: float) -> None:
    """Serve until SIGTERM."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    tenant = Tenant()
    server = await loop.create_server(lambda: Connection(tenant, delay), "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    draft = ready_file.with_suffix(".new")
    draft.write_text(json.dumps({"url": url, "pid": os.getpid()}), "utf-8")
    draft.replace(ready_file)
    await ended.wait()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), float(sys.argv[2]) / 1000))
