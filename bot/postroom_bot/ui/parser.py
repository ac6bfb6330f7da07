# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The slash command: one table of subcommands, and the parser of what follows the command.

No error repeats what was typed, since it may be a password.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from postroom_bot.domain import Action, Change
from postroom_bot.ui import fields

COMMAND = "/email"

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Menu:
    """Open the menu."""


@dataclass(frozen=True, slots=True)
class Help:
    """List the commands."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Request a change other than a password."""

    change: Change


@dataclass(frozen=True, slots=True)
class ListAliases:
    """List the addresses of a mailbox; None is the person's own."""

    mailbox: str | None = None


@dataclass(frozen=True, slots=True)
class ListForwards:
    """List the forwarders."""


@dataclass(frozen=True, slots=True)
class Password:
    """Offer a new password for a mailbox; None is the person's own."""

    mailbox: str | None = None


@dataclass(frozen=True, slots=True)
class Dns:
    """List the DNS records of a domain."""

    domain: str


@dataclass(frozen=True, slots=True)
class Status:
    """Show one request, or the person's requests."""

    id: str | None = None


@dataclass(frozen=True, slots=True)
class Cancel:
    """Cancel a request."""

    id: str


Command = Menu | Help | Ask | ListAliases | ListForwards | Password | Dns | Status | Cancel


class InvalidCommand(Exception):
    """The text is not a command. The message is for the person, in mrkdwn."""


class TypedPassword(InvalidCommand):
    """The text may contain a password."""

    def __init__(self) -> None:
        super().__init__(
            "Never type a password in Slack. I did not use it. If it is a real one, change it now."
            f" To get a new one, type `{COMMAND} password`."
        )


class _Clauses:
    """What follows a subcommand, split at its keywords; "" holds the words before the first."""

    def __init__(self, entry: Entry, words: Sequence[str]) -> None:
        self._hint = entry.hint
        self._clauses: dict[str, list[str]] = {"": []}
        self.reason = ""
        current = ""
        for place, word in enumerate(words):
            key = word.casefold()
            if key == "because":
                reason = fields.reason(" ".join(words[place + 1 :]))
                if reason is None:
                    raise InvalidCommand(fields.REASON_TOO_LONG)
                self.reason = reason
                break
            if key not in entry.keywords:
                self._clauses[current].append(word)
            elif key in self._clauses:
                raise InvalidCommand(f"`{key}` occurs twice. {self._hint}")
            else:
                current = key
                self._clauses[key] = []

    def optional(self, key: str, read: Callable[[str], _T | None], problem: str) -> _T | None:
        """Return the value of a clause, or None without the clause."""
        words = self._clauses.get(key)
        if words is None or not (key or words):
            return None
        value = read(" ".join(words))
        if value is None:
            raise InvalidCommand(f"{problem} {self._hint}")
        return value

    def required(self, key: str, read: Callable[[str], _T | None], problem: str) -> _T:
        """Return the value of a clause."""
        value = self.optional(key, read, problem)
        if value is None:
            raise InvalidCommand(f"The command is incomplete. {self._hint}")
        return value

    def nothing(self) -> None:
        """Raise InvalidCommand if there are any words."""
        if self._clauses != {"": []} or self.reason:
            raise InvalidCommand(f"That is more than I expected. {self._hint}")


def _alias_add(clauses: _Clauses) -> Command:
    return Ask(
        Change(
            Action.ALIAS_ADD,
            clauses.required("", fields.address, fields.NOT_AN_ADDRESS),
            mailbox=clauses.optional("to", fields.address, fields.NOT_AN_ADDRESS),
            expires_on=clauses.optional("until", fields.day, fields.NOT_A_DATE),
            reason=clauses.reason,
        )
    )


def _alias_remove(clauses: _Clauses) -> Command:
    return Ask(
        Change(
            Action.ALIAS_REMOVE,
            clauses.required("", fields.address, fields.NOT_AN_ADDRESS),
            mailbox=clauses.optional("from", fields.address, fields.NOT_AN_ADDRESS),
            reason=clauses.reason,
        )
    )


def _alias_list(clauses: _Clauses) -> Command:
    return ListAliases(clauses.optional("", fields.address, fields.NOT_AN_ADDRESS))


def _forward_add(clauses: _Clauses) -> Command:
    return Ask(
        Change(
            Action.FORWARD_ADD,
            clauses.required("", fields.address, fields.NOT_AN_ADDRESS),
            destinations=clauses.required("to", fields.address_list, fields.NOT_DESTINATIONS),
            expires_on=clauses.optional("until", fields.day, fields.NOT_A_DATE),
            reason=clauses.reason,
        )
    )


def _forward_remove(clauses: _Clauses) -> Command:
    destinations = clauses.optional("to", fields.address_list, fields.NOT_DESTINATIONS)
    return Ask(
        Change(
            Action.FORWARD_REMOVE,
            clauses.required("", fields.address, fields.NOT_AN_ADDRESS),
            destinations=destinations or (),
            reason=clauses.reason,
        )
    )


def _forward_list(clauses: _Clauses) -> Command:
    clauses.nothing()
    return ListForwards()


def _password(clauses: _Clauses) -> Command:
    try:
        mailbox = clauses.optional("", fields.address, fields.NOT_AN_ADDRESS)
    except InvalidCommand:
        raise TypedPassword from None
    if clauses.reason:
        raise TypedPassword
    return Password(mailbox)


def _dns(clauses: _Clauses) -> Command:
    return Dns(clauses.required("", fields.domain, fields.NOT_A_DOMAIN))


def _status(clauses: _Clauses) -> Command:
    return Status(clauses.optional("", fields.request_id, fields.NOT_A_REQUEST))


def _cancel(clauses: _Clauses) -> Command:
    return Cancel(clauses.required("", fields.request_id, fields.NOT_A_REQUEST))


class Entry(NamedTuple):
    """A subcommand.

    :param words: the words that select it
    :param usage: its grammar: optional parts in brackets, placeholders in capitals
    :param example: a valid example
    :param summary: what it does, a sentence
    :param keywords: the words that begin a clause
    """

    words: str
    usage: str
    example: str
    summary: str
    parse: Callable[[_Clauses], Command]
    keywords: tuple[str, ...] = ()

    @property
    def hint(self) -> str:
        """How to write it."""
        usage, example = f"{COMMAND} {self.usage}", f"{COMMAND} {self.example}"
        return f"Write `{usage}`." if usage == example else f"Write `{usage}`, as in `{example}`."


ENTRIES = (
    Entry(
        "alias add",
        "alias add ADDRESS [to MAILBOX] [until YYYY-MM-DD] [because REASON]",
        "alias add sales@example.com because customers ask for it",
        "Requests another address for your mailbox, or for another mailbox.",
        _alias_add,
        ("to", "until"),
    ),
    Entry(
        "alias remove",
        "alias remove ADDRESS [from MAILBOX] [because REASON]",
        "alias remove sales@example.com",
        "Requests the removal of an address.",
        _alias_remove,
        ("from",),
    ),
    Entry(
        "alias list",
        "alias list [MAILBOX]",
        "alias list",
        "Lists the addresses of your mailbox.",
        _alias_list,
    ),
    Entry(
        "password",
        "password [MAILBOX]",
        "password",
        "Creates a new password for your mailbox and shows it once.",
        _password,
    ),
    Entry(
        "forward add",
        "forward add ADDRESS to DESTINATION[, DESTINATION ...] [until YYYY-MM-DD] [because REASON]",
        "forward add team@example.com to alice@example.com, bob@example.com",
        "Requests forwarding of an address to other addresses.",
        _forward_add,
        ("to", "until"),
    ),
    Entry(
        "forward remove",
        "forward remove ADDRESS [to DESTINATION[, DESTINATION ...]] [because REASON]",
        "forward remove team@example.com to bob@example.com",
        "Requests the end of forwarding, to some destinations or to all.",
        _forward_remove,
        ("to",),
    ),
    Entry("forward list", "forward list", "forward list", "Lists the forwarders.", _forward_list),
    Entry("dns", "dns DOMAIN", "dns example.com", "Lists the DNS records of a domain.", _dns),
    Entry(
        "status",
        "status [REQUEST]",
        "status R-7K2M",
        "Shows your requests, or one of them.",
        _status,
    ),
    Entry("cancel", "cancel REQUEST", "cancel R-7K2M", "Cancels your request.", _cancel),
    Entry("help", "help", "help", "Shows this list.", lambda _: Help()),
)


def help_lines() -> list[str]:
    """Return the list of commands, a line for each."""
    entries = [f"`{COMMAND} {entry.usage}` {entry.summary}" for entry in ENTRIES]
    return ["You can type these commands. Only you see the answers.", *entries]


_WRAPPED = re.compile(r"<([^<>|]*)(?:\|([^<>]*))?>")
# The part of a wrapped link before what was typed: <mailto:a@b>, <https://example.com>, <!here>.
_PREFIX = re.compile(r"\A(?:mailto:|https?://|!)", re.IGNORECASE)
_PASSWORD = re.compile(r"pas+w|pwd|passp", re.IGNORECASE)


def parse(text: str) -> Command:
    """Return the command that was typed after the slash command.

    :raises TypedPassword: the text may contain a password
    :raises InvalidCommand: the text is not a command
    """
    first, *more = [_words(line) for line in text.splitlines() if line.strip()] or [[]]
    if any(_entry_of(line) for line in more) and not any(map(_PASSWORD.match, first)):
        raise InvalidCommand("Send one command at a time.")
    words = [*first, *(word for line in more for word in line)]
    if not words or words[0].casefold() == "menu":
        return Menu()
    entry = _entry_of(words)
    if entry is not None:
        return entry.parse(_Clauses(entry, words[len(entry.words.split()) :]))
    for place, word in enumerate(words):
        if _PASSWORD.match(word):
            rest = " ".join(words[place + 1 :])
            if not word.isalpha() or (rest and fields.address(rest) is None):
                raise TypedPassword
    raise InvalidCommand(f"I don't know that command. `{COMMAND} help` lists the commands.")


def _entry_of(words: Sequence[str]) -> Entry | None:
    typed = [" ".join(words[:length]).casefold() for length in (1, 2)]
    return next((entry for entry in ENTRIES if entry.words in typed), None)


def _words(text: str) -> list[str]:
    """Return the words as typed, before Slack wrapped links and escaped characters.

    The slash command itself may be repeated at the start.
    """
    plain = _WRAPPED.sub(_unwrapped, text)
    for entity, character in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        plain = plain.replace(entity, character)
    words = plain.split()
    return words[1:] if words[:1] == [COMMAND] else words


def _unwrapped(link: re.Match[str]) -> str:
    """Return the visible text of a link or a mention."""
    target, label = link[1], link[2]
    if label:
        return f"@{label.removeprefix('@')}" if target.startswith("@") else label
    return _PREFIX.sub("", target)
