# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Helpers for the demos: printing, and cleaning up at the end."""

from __future__ import annotations

import itertools
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class DemoError(Exception):
    """A step of a demo failed."""


class Steps:
    """The numbered titles of a demo's steps."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def begin(self, title: str) -> None:
        """Print the title of the next step."""
        headline(f"{next(self._numbers)}. {title}")


def in_colour() -> bool:
    """Return whether the output is a terminal and colours are not disabled."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def headline(text: str) -> None:
    """Print a title."""
    print(f"\033[1m{text}\033[0m" if in_colour() else text, flush=True)


def say(text: str) -> None:
    """Print a line of explanation."""
    print(f"   {text}", flush=True)


def show(*lines: str) -> None:
    """Print commands, requests or output, separated from the explanations."""
    print("", *(f"   {line}".rstrip() for line in lines), sep="\n", flush=True)


def expect(condition: object, sentence: str) -> None:
    """Check that a value is truthy.

    :raises DemoError: if the value is falsy; ``sentence`` is the message
    """
    if not condition:
        raise DemoError(sentence)


def play(
    name: str,
    demo: Callable[[Path], None],
    ended: str,
    failures: tuple[type[Exception], ...],
    next_steps: str,
) -> int:
    """Run a demo in a temporary directory and return the exit status.

    :param ended: the message that everything has been stopped and deleted
    :param next_steps: what to do after the demo
    :param failures: exceptions besides DemoError that are reported without a traceback
    """
    for number in SIGNALS:
        # This includes Ctrl-C, which programs in the background of a script ignore by default.
        signal.signal(number, _stop)
    foreseen: tuple[type[Exception], ...] = (DemoError, *failures)
    try:
        with tempfile.TemporaryDirectory(prefix=f"postroom-{name}-") as folder:
            demo(Path(folder))
    except foreseen as error:
        print(f"\nThe demo failed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"\nInterrupted. {ended}", file=sys.stderr)
        return 128 + signal.SIGINT
    headline("Done")
    say(f"{ended} You can run this again.")
    print()
    headline("Next")
    for line in next_steps.splitlines():
        say(line)
    return 0


def _stop(number: int, _frame: object) -> None:
    """Raise an exception that ends the program after cleaning up."""
    for other in SIGNALS:
        # A second signal would interrupt the clean-up.
        signal.signal(other, signal.SIG_IGN)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)
