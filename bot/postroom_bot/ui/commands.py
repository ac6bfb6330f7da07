# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The one list of what people can type; help, manifest and the parser's hints are made of it."""

from __future__ import annotations

from typing import NamedTuple

COMMAND = "/email"


class Entry(NamedTuple):
    """Something to type after the command.

    :param words: what it begins with
    :param usage: its grammar; optional parts in brackets, what people choose in capitals
    :param example: one that is understood as it stands
    :param says: what it does, a sentence
    """

    words: str
    usage: str
    example: str
    says: str


ENTRIES = (
    Entry(
        "alias add",
        "alias add ADDRESS [to MAILBOX] [until YYYY-MM-DD] [because REASON]",
        "alias add sales@example.com because customers ask for it",
        "Asks for one more address for your mailbox, or for another one.",
    ),
    Entry(
        "alias remove",
        "alias remove ADDRESS [from MAILBOX] [because REASON]",
        "alias remove sales@example.com",
        "Asks for an address to be taken away.",
    ),
    Entry(
        "alias list",
        "alias list [MAILBOX]",
        "alias list",
        "Shows the addresses of your mailbox.",
    ),
    Entry(
        "password",
        "password [MAILBOX]",
        "password",
        "Makes a new password for your mailbox and shows it once.",
    ),
    Entry(
        "forward add",
        "forward add ADDRESS to DESTINATION[, DESTINATION ...] [until YYYY-MM-DD] [because REASON]",
        "forward add team@example.com to alice@example.com, bob@example.com",
        "Asks for mail to an address to go on to others.",
    ),
    Entry(
        "forward remove",
        "forward remove ADDRESS [to DESTINATION[, DESTINATION ...]] [because REASON]",
        "forward remove team@example.com to bob@example.com",
        "Asks for that to stop; without destinations, for all of them.",
    ),
    Entry(
        "forward list",
        "forward list",
        "forward list",
        "Shows the forwarding addresses.",
    ),
    Entry(
        "dns",
        "dns DOMAIN",
        "dns example.com",
        "Shows the DNS records that a domain needs for its mail.",
    ),
    Entry(
        "status",
        "status [REQUEST]",
        "status R-7K2M",
        "Shows your requests, or one of them.",
    ),
    Entry(
        "cancel",
        "cancel REQUEST",
        "cancel R-7K2M",
        "Takes back a request of yours.",
    ),
    Entry(
        "help",
        "help",
        "help",
        "Shows this list.",
    ),
)

#: From what an entry begins with, the entry.
BY_WORDS = {entry.words: entry for entry in ENTRIES}


def like(words: str) -> str:
    """Return a hint of how to write it, with the grammar and an example."""
    entry = BY_WORDS[words]
    shape, example = f"{COMMAND} {entry.usage}", f"{COMMAND} {entry.example}"
    if shape == example:
        return f"Write `{shape}`."
    return f"Write `{shape}`, such as `{example}`."


def lines() -> list[str]:
    """Return what can be typed and what each does, a line each."""
    entries = [f"`{COMMAND} {entry.usage}` {entry.says}" for entry in ENTRIES]
    return ["You can type these; only you see the answers.", *entries]
