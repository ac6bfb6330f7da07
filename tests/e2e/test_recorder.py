# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The controls: what the recorder is trusted to see, it sees."""

from __future__ import annotations

import pytest

from ansible_collections.postroom.email.tests.support.recorder import Exchange
from ansible_collections.postroom.email.tests.support.site import Site


def test_forbidden_write_is_noticed_and_kept_back(site: Site) -> None:
    """A real run where writes are forbidden fails the test and changes nothing."""
    with (
        pytest.raises(AssertionError, match="POST"),
        site.recorder.forbidding_writes(),
    ):
        assert site.run("email_domain", name="one.example")["failed"] is True
    assert site.listing() == {}


def test_exchanges_are_written_down(site: Site) -> None:
    """Method, path and status of each request are there, in order."""
    site.run("email_domain", name="one.example")
    taken = site.recorder.take()
    assert taken[0] == Exchange("GET", "/api/principal/one.example", 404)
    assert Exchange("POST", "/api/principal", 201) in taken
    assert site.recorder.take() == []
