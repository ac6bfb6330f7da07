# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Accept connections from Postfix."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from ..server import BACKLOG, ServeError

log = logging.getLogger("postroom_service.mail_host")

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def listening(path: Path, serve: Serve) -> AsyncIterator[None]:
    """Serve connections to a Unix socket.

    On exit, open connections are closed, and Postfix defers their messages.

    :raises ServeError: if the path can't be used
    """
    tasks: set[asyncio.Task[None] | None] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        tasks.add(task)
        try:
            await serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            log.debug("Postfix closed a connection")
        except asyncio.CancelledError:
            # Raised only when `listening` exits. If it propagates, Python 3.11 logs an error.
            log.debug("a connection is closed because the daemon is stopping")
        except Exception:  # other connections are not affected
            log.exception("a connection from Postfix failed")
        finally:
            tasks.discard(task)
            writer.close()

    try:
        server = await asyncio.start_unix_server(connected, path, backlog=BACKLOG)
    except OSError as error:
        reason = error.strerror or error
        raise ServeError(f"can't listen on {path} ({reason})") from None
    try:
        yield
    finally:
        server.close()
        running = list(filter(None, tasks))
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
