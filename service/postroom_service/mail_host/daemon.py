# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The daemon: the milter, the socketmap, the Postfix maps, the worker and an HTTP endpoint."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import make_url
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from postroom_common.database import DatabaseError, check_url

from ..server import make_folder
from .limits import HourlyLimit
from .listener import listening
from .metrics import CONTENT_TYPE, Metrics
from .milter import Milter
from .notifications import Notifications
from .postfix_maps import PostfixMaps
from .srs import Rewriter, SocketMap, read_secrets
from .views import Views
from .watchdog import report_progress
from .worker import Worker

log = logging.getLogger("postroom_service.mail_host")


@dataclass(frozen=True)
class Settings:
    """The settings of the daemon.

    :param mail_dir: the directory with a mail folder for each mailbox, named after its uid
    :param node: the name of this node; None for a host that stores all mailboxes
    :param maps: the directory for the maps that Postfix reads; None for no maps
    :param milter: the path of the milter's Unix socket
    :param socketmap: the path of the socketmap's Unix socket
    :param srs_secret: a file with one SRS secret per line
    :param recipients_per_hour: the limit for each login; 0 for no limit
    """

    database: str
    mail_host: str
    mail_dir: Path
    node: str | None
    maps: Path | None
    milter: Path
    socketmap: Path
    srs_secret: Path
    recipients_per_hour: int


class Daemon:
    """The HTTP app, and the other parts of the daemon, which run while the app is served.

    :raises DatabaseError: if the database is not PostgreSQL
    :raises ServeError: if a file or folder can't be used
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        check_url(settings.database)
        if not settings.database.startswith(
            ("postgres://", "postgresql://", "postgresql+psycopg://")
        ):
            raise DatabaseError("a mail host needs PostgreSQL: set --database to postgresql://...")
        database = make_url(settings.database).set(drivername="postgresql")
        url = database.render_as_string(hide_password=False)
        for folder in filter(None, (settings.mail_dir, settings.maps)):
            make_folder(folder)
        self._metrics = Metrics()
        self._views = Views(url)
        self._maps = PostfixMaps(settings.maps, self._metrics)
        limit = HourlyLimit(settings.recipients_per_hour)
        self._milter = Milter(self._views, limit, self._metrics)
        rewriter = Rewriter(read_secrets(settings.srs_secret), settings.mail_host)
        self._socketmap = SocketMap(rewriter, self._metrics)
        end_logins = self._milter.end_logins
        self._worker = Worker(
            settings.mail_dir, settings.node, self._views, self._metrics, end_logins
        )
        self._notifications = Notifications(
            url, self._maps, self._worker, self._metrics, end_logins
        )
        self.app = Starlette(
            routes=[
                Route("/healthz", self._health, methods=["GET"]),
                Route("/metrics", self._show_metrics, methods=["GET"]),
            ]
        )

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[dict[str, int]]:
        """Run all parts except the HTTP app. Yield no additional ports for the ready file."""
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(self._views.close)
            for path, handler in (
                (self._settings.milter, self._milter.serve),
                (self._settings.socketmap, self._socketmap.serve),
            ):
                await stack.enter_async_context(listening(path, handler))
            is_stuck = self._notifications.is_stuck
            watchdog = asyncio.create_task(report_progress(is_stuck))
            stack.push_async_callback(_end, watchdog)
            # Postfix starts after this daemon, and the maps must exist by then.
            await self._maps.create()
            stack.push_async_callback(self._maps.clear)
            for run in (self._worker.run, self._notifications.run):
                stack.push_async_callback(_end, asyncio.create_task(run()))
            yield {}

    async def _health(self, _request: Request) -> Response:
        try:
            await self._views.check()
        except DatabaseError as error:
            log.warning("the health check failed: %s", error)
            return JSONResponse({"status": "the database can't be used"}, 503)
        if not self._notifications.is_listening:
            return JSONResponse({"status": "can't listen to the database"}, 503)
        return JSONResponse({"status": "ok"})

    async def _show_metrics(self, _request: Request) -> Response:
        return Response(self._metrics.page(), media_type=CONTENT_TYPE)


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])
