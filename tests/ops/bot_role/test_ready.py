# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""How long the role waits for a bot that does not answer."""

from __future__ import annotations

import json
import socket
from pathlib import Path

from ansible_collections.postroom.email.tests.support import playbooks

_PLAY = """\
- hosts: localhost
  gather_facts: false
  tasks:
    - include_role: {name: postroom.email.bot, tasks_from: ready}
"""


def test_a_bot_that_is_silent_is_not_waited_for_longer(tmp_path: Path) -> None:
    """One try takes longer than the role is told to wait, so there is no other."""
    (tmp_path / "play.yml").write_text(_PLAY, "utf-8")
    with socket.create_server(("127.0.0.1", 0)) as server:
        given = {
            "bot_settings": {"admin_port": server.getsockname()[1]},
            "bot_service_manager": "none",
            "bot_ready_timeout": 4,
            "__bot_log_began": {"stdout": "0"},
        }
        options = ("-e", json.dumps(given))
        run = playbooks.run_playbook(
            tmp_path / "play.yml", playbooks.environment(tmp_path), *options
        )
        assert "did not get ready in 4 seconds" in run.output
        assert tries_at(server) == 1


def tries_at(server: socket.socket) -> int:
    """Return how many have called, each of whom has given up by now."""
    server.setblocking(False)
    found = 0
    while True:
        try:
            server.accept()[0].close()
        except BlockingIOError:
            return found
        found += 1
