# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The bot with mistakes in it: where a file says so, its parts raise errors that hold secrets.

    python canary_launcher.py --mistake FILE serve --ready-file ...

The rest of the command line is the product's own.
"""

from __future__ import annotations

import argparse
import functools
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from postroom_bot.__main__ import main
from postroom_bot.executors.mail import Mail
from postroom_bot.serving.policies import Policies
from postroom_bot.words import views
from postroom_bot.work.desk import Desk
from postroom_bot.work.passwords import Passwords

Function = Callable[..., Any]


def run() -> int:
    """Put the mistakes in, and run the bot."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--mistake", type=Path, required=True, help="names the mistake of now")
    options, rest = parser.parse_known_args()
    _break(options.mistake, Mail, "set_password")
    _break(options.mistake, Mail, "check")
    _break(options.mistake, Mail, "aliases")
    _break(options.mistake, Desk, "status")
    _break(options.mistake, Policies, "reload")
    _break(options.mistake, views, "password_shown")
    _have_it_gossip(options.mistake)
    return main(rest)


def _break(mistake: Path, owner: Any, name: str) -> None:
    """Have a function raise, while the file names it, with all that it was given and knows."""
    function: Function = getattr(owner, name)

    @functools.wraps(function)
    def broken(*given: Any, **named: Any) -> Any:
        if mistake.read_text(encoding="utf-8") != name:
            return function(*given, **named)
        cause = KeyError(given, named)
        raise RuntimeError(f"{given} {named} {_all_that_is_known()}") from cause

    setattr(owner, name, broken)


def _have_it_gossip(mistake: Path) -> None:
    """Have a new password logged and written down, while the file says "gossip": the control."""
    reveal: Function = Passwords.reveal

    def gossiping(self: Any, *given: Any) -> Any:
        made = reveal(self, *given)
        if mistake.read_text(encoding="utf-8") == "gossip":
            password = made.password.get_secret_value()
            logging.getLogger("postroom_bot.gossip").debug("I made %s", password)
            desk = Desk(self._deps.database, self._deps.clock, self._deps.workspace)
            desk.turned_away("U1", "T1", "gossip", f"because of {password}")
        return made

    Passwords.reveal = gossiping  # type: ignore[assignment, method-assign]


def _all_that_is_known() -> str:
    """Return the secrets of the process as its environment has them."""
    names = ("SLACK_BOT_TOKEN", "SLACK_SIGNING_SECRET", "API_TOKEN", "DATABASE", "AWX_PASSWORD")
    environment = Path("/proc/self/environ").read_text(encoding="utf-8").split("\0")
    return " ".join(each for each in environment if each.partition("=")[0].endswith(names))


if __name__ == "__main__":
    sys.exit(run())
