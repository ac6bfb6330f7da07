# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Values of options, and of the environment variables that stand in for them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import TypeVar

from . import passwords
from .faults import parse_plan

PREFIX = "POSTROOM_SERVICE_"

T = TypeVar("T")


class VariableError(Exception):
    """An environment variable has a value that its option would refuse."""


class _Value(str):
    """The value of a variable, which knows where it is from."""

    __slots__ = ("variable",)
    variable: str


def variable(name: str, otherwise: str | None = None) -> str | None:
    """Give the default of an option: its variable, unless that is unset or empty."""
    text = os.environ.get(PREFIX + name)
    if not text:
        return otherwise
    value = _Value(text)
    value.variable = PREFIX + name
    return value


def checked(read: Callable[[str], T]) -> Callable[[str], T]:
    """Make the `type` of an option; argparse has it read the default, too, if that is used."""

    def check(text: str) -> T:
        try:
            return read(text)
        except ValueError as error:
            if isinstance(text, _Value):
                raise VariableError(f"{text.variable}: {error}") from None
            raise argparse.ArgumentTypeError(str(error)) from None

    return check


def choice(*values: str) -> Callable[[str], str]:
    """Make a reader of one of these values."""

    def read(text: str) -> str:
        if text not in values:
            raise ValueError(f"{text!r} is not one of {', '.join(values)}")
        return text

    return read


def port(text: str) -> int:
    """Read the number of a port."""
    if not (text.isascii() and text.isdecimal() and int(text[:6]) <= 65535):
        raise ValueError("a port is a number from 0 to 65535")
    return int(text)


def days(text: str) -> float:
    """Read a number of days."""
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 0 < number < 1e6:
        raise ValueError("give a number of days above 0")
    return number


def line(text: str) -> str:
    """Read a name or note, which must fit into a table."""
    if not 0 < len(text.strip()) <= 100 or not text.isprintable():
        raise ValueError("give 1 to 100 printable characters")
    return text.strip()


def faults(text: str) -> str:
    """Check a specification of faults."""
    parse_plan(text)
    return text


def cost(text: str) -> str:
    """Check a cost of argon2id."""
    passwords.hasher(text)
    return text
