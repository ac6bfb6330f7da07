# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Command-line options, and the parsers for their values."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address
from typing import Any, TypeVar

import click

PREFIX = "POSTROOM_SERVICE_"
MAX_DAYS = 1_000_000

T = TypeVar("T")
Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def checked(read: Callable[[str], T]) -> Callable[..., T | None]:
    """Return a click callback that parses an option's value with `read`."""

    def check(_context: click.Context, _option: click.Parameter, value: str | None) -> T | None:
        try:
            return None if value is None else read(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return check


def line(text: str) -> str:
    """Parse a name or a note that has to fit into a row of a table."""
    if not 0 < len(text.strip()) <= 100 or not text.isprintable():
        raise ValueError("must have 1 to 100 printable characters")
    return text.strip()


def days(text: str) -> float:
    """Parse a number of days."""
    number = float(text)
    if not 0 < number < MAX_DAYS:
        raise ValueError(f"must be greater than 0 and less than {MAX_DAYS}")
    return number


def host_and_port(text: str) -> tuple[str, int]:
    """Parse the HOST:PORT to connect to."""
    host, _, port = text.strip().rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ValueError("must be HOST:PORT")
    return host.strip("[]"), int(port)


def listener(text: str) -> tuple[str, int]:
    """Parse the ADDRESS:PORT to listen on. Port 0 picks a free port."""
    host, _, port = text.strip().rpartition(":")
    problem = ValueError("must be ADDRESS:PORT, such as 127.0.0.1:8028")
    if not port.isdecimal() or int(port) > 65535:
        raise problem
    try:
        return str(ip_address(host.strip("[]"))), int(port)
    except ValueError:
        raise problem from None


def addresses(text: str) -> list[tuple[str, int]]:
    """Parse a comma-separated list of ADDRESS:PORT."""
    try:
        found = [host_and_port(part) for part in text.split(",")]
        for host, _port in found:
            ip_address(host)
    except ValueError:
        raise ValueError("each resolver must be ADDRESS:PORT, such as 192.0.2.1:53") from None
    return found


def option(
    name: str, default: Any = None, *, read: Callable[[str], Any] | None = None, **more: Any
) -> Callable[[Decorated], Decorated]:
    """Declare an option that can also be set with an environment variable.

    :param read: a function that parses the value, or raises ValueError if it is invalid
    """
    variable = PREFIX + name.partition("/")[0].removeprefix("--").upper().replace("-", "_")
    more |= {"default": default, "show_default": default is not None}
    more["callback"] = checked(read) if read else None
    return click.option(name, envvar=variable, show_envvar=True, **more)


PORT = click.IntRange(0, 65535)
RESOLVERS = option(
    "--resolvers",
    metavar="ADDRESS:PORT,...",
    read=addresses,
    help="DNS resolvers to use instead of the system's.",
)
DATABASE = option(
    "--database",
    "postroom.sqlite3",
    help="SQLite file, postgresql://host/name or memory.",
)
LOG_FORMAT = option(
    "--log-format", "json", type=click.Choice(["json", "text"]), help="Format of the log."
)
LOG_LEVEL = option(
    "--log-level",
    "info",
    type=click.Choice(["debug", "info", "warning", "error"]),
    help="Lowest level to log.",
)
