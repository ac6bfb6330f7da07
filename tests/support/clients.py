# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""API clients for tests, with a fake clock that advances only when the clients sleep."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.postroom.email.plugins.module_utils._api.client.client import Client
from ansible_collections.postroom.email.plugins.module_utils._api.client.transport import Transport
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import Handler, ScriptedServer

Serve = Callable[[Handler], ScriptedServer]
Connect = Callable[..., Client]

TOKEN = "tok-Qw7/zX%41+9vLpE3"


@dataclass
class Clock:
    """A clock that advances only in `sleep`, and that records each sleep."""

    now: float = 1000.0
    sleeps: list[float] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self) -> float:
        """Return the clock's time."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Advance the clock without waiting."""
        with self._lock:
            self.now += seconds
            self.sleeps.append(seconds)


def transport_to(url: str, **options: Any) -> Transport:
    """Return a transport that ignores this machine's proxies."""
    return Transport(url, TOKEN, **{"trust_env": False, **options})


def client_over(transport: Transport, fake: Clock | None = None, **options: Any) -> Client:
    """Return a client with a fake clock and without random variation in its back-off."""
    fake = fake or Clock()
    settings = {"clock": fake, "sleep": fake.sleep, "rng": lambda: 1.0}
    return Client(transport, **{**settings, **options})
