# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A server that stores the principals it receives and does nothing else.

    python minimal_server.py READY_FILE DELAY

Each response is delayed by DELAY milliseconds, without delaying other connections. This file uses
only the standard library.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

PRINCIPALS = "/api/principal"
NOT_FOUND = b'{"type":"about:blank","title":"There is no such principal","status":404}'
REASONS = {200: b"OK", 201: b"Created", 404: b"Not Found"}


class Tenant:
    """A tenant's principals, stored as encoded JSON."""

    def __init__(self) -> None:
        self._held: dict[str, bytes] = {}

    def reply(self, method: str, target: str, body: bytes) -> tuple[int, bytes]:
        """Return the status and body of the response to a request."""
        path, _mark, query = target.partition("?")
        name = unquote(path[len(PRINCIPALS) + 1 :])
        if method == "POST":
            return 201, self._put(json.loads(body))
        if not name:
            kind = query.removeprefix("type=")
            rows = (
                r for n, r in self._held.items() if not kind or ("@" in n) == (kind != "domain")
            )
            return 200, b"[" + b",".join(rows) + b"]"
        if name not in self._held:
            return 404, NOT_FOUND
        if method == "DELETE":
            held = self._held.items()
            self._held = {n: r for n, r in held if n != name and not n.endswith(f"@{name}")}
            return 200, b'{"success":true}'
        if method == "PATCH":
            return 200, self._put(json.loads(self._held[name]) | json.loads(body))
        return 200, self._held[name]

    def _put(self, principal: dict[str, Any]) -> bytes:
        principal.pop("secrets", None)
        principal["id"] = name = principal["name"]
        self._held[name] = shown = json.dumps(principal).encode()
        return shown


async def converse(
    tenant: Tenant, delay: float, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Respond to each request on a connection until the client closes it."""
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            request, *lines = head.split("\r\n")
            lengths = [int(line[15:]) for line in lines if line.startswith("content-length:")]
            body = await reader.readexactly(sum(lengths))
            method, target, _version = request.split(" ")
            status, answer = tenant.reply(method.upper(), target, body)
            if delay:
                await asyncio.sleep(delay)
            form = b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
            writer.write(form % (status, REASONS[status], len(answer)) + answer)
    writer.close()


async def serve(ready_file: Path, delay: float) -> None:
    """Serve until SIGTERM arrives."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    tenant = Tenant()
    server = await asyncio.start_server(partial(converse, tenant, delay), "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    draft = ready_file.with_suffix(".new")
    draft.write_text(json.dumps({"url": url, "pid": os.getpid()}), "utf-8")
    draft.replace(ready_file)
    await ended.wait()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), float(sys.argv[2]) / 1000))
