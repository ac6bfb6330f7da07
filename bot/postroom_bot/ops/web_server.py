# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A WSGI application on a port, in threads of this process."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import Any

from cheroot import wsgi

from postroom_bot.errors import StartError

#: Slack's largest payload, a modal's submission with all of its view, is far below this.
BODY_BYTES = 512 * 1024
HEADER_BYTES = 32 * 1024
#: Slack waits 3 seconds for an answer; whoever takes longer to ask is not Slack.
CLIENT_SECONDS = 5
GRACE_SECONDS = 10

Application = Callable[..., Iterable[bytes]]

log = logging.getLogger(__name__)


class WebServer:
    """Serves until it is told to stop; requests under way are answered first."""

    def __init__(self, application: Application, host: str, port: int, *, threads: int) -> None:
        self._host, self._port = host, port
        self._server = wsgi.Server(
            (host, port),
            application,
            numthreads=threads,
            server_name="postroom-bot",
            request_queue_size=128,
            timeout=CLIENT_SECONDS,
            shutdown_timeout=GRACE_SECONDS,
        )
        self._server.max_request_body_size = BODY_BYTES
        self._server.max_request_header_size = HEADER_BYTES
        # How cheroot has itself told where to log.
        self._server.error_log = _note  # type: ignore[method-assign]
        self._thread = threading.Thread(target=self._server.serve, name="web", daemon=True)

    def start(self) -> str:
        """Listen, and return the address."""
        try:
            self._server.prepare()
        except OSError as error:
            raise StartError(
                f"can't listen on {self._host} port {self._port} ({error.strerror or error})"
            ) from None
        self._thread.start()
        host, port = self._server.bind_addr[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    @property
    def is_serving(self) -> bool:
        """Whether it takes requests."""
        return self._thread.is_alive() and bool(self._server.ready)

    def stop(self) -> None:
        """Take no more requests, and wait for those that are under way."""
        self._server.stop()
        if self._thread.is_alive():
            self._thread.join(GRACE_SECONDS)


def _note(msg: str = "", level: int = logging.INFO, traceback: Any = False) -> None:  # noqa: FBT002
    """Log what the server has to say in the place of its standard error."""
    log.log(level, "web server: %s", msg, exc_info=bool(traceback))
