# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Connections are shared by tasks that would make the same, and by no others."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.postroom.email.plugins.plugin_utils._connections import Connections

PARAMS = {
    "api_url": "http://127.0.0.1:9",
    "api_token": "a-token",
    "validate_certs": True,
    "ca_path": None,
}


@pytest.fixture
def connections() -> Connections:
    """Return no connections yet."""
    return Connections()


def test_the_same_options_share(connections: Connections) -> None:
    """That is what makes a loop fast."""
    assert connections.get(PARAMS) is connections.get(dict(PARAMS))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("api_url", "http://127.0.0.1:10"),
        ("api_token", "another-token"),
        ("validate_certs", False),
        ("ca_path", "nowhere.pem"),
    ],
)
def test_other_options_do_not(option: str, value: Any, connections: Connections) -> None:
    """Another service, tenant or trust."""
    assert connections.get(PARAMS) is not connections.get({**PARAMS, option: value})


def test_another_proxy_does_not(connections: Connections, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy is looked for when a connection is made."""
    direct = connections.get(PARAMS)
    monkeypatch.setenv("all_proxy", "http://127.0.0.1:11")
    assert connections.get(PARAMS) is not direct


def test_a_new_file_does_not(connections: Connections, tmp_path: Path) -> None:
    """The authorities are read when a connection is made."""
    file = tmp_path / "ca.pem"
    params = {**PARAMS, "ca_path": str(file)}
    file.write_text("one", "utf-8")
    before = connections.get(params)
    assert connections.get(params) is before
    file.write_text("another", "utf-8")
    assert connections.get(params) is not before


def test_a_fork_does_not(connections: Connections, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes would mix their requests on one connection."""
    parent = connections.get(PARAMS)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert connections.get(PARAMS) is not parent


def test_dropped_ones_do_not(connections: Connections) -> None:
    """What was cut short may hold half an answer."""
    before = connections.get(PARAMS)
    connections.drop()
    assert connections.get(PARAMS) is not before


def test_few_are_kept(connections: Connections) -> None:
    """The ones used last: a loop over many tenants does not hold a connection to each."""
    first = connections.get(PARAMS)
    for number in range(7):
        connections.get({**PARAMS, "api_token": f"token-{number}"})
    assert connections.get(PARAMS) is first
    for number in range(8):
        connections.get({**PARAMS, "api_token": f"token-{number}"})
    assert connections.get(PARAMS) is not first
