# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Ten thousand mailboxes: a request each, and one list for all of them when nothing changes."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from ansible_collections.postroom.email.tests.e2e.tenant_plays import Play
from ansible_collections.postroom.email.tests.support.service import RunningService, running_service

MANY = 10_000
HOME = "home.example"


class Log:
    """The requests that a service has noted down."""

    def __init__(self, service: RunningService) -> None:
        self._path = service.log_path
        self._read = 0

    def take(self) -> Counter[str]:
        """Return how many there were of each method since the last call."""
        lines = self._path.read_text("utf-8").splitlines()
        new, self._read = lines[self._read :], len(lines)
        rows = map(json.loads, new)
        return Counter(row["method"] for row in rows if "method" in row)


def test_ten_thousand_mailboxes(tmp_path: Path) -> None:
    """Each with a password of its own; another run takes one request, as a module too."""
    boxes = [f"box{number}@{HOME}" for number in range(MANY)]
    file = tmp_path / "tenant.json"
    file.write_text(json.dumps({"domains": [HOME], "mailboxes": boxes}), "utf-8")
    passwords = {box: f"secret-{number * 7919}-of-{number}" for number, box in enumerate(boxes)}
    with running_service(tmp_path / "service") as service:
        log = Log(service)
        play = Play(tmp_path / "play", service, definition_files=[str(file)], passwords=passwords)
        log.take()
        assert play.run().changed == 1
        assert log.take() == {"POST": MANY + 1, "GET": 3}
        assert "secret-" not in play.output.read_text("utf-8")
        for way in ("1", "0"):
            assert play.run(POSTROOM_IN_PROCESS=way).changed == 0
            assert log.take() == {"GET": 1}
