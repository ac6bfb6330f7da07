# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Uvicorn's HTTP/1.1 protocol with two additions of ours."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from .problems import MEDIA_TYPE, Problem


class HttpProtocol(H11Protocol):
    """Answers what isn't HTTP with a problem document and shows requests their connection."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Put the transport where the requests of this connection find it; faults.py breaks it."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, "transport": transport}

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that can't be read as a request, and close."""
        problem = Problem("malformed_request", msg)
        headers = [("content-type", MEDIA_TYPE), ("connection", "close")]
        body = bytes(problem.response().body)
        for event in (
            h11.Response(status_code=problem.status, headers=headers, reason=b"Bad Request"),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
