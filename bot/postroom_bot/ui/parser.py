# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Reading what somebody typed after the command.

An allow-list: what is not expected is refused. Of what was typed, a refusal repeats a plain word at
most, and none where a password is spoken of, for one may have been typed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from postroom_bot.domain import Action, Change
from postroom_bot.ui import commands, fields, typos


@dataclass(frozen=True, slots=True)
class Menu:
    """Nothing was typed: show what can be done."""


@dataclass(frozen=True, slots=True)
class Help:
    """Show what can be typed."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Somebody asks for something that needs a decision; never a password."""

    change: Change


@dataclass(frozen=True, slots=True)
class ListAliases:
    """Show the addresses of a mailbox; None is the person's own."""

    mailbox: str | None = None


@dataclass(frozen=True, slots=True)
class ListForwards:
    """Show the forwarding addresses."""


@dataclass(frozen=True, slots=True)
class Password:
    """Offer a new password for a mailbox; None is the person's own."""

    mailbox: str | None = None


@dataclass(frozen=True, slots=True)
class Dns:
    """Show the DNS records of a domain."""

    domain: str


@dataclass(frozen=True, slots=True)
class Status:
    """Show a request, or the person's own ones."""

    id: str | None = None


@dataclass(frozen=True, slots=True)
class Cancel:
    """Take back a request."""

    id: str


Command = Menu | Help | Wanted | ListAliases | ListForwards | Password | Dns | Status | Cancel
_Reader = Callable[[Sequence[str]], Command]


class NotUnderstood(Exception):
    """The text is none of what can be typed.

    :param sentence: for the person; of what was typed it holds a plain word at most
    """

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class TypedPassword(NotUnderstood):
    """Something that may be a password was typed."""

    def __init__(self) -> None:
        super().__init__(
            "Never type a password in Slack. I did not use it. If it is a real one, change it now. "
            f"To get a new one, type `{commands.COMMAND} password`."
        )


_WRAPPED = re.compile(r"<([^<>|]*)(?:\|([^<>]*))?>")
# What Slack puts before the thing itself: <mailto:a@b>, <https://example.com>, <!here>.
_MARK = re.compile(r"\A(?:mailto:|https?://|!)", re.IGNORECASE)
_T = TypeVar("_T")

_ONE_COMMAND = "One command at a time."
_NO_TO = "Write `to` before the destinations."
#: By what is said of one that is not right, what is said of several.
_ONE_OF_THEM = {
    fields.NOT_AN_ADDRESS: "One address at a time.",
    fields.NOT_A_MAILBOX: "One mailbox at a time.",
    fields.NOT_A_DOMAIN: "One domain at a time.",
    fields.NOT_A_DATE: "One date at a time.",
    fields.NOT_A_REQUEST: "One request at a time.",
}


def parse(text: str) -> Command:
    """Return what a command's text asks for.

    :raises TypedPassword: something was typed after `password` that is no address
    :raises NotUnderstood: it is none of what can be typed
    """
    words, *more = [_words(line) for line in text.splitlines() if line.strip()] or [[]]
    if any(_reader(line) for line in more) and not any(map(typos.is_password, words)):
        raise NotUnderstood(_ONE_COMMAND)
    words += [word for line in more for word in line]
    if not words:
        return Menu()
    found = _reader(words)
    if found is None:
        raise _unknown(words)
    read, length = found
    return read(words[length:])


def _reader(words: Sequence[str]) -> tuple[_Reader, int] | None:
    """Return what reads a command's words, and how many of them only name the command."""
    for length in (1, 2):
        read = _READERS.get(" ".join(words[:length]).casefold())
        if read is not None:
            return read, length
    return None


def _words(text: str) -> list[str]:
    """Return the words as they were typed, before Slack wrapped links and escaped signs.

    Some begin with the command once more.
    """
    plain = _WRAPPED.sub(_unwrapped, text)
    for entity, sign in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        plain = plain.replace(entity, sign)
    words = plain.split()
    return words[1:] if words[:1] == [commands.COMMAND] else words


def _unwrapped(link: re.Match[str]) -> str:
    """Return the visible text of a link or a mention."""
    target, label = link[1], link[2]
    if label:
        return f"@{label.removeprefix('@')}" if target.startswith("@") else label
    return _MARK.sub("", target)


def _unknown(words: Sequence[str]) -> NotUnderstood:
    """Return the refusal of words that begin like nothing; one of them may be a password."""
    for place, word in enumerate(words):
        if typos.is_password(word):
            rest = " ".join(words[place + 1 :])
            harmless = word.isalpha() and (not rest or fields.address(rest))
            return NotUnderstood(commands.like("password")) if harmless else TypedPassword()
    return NotUnderstood(typos.hint(words))


class _Said:
    """What was typed after an entry's words, cut at its keywords; "" leads what comes first.

    :param several: what is said where several come first, in place of the kind's own sentence
    """

    def __init__(
        self,
        entry: str,
        typed: Sequence[str],
        keywords: Collection[str] = (),
        several: str | None = None,
    ) -> None:
        self._hint = commands.like(entry)
        self._several = several
        self._repeats = not any(map(typos.is_password, typed))
        self._clauses: dict[str, list[str]] = {"": []}
        self.reason = ""
        current = ""
        for place, word in enumerate(typed):
            key = word.casefold()
            if key == "because":
                self.reason = _reason(typed[place + 1 :])
                break
            if key not in keywords:
                self._clauses[current].append(word)
            elif key in self._clauses:
                raise NotUnderstood(f"It says `{key}` twice. {self._hint}")
            else:
                current = key
                self._clauses[key] = []

    def nothing(self) -> None:
        """Refuse where anything was said."""
        if self._clauses != {"": []} or self.reason:
            raise NotUnderstood(f"That is more than I expected. {self._hint}")

    def maybe(self, key: str, read: Callable[[str], _T | None], problem: str) -> _T | None:
        """Return what a keyword leads, or None where it was not said."""
        words = self._clauses.get(key)
        if words is None or not (key or words):
            return None
        value = read(" ".join(words))
        if value is None:
            why = self._why_not(key, read, problem) if self._repeats else problem
            raise NotUnderstood(f"{why} {self._hint}")
        return value

    def _why_not(self, key: str, read: Callable[[str], object | None], problem: str) -> str:
        """Return which words that a keyword leads are not understood, in a sentence."""
        words = self._clauses[key]
        if len(words) < 2 or read(words[0]) is None:
            return fields.why_not("".join(words[:1]), problem)
        unknown = [word for word in fields.pieces(" ".join(words)) if read(word) is None]
        if not unknown:
            several = _ONE_OF_THEM.get(problem, problem)
            return several if key else self._several or several
        shown = fields.shown(unknown[0])
        return f"I do not understand {shown}." if shown else "That is more than I expected."

    def one(self, key: str, read: Callable[[str], _T | None], problem: str) -> _T:
        """Return what a keyword leads; it has to be said."""
        value = self.maybe(key, read, problem)
        if value is None:
            raise NotUnderstood(f"Something is missing. {self._hint}")
        return value


def _reason(words: Sequence[str]) -> str:
    reason = fields.reason(" ".join(words))
    if reason is None:
        raise NotUnderstood(fields.REASON_TOO_LONG)
    return reason


def _alias_add(words: Sequence[str]) -> Command:
    said = _Said("alias add", words, {"to", "until"})
    return Wanted(
        Change(
            Action.ALIAS_ADD,
            said.one("", fields.address, fields.NOT_AN_ADDRESS),
            mailbox=said.maybe("to", fields.address, fields.NOT_A_MAILBOX),
            expires_on=said.maybe("until", fields.day, fields.NOT_A_DATE),
            reason=said.reason,
        )
    )


def _alias_remove(words: Sequence[str]) -> Command:
    said = _Said("alias remove", words, {"from"})
    return Wanted(
        Change(
            Action.ALIAS_REMOVE,
            said.one("", fields.address, fields.NOT_AN_ADDRESS),
            mailbox=said.maybe("from", fields.address, fields.NOT_A_MAILBOX),
            reason=said.reason,
        )
    )


def _alias_list(words: Sequence[str]) -> Command:
    said = _Said("alias list", words)
    return ListAliases(said.maybe("", fields.address, fields.NOT_A_MAILBOX))


def _forward_add(words: Sequence[str]) -> Command:
    said = _Said("forward add", words, {"to", "until"}, _NO_TO)
    return Wanted(
        Change(
            Action.FORWARD_ADD,
            said.one("", fields.address, fields.NOT_AN_ADDRESS),
            destinations=said.one("to", fields.address_list, fields.NOT_DESTINATIONS),
            expires_on=said.maybe("until", fields.day, fields.NOT_A_DATE),
            reason=said.reason,
        )
    )


def _forward_remove(words: Sequence[str]) -> Command:
    said = _Said("forward remove", words, {"to"}, _NO_TO)
    return Wanted(
        Change(
            Action.FORWARD_REMOVE,
            said.one("", fields.address, fields.NOT_AN_ADDRESS),
            destinations=said.maybe("to", fields.address_list, fields.NOT_DESTINATIONS) or (),
            reason=said.reason,
        )
    )


def _forward_list(words: Sequence[str]) -> Command:
    _Said("forward list", words).nothing()
    return ListForwards()


def _password(words: Sequence[str]) -> Command:
    if not words:
        return Password()
    mailbox = fields.address(" ".join(words))
    if mailbox is None:
        raise TypedPassword
    return Password(mailbox)


def _dns(words: Sequence[str]) -> Command:
    return Dns(_Said("dns", words).one("", fields.domain, fields.NOT_A_DOMAIN))


def _status(words: Sequence[str]) -> Command:
    return Status(_Said("status", words).maybe("", fields.request_id, fields.NOT_A_REQUEST))


def _cancel(words: Sequence[str]) -> Command:
    return Cancel(_Said("cancel", words).one("", fields.request_id, fields.NOT_A_REQUEST))


#: From what an entry of the catalogue begins with, or is also called, what reads the rest.
_READERS: Mapping[str, _Reader] = {
    "alias add": _alias_add,
    "alias remove": _alias_remove,
    "alias list": _alias_list,
    "forward add": _forward_add,
    "forward remove": _forward_remove,
    "forward list": _forward_list,
    "password": _password,
    "dns": _dns,
    "status": _status,
    "cancel": _cancel,
    # Whatever they want help with, it is on the list.
    "help": lambda _: Help(),
    "?": lambda _: Help(),
    "menu": lambda _: Menu(),
}
