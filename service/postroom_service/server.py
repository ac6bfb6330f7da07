# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The serving process: socket, ready file, signals."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import socket
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from .protocol import HttpProtocol

GRACE_SECONDS = 30
KEEP_ALIVE_SECONDS = 65
BACKLOG = 2048


log = logging.getLogger("postroom_service")


class ServeError(Exception):
    """The service can't start; the message is a sentence for the one who started it."""


@dataclass(frozen=True)
class Listening:
    """Where and how to listen."""

    host: str = "127.0.0.1"
    port: int = 8025
    tls_cert: Path | None = None
    tls_key: Path | None = None
    ready_file: Path | None = None


def serve(app: ASGIApp, listening: Listening) -> None:
    """Serve until SIGTERM or SIGINT, finish the requests under way and return."""
    listener = _bind(listening.host, listening.port)
    try:
        config = uvicorn.Config(
            app,
            http=HttpProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=GRACE_SECONDS,
            ssl_certfile=listening.tls_cert,
            ssl_keyfile=listening.tls_key,
        )
        config.load()
    except OSError as error:
        listener.close()
        raise ServeError(
            f"the certificate or key can't be used ({error.strerror or error})"
        ) from None
    _Server(config, _announced(listening, listener)).run(sockets=[listener])


def write_private(path: Path, text: str) -> None:
    """Write a file for its owner only, whole or not at all."""
    try:
        # Made with mode 0600.
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise ServeError(f"{path} can't be written ({error.strerror})") from None
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    Path(name).replace(path)


class _Server(uvicorn.Server):
    """Uvicorn that announces itself and takes SIGTERM and SIGINT as a request to end well."""

    def __init__(
        self, config: uvicorn.Config, announced: contextlib.AbstractContextManager[None]
    ) -> None:
        super().__init__(config)
        self._announced = announced

    async def main_loop(self) -> None:
        with self._announced:
            await super().main_loop()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        # Uvicorn's own raises the signal again after a graceful stop, and the process ends by it.
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@contextlib.contextmanager
def _announced(listening: Listening, listener: socket.socket) -> Iterator[None]:
    """Tell where the service listens, as long as it does."""
    path, url = listening.ready_file, _url(listening, listener)
    log.info("listening on %s", url)
    if path is None:
        yield
        return
    write_private(path, json.dumps({"url": url, "pid": os.getpid()}) + "\n")
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio switches Nagle's algorithm off; else answers wait 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise ServeError(
            f"can't listen on {host} port {port} ({error.strerror or error})"
        ) from None
    return listener


def _url(listening: Listening, listener: socket.socket) -> str:
    host = f"[{listening.host}]" if ":" in listening.host else listening.host
    return f"{'https' if listening.tls_cert else 'http'}://{host}:{listener.getsockname()[1]}"
