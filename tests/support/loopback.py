# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Where name servers of the tests may listen: by UDP and TCP at the same port of the loopback."""

from __future__ import annotations

import secrets
import socket

import pytest

NO_PORT_53 = "port 53 on the loopback is not ours to take"
_KINDS = (socket.SOCK_STREAM, socket.SOCK_DGRAM)


def free_port(address: str = "127.0.0.1") -> int:
    """Return a port that nobody listens on, neither by UDP nor by TCP."""
    while True:
        with socket.socket(_family(address), socket.SOCK_STREAM) as stream:
            stream.bind((address, 0))
            port: int = stream.getsockname()[1]
        if is_free(address, port):
            return port


def is_free(address: str, port: int) -> bool:
    """Tell whether we may listen there."""
    try:
        for kind in _KINDS:
            with socket.socket(_family(address), kind) as trial:
                trial.bind((address, port))
    except OSError:
        return False
    return True


def address_with_port_53() -> str:
    """Return an address whose port 53 is free, or skip where it may not be had.

    Delegations name hosts and no ports. Linux answers to all of 127.0.0.0/8; BIND does not listen
    there, but at what an interface has.
    """
    for _attempt in range(5):
        address = f"127.53.{secrets.randbelow(256)}.{1 + secrets.randbelow(254)}"
        if is_free(address, 53):
            return address
    return pytest.skip(NO_PORT_53)


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET
