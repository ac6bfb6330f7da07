# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Where no name server is given, the zone says which one takes updates, and which ones to ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.postroom.email.tests.dns.publishing.stage import HOME, KEY, Gate
from ansible_collections.postroom.email.tests.fakes.nameserver.server import misbehaving
from ansible_collections.postroom.email.tests.support.bind import running
from ansible_collections.postroom.email.tests.support.loopback import (
    address_with_port_53,
    free_port,
)
from ansible_collections.postroom.email.tests.support.site import Site

OPTIONS = {"domain": HOME, "tsig_name": KEY.name, "tsig_secret": KEY.secret}


NOBODY = "127.53.255.254"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[tuple[Gate, str]]:
    """Run a name server at the port that delegations mean, and who tells where that is."""
    address = address_with_port_53()
    # The primary server does not answer the world, and one of its addresses nobody.
    zone = (
        "@ IN SOA primary hostmaster 1 3600 600 86400 60\n@ NS ns1\n"
        f"ns1 A {address}\nprimary A {address}\nprimary A {NOBODY}"
    )
    with running(tmp_path, {HOME: zone}, keys=[KEY]) as bind:
        gate = Gate(bind)
        with misbehaving({("*", "*"): gate}, address=address, port=53):
            yield gate, str(bind)


@pytest.mark.parametrize(
    "named", [{}, {"update_server": f"Primary.{HOME}."}], ids=["found", "named"]
)
def test_the_primary_takes_the_update(
    named: dict[str, str], world: tuple[Gate, str], site: Site
) -> None:
    """By its name in the zone's SOA record, or in the option; all its name servers are asked."""
    gate, resolver = world
    site.create(HOME)
    options: dict[str, Any] = {**OPTIONS, **named, "resolvers": [resolver]}
    done = site.run("email_dns_records", state="present", wait=True, **options)
    assert not done["failed"], done
    assert gate.updates == 1
    assert (len(done["changes"]), done["verified"], done["stage"]) == (3, True, "active")
    (server,) = done["records"][0]["servers"]
    assert server["server"].startswith(f"ns1.{HOME} (127.53.")


def test_a_primary_that_is_not_found(site: Site) -> None:
    """It is said which options help."""
    site.create(HOME)
    options: dict[str, Any] = {**OPTIONS, "resolvers": [f"127.0.0.1:{free_port()}"]}
    result = site.run("email_dns_records", state="present", **options)
    assert (result["failed"], result["changed"]) == (True, False)
    assert result["failure"] == {"kind": "NameServersNotFound"}
    assert f"The name servers of {HOME} could not be found" in result["msg"]
    assert result["msg"].endswith("can be given in the option update_server.")
