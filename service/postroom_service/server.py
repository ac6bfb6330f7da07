# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The server process: its socket, files and signals."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import secrets
import signal
import socket
import tempfile
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from postroom_common.logs import failure

GRACE_SECONDS = 30
KEEP_ALIVE_SECONDS = 65
BACKLOG = 2048

log = logging.getLogger("postroom_service")


class ServeError(Exception):
    """The service can't start. The exception's message is intended for the operator."""


def serve(
    app: ASGIApp,
    background: AbstractAsyncContextManager[dict[str, int]],
    *,
    host: str,
    port: int,
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
    ready_file: Path | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, then finish the requests in progress.

    :param background: a context manager that is entered while the app is served, and yields
        additional ports for the ready file
    :param ready_file: a file that contains the URL and the process id while the service listens
    :raises ServeError: if the service can't start
    """
    try:
        config = uvicorn.Config(
            app,
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=GRACE_SECONDS,
            ssl_certfile=tls_cert,
            ssl_keyfile=tls_key,
        )
        config.load()
    except OSError as error:
        reason = error.strerror or error
        raise ServeError(f"the certificate or key can't be used ({reason})") from None
    server = uvicorn.Server(config)

    async def run(listener: socket.socket) -> None:
        asyncio.get_running_loop().set_exception_handler(_log_exception)
        shown = f"[{host}]" if ":" in host else host
        url = f"http{'s' if tls_cert else ''}://{shown}:{listener.getsockname()[1]}"
        async with background as ports, contextlib.AsyncExitStack() as stack:
            more = "".join(f", {name} on port {port}" for name, port in ports.items())
            log.info("listening on %s%s", url, more)
            if ready_file is not None:
                found = {"url": url, "pid": os.getpid(), **ports}
                write_private(ready_file, json.dumps(found) + "\n")
                stack.callback(ready_file.unlink, missing_ok=True)
            await server.serve([listener])

    # Uvicorn raises the signal again after a graceful stop. The default handler would then kill the
    # process, which should exit with status 0.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, server.handle_exit)
    with _listen(host, port) as listener:
        asyncio.run(run(listener))


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio disables Nagle's algorithm, which costs 40 ms per response, only if the protocol is
    # given.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        reason = error.strerror or error
        raise ServeError(f"can't listen on {host} port {port} ({reason})") from None
    return listener


def _log_exception(_loop: object, context: dict[str, Any]) -> None:
    # The default handler logs the exception's message, which may quote names.
    error = context.get("exception")
    log.error(context["message"], extra={"fields": failure(error) if error else {}})


def make_folder(path: Path) -> None:
    """Create a folder that only its owner can read, unless it exists.

    :raises ServeError: if the folder can't be created or isn't writable
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise ServeError(f"the directory {path} can't be used ({error.strerror})") from None


def write_private(path: Path, text: str) -> None:
    """Atomically write a file that only its owner can read.

    :raises ServeError: if the file can't be written
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        temporary.touch(mode=0o600, exist_ok=False)
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise ServeError(f"{path} can't be written ({error.strerror})") from None
