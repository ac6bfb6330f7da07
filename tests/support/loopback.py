# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Finds loopback ports that are free for both UDP and TCP, for name servers in tests."""

from __future__ import annotations

import secrets
import socket

import pytest


def free_port(address: str = "127.0.0.1") -> int:
    """Return a port that is free for both UDP and TCP."""
    while True:
        with socket.socket(_family(address), socket.SOCK_STREAM) as stream:
            stream.bind((address, 0))
            port: int = stream.getsockname()[1]
        if is_free(address, port):
            return port


def is_free(address: str, port: int) -> bool:
    """Return whether this process can listen on a port with UDP and TCP."""
    try:
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            with socket.socket(_family(address), kind) as trial:
                trial.bind((address, port))
    except OSError:
        return False
    return True


def address_with_ports(*ports: int) -> str:
    """Return an address on which these ports are free. Skip the test if there is no such address.

    Some tests need the standard ports, because delegations contain hosts but no ports. Linux
    accepts all of 127.0.0.0/8, but BIND only listens on addresses of an interface.
    """
    for _attempt in range(5):
        address = f"127.53.{secrets.randbelow(256)}.{1 + secrets.randbelow(254)}"
        if all(is_free(address, port) for port in ports):
            return address
    wanted = " and ".join(map(str, ports))
    return pytest.skip(f"port {wanted}: needs root or CAP_NET_BIND_SERVICE, and 127.53.0.0/16")


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET
