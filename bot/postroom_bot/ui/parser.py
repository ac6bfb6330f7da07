# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The slash command: a table of the subcommands, and the parser for what users type.

Errors never repeat what the user typed, because that text may be a password.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from postroom_bot.domain import Action, Change
from postroom_bot.ui.argument_types import (
    ADDRESS,
    DAY,
    DESTINATIONS,
    DOMAIN,
    INVISIBLE,
    REASON,
    REQUEST,
    ArgumentType,
    InvalidValue,
    trimmed,
)
from postroom_bot.ui.markup import one_line

COMMAND = "/email"


@dataclass(frozen=True, slots=True)
class Menu:
    """Open the menu."""


@dataclass(frozen=True, slots=True)
class Help:
    """List the commands."""


@dataclass(frozen=True, slots=True)
class ListAliases:
    """List the addresses of a mailbox, or of the person's own mailbox if none is given."""

    mailbox: str | None = None


@dataclass(frozen=True, slots=True)
class ListForwards:
    """List the forwarders."""


@dataclass(frozen=True, slots=True)
class Password:
    """Offer a new password for the given mailbox, or for the person's own mailbox."""

    mailbox: str | None = None


@dataclass(frozen=True, slots=True)
class Dns:
    """List the DNS records of a domain."""

    domain: str


@dataclass(frozen=True, slots=True)
class Status:
    """Show one request, or the person's latest requests."""

    id: str | None = None


@dataclass(frozen=True, slots=True)
class Cancel:
    """Cancel a request."""

    id: str


#: Commands that the bot acknowledges before it answers them, because they call Slack.
Deferred = ListAliases | ListForwards | Dns | Status | Cancel
Command = Menu | Help | Change | Password | Deferred


class InvalidCommand(Exception):
    """The text is not a valid command. The exception's message is for the user, in mrkdwn."""


class TypedPassword(InvalidCommand):
    """The text may contain a password."""

    def __init__(self) -> None:
        super().__init__(
            "Never type a password in Slack. I did not use what you typed. If it is a real"
            f" password, change it now. To get a new one, type `{COMMAND} password`."
        )


class Argument(NamedTuple):
    """A value in a subcommand.

    :param name: the name of the attribute of the command or the Change
    :param keyword: the word before the value; "" for the words before the first keyword
    """

    name: str
    type: ArgumentType
    keyword: str = ""
    required: bool = False


class Subcommand(NamedTuple):
    """A subcommand.

    :param usage: the syntax, with optional parts in brackets and placeholders in capitals
    :param summary: a sentence that describes what the subcommand does
    :param creates: the class of the command, or the requested action
    :param allows_reason: whether a reason may follow; only requests store the reason
    :param example: a valid example, if it differs from the usage
    """

    usage: str
    summary: str
    creates: Action | Callable[..., Command]
    arguments: tuple[Argument, ...] = ()
    allows_reason: bool = True
    example: str = ""

    @property
    def words(self) -> str:
        """The words that select the subcommand."""
        return re.sub(" [^a-z].*", "", self.usage)

    @property
    def hint(self) -> str:
        """A sentence with the usage and the example."""
        example = f", as in `{COMMAND} {self.example}`" if self.example else ""
        return f"Write `{COMMAND} {self.usage}`{example}."

    def parse(self, words: Sequence[str]) -> Command:
        """Parse the arguments of the subcommand.

        :param words: the words after those of the subcommand
        :raises InvalidCommand: if the arguments are invalid
        """
        values: dict[str, Any] = {}
        try:
            typed = self._split(words)
            reason = REASON.parse(" ".join(typed.pop("because", ())))
            for argument in self.arguments:
                found = typed.pop(argument.keyword, None)
                if found or (found is not None and argument.keyword):
                    values[argument.name] = argument.type.parse(" ".join(found))
                elif argument.required:
                    raise InvalidCommand(f"The command is incomplete. {self.hint}")
        except InvalidValue as error:
            raise InvalidCommand(f"{error} {self.hint}") from None
        if typed.get(""):
            raise InvalidCommand(f"The command has extra words. {self.hint}")
        if isinstance(self.creates, Action):
            return Change(self.creates, **values, justification=reason)
        return self.creates(**values)

    def _split(self, words: Sequence[str]) -> dict[str, list[str]]:
        """Split the words into groups, one for each keyword."""
        keywords = {argument.keyword for argument in self.arguments}
        typed: dict[str, list[str]] = {"": []}
        current = ""
        for place, word in enumerate(words, 1):
            key = trimmed(word).casefold()
            if key == "because" and self.allows_reason:
                reason = " ".join(words[place:])
                if word.startswith(("(", "[")):
                    reason = re.sub(r"[)\]]([.!?]*)$", r"\1", reason)
                return {**typed, "because": [reason]}
            if not key or key not in keywords:
                typed[current].append(word)
            elif key in typed:
                raise InvalidCommand(f"`{key}` occurs twice. {self.hint}")
            else:
                current = key
                typed[key] = []
        return typed


_TARGET = Argument("target", ADDRESS, required=True)
_OWN_OR_OTHER = Argument("mailbox", ADDRESS)
_UNTIL = Argument("last_day", DAY, "until")

SUBCOMMANDS = (
    Subcommand(
        "alias add ADDRESS [to MAILBOX] [until YYYY-MM-DD] [because REASON]",
        "Requests a new address for your mailbox, or for another mailbox.",
        Action.ALIAS_ADD,
        (_TARGET, Argument("mailbox", ADDRESS, "to"), _UNTIL),
        example="alias add sales@example.com because customers ask for it",
    ),
    Subcommand(
        "alias remove ADDRESS [from MAILBOX] [because REASON]",
        "Requests the removal of an address.",
        Action.ALIAS_REMOVE,
        (_TARGET, Argument("mailbox", ADDRESS, "from")),
        example="alias remove sales@example.com",
    ),
    Subcommand(
        "alias list [MAILBOX]",
        "Lists the addresses of your mailbox.",
        ListAliases,
        (_OWN_OR_OTHER,),
        example="alias list",
    ),
    Subcommand(
        "password [MAILBOX]",
        "Creates a new password for your mailbox, or requests one for another mailbox.",
        Password,
        (_OWN_OR_OTHER,),
        allows_reason=False,
        example="password",
    ),
    Subcommand(
        "forward add ADDRESS to DESTINATION[, DESTINATION ...] [until YYYY-MM-DD] [because REASON]",
        "Requests forwarding of an address to other addresses.",
        Action.FORWARD_ADD,
        (_TARGET, Argument("destinations", DESTINATIONS, "to", required=True), _UNTIL),
        example="forward add team@example.com to alice@example.com, bob@example.com",
    ),
    Subcommand(
        "forward remove ADDRESS [to DESTINATION[, DESTINATION ...]] [because REASON]",
        "Requests an end to the forwarding of an address to some or all destinations.",
        Action.FORWARD_REMOVE,
        (_TARGET, Argument("destinations", DESTINATIONS, "to")),
        example="forward remove team@example.com to bob@example.com",
    ),
    Subcommand("forward list", "Lists the forwarders.", ListForwards, allows_reason=False),
    Subcommand(
        "dns DOMAIN",
        "Lists the DNS records of a domain.",
        Dns,
        (Argument("domain", DOMAIN, required=True),),
        example="dns example.com",
    ),
    Subcommand(
        "status [REQUEST]",
        "Shows your requests, or one of them.",
        Status,
        (Argument("id", REQUEST),),
        example="status R-7K2M",
    ),
    Subcommand(
        "cancel REQUEST",
        "Cancels one of your requests.",
        Cancel,
        (Argument("id", REQUEST, required=True),),
        example="cancel R-7K2M",
    ),
    Subcommand("help", "Shows this list.", Help),
)


def help_lines() -> list[str]:
    """Return the list of commands, with one command per line."""
    usages = [f"`{COMMAND} {subcommand.usage}` {subcommand.summary}" for subcommand in SUBCOMMANDS]
    return ["You can type these commands. Only you will see the answers.", *usages]


# Patterns of text that Slack has wrapped, and the replacements that restore what was typed.
_WRAPPED = (
    # <@U1|ann>
    (re.compile(r"<@[^<>|]*\|@?([^<>]+)>"), r"@\1"),
    # <mailto:a@example.com|a@example.com>
    (re.compile(r"<[^<>|]*\|([^<>]+)>"), r"\1"),
    # <https://example.com>, <!here>
    (re.compile(r"<(?:mailto:|https?://|!)?([^<>|]*)\|?>", re.IGNORECASE), r"\1"),
)
_PASSWORD = re.compile(r"pas+w|pwd|passp", re.IGNORECASE)


def parse(text: str) -> Command:
    """Parse the text after the slash command.

    :raises TypedPassword: if the text may contain a password
    :raises InvalidCommand: if the text is not a command
    """
    first, *more = [_words(line) for line in text.splitlines() if line.strip()] or [[]]
    if any(_subcommand_of(line) for line in more) and not any(map(_PASSWORD.match, first)):
        raise InvalidCommand("Send one command at a time.")
    words = [*first, *(word for line in more for word in line)]
    if not words or words[0].casefold() == "menu":
        return Menu()
    subcommand = _subcommand_of(words)
    if subcommand is not None:
        if subcommand.creates is Help:
            return Help()
        try:
            return subcommand.parse(words[len(subcommand.words.split()) :])
        except InvalidCommand:
            if subcommand.creates is Password:
                raise TypedPassword from None
            raise
    raise _refusal(words)


def _refusal(words: Sequence[str]) -> InvalidCommand:
    """Return the refusal of words that begin with no subcommand."""
    visible = [one_line(word, len(word)) for word in words]
    for place, word in enumerate(visible):
        if _PASSWORD.match(word):
            rest = " ".join(visible[place + 1 :])
            if not word.isalpha() or (rest and ADDRESS.convert(rest) is None):
                return TypedPassword()
    if visible != words:
        return InvalidCommand(INVISIBLE)
    return InvalidCommand(f"I don't know that command. `{COMMAND} help` lists the commands.")


def _subcommand_of(words: Sequence[str]) -> Subcommand | None:
    typed = [" ".join(words[:length]).casefold() for length in (1, 2)]
    return next((subcommand for subcommand in SUBCOMMANDS if subcommand.words in typed), None)


def _words(text: str) -> list[str]:
    """Return the words as they were typed, before Slack wrapped links and escaped characters.

    A slash command at the beginning of the text is removed.
    """
    for wrapped, typed in _WRAPPED:
        text = wrapped.sub(typed, text)
    words = html.unescape(text).split()
    return words[1:] if words[:1] == [COMMAND] else words
