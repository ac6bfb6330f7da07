# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A server that does nothing: one ASGI answer, served as the reference service serves."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from postroom_service.server import Listening, serve

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

BODY = b'{"id":"user@benchmark.example","name":"user@benchmark.example","type":"individual"}'
HEADERS = [(b"content-type", b"application/json"), (b"content-length", str(len(BODY)).encode())]


async def answer(_scope: Scope, receive: Receive, send: Send) -> None:
    """Read the request and answer it."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": BODY})


if __name__ == "__main__":
    serve(answer, Listening(port=0, ready_file=Path(sys.argv[1])))
