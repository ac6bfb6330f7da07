# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The guide about DNS, followed with a real name server that is set up as the guide tells."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.postroom.email.tests.docs import readme
from ansible_collections.postroom.email.tests.docs.guides import Reader
from ansible_collections.postroom.email.tests.support import bind
from ansible_collections.postroom.email.tests.support.service import RunningService, running_service
from ansible_collections.postroom.email.tests.support.site import Api

GUIDE = readme.CHECKOUT / "docs" / "dns.md"
GRANTS = re.compile(r"^\s*(grant .*;)$", re.MULTILINE)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RunningService]:
    """Run a service of its own, at which the guide's domain is registered."""
    with running_service(tmp_path / "service") as service:
        with contextlib.closing(Api(service.url, service.token)) as api:
            api.create("example.com")
        yield service


@pytest.fixture
def server(tmp_path: Path) -> Iterator[bind.BindServer]:
    """Run BIND with the guide's key and the guide's rules of what that may change."""
    rules = "\n".join(GRANTS.findall(GUIDE.read_text("utf-8")))
    zone = bind.Zone("@ TXT somebody-elses", policy=rules)
    key = bind.new_key("mail-records")
    with bind.running(tmp_path, {"example.com": zone}, keys=[key]) as server:
        yield server


def test_the_guide_does_what_it_says(
    tmp_path: Path, service: RunningService, server: bind.BindServer
) -> None:
    """Its playbook shows, verifies, publishes and withdraws the records, and leaves others' be."""
    folder = tmp_path / "desk"
    folder.mkdir()
    reader = Reader(folder, service, {"192.0.2.53": str(server), "192.0.2.54": str(server)})
    account = (folder / "account.yml").read_text("utf-8")
    secret = server.keys["mail-records"].secret
    reader.save("account.yml", f"{account}vault_tsig_secret: {secret}\n")
    reader.follow(GUIDE)
    assert server.lookup("example.com", "TXT") == ('"somebody-elses"',)
