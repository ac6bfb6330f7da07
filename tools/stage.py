# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the demos share: how they print, and how they end with everything cleaned up."""

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
    """A step did not do what it says; the text tells which and how."""


class Steps:
    """Numbers the steps."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def begin(self, title: str) -> None:
        """Print the title of the next step."""
        headline(f"{next(self._numbers)}. {title}")


def in_colour() -> bool:
    """Tell whether the output is for a terminal that wants colours."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def headline(text: str) -> None:
    """Print a title."""
    print(f"\033[1m{text}\033[0m" if in_colour() else text, flush=True)


def say(text: str) -> None:
    """Print a line of explanation."""
    print(f"   {text}", flush=True)


def show(*lines: str) -> None:
    """Print what is sent, run or seen, set apart."""
    print("", *(f"   {line}".rstrip() for line in lines), sep="\n", flush=True)


def expect(told: object, sentence: str) -> None:
    """Go on if something is truthy.

    :raises DemoError: it is not; the sentence reports the failure
    """
    if not told:
        raise DemoError(sentence)


def play(
    name: str, demo: Callable[[Path], None], ended: str, failures: tuple[type[Exception], ...]
) -> int:
    """Run a demo in a temporary folder that goes away with it, and return the exit status.

    :param ended: tells that all is stopped and gone
    :param failures: what ends it with a sentence, beside DemoError
    """
    for number in SIGNALS:
        # Ctrl-C, too: a script's shell has what it runs in the background ignore it.
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
    return 0


def _stop(number: int, _frame: object) -> None:
    """End as an interrupted program does, with everything cleaned up on the way out."""
    for other in SIGNALS:
        # A second one would cut the cleaning up short.
        signal.signal(other, signal.SIG_IGN)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)
