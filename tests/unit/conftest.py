# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Fixtures for the unit tests: servers that stop with the test, and no proxies."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from ansible_collections.postroom.email.plugins.module_utils._api.client.client import Client
from ansible_collections.postroom.email.plugins.module_utils._api.names import parse_domain
from ansible_collections.postroom.email.tests.fakes.mail_api.scripted import (
    ScriptedServer,
    scripted,
)
from ansible_collections.postroom.email.tests.support.clients import (
    Clock,
    Connect,
    Serve,
    client_over,
    transport_to,
)

# ansible-test forks a process for each test, so these modules are imported once, in its parent.
transport_to("http://127.0.0.1:9").close()
parse_domain("b\u00fccher.example")

# The same options are in pyproject.toml, which ansible-test does not read.
settings.load_profile("ci")


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Provide a function that serves handlers until the test ends."""
    with contextlib.ExitStack() as stack:
        yield lambda handler: stack.enter_context(scripted(handler))


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Provide a function that creates clients, whose connections are closed when the test ends."""
    with contextlib.ExitStack() as stack:

        def make(server: ScriptedServer, fake: Clock | None = None, **options: Any) -> Client:
            transport = transport_to(server.url)
            stack.callback(transport.close)
            return client_over(transport, fake, **options)

        yield make


@pytest.fixture(autouse=True)
def _no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name.startswith("POSTROOM_"):
            monkeypatch.delenv(name)
