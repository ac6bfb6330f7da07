# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""A definition: what a whole tenant is declared to be, and where each part of it is declared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Union

from ..errors import InvalidInput
from ..models import Domain, Forwarder, Mailbox
from ..names import Name
from .messages import DECLARED_ABSENT, Reason

#: The way to a part of a definition, such as ``("mailboxes", 3, "aliases", 0)``.
Path = tuple[Union[str, int], ...]  # noqa: UP007

_MOST_SHOWN = 20


class Source(NamedTuple):
    """One definition as it was given.

    :param file: the file's path; None for the options of the task
    :param data: the decoded content
    :param lines: tells the line, from 1, of a part, or None where it does not know
    """

    file: str | None
    data: Any
    lines: Callable[[Path], int | None] | None = None


class Place(NamedTuple):
    """Where something is declared."""

    source: Source
    path: Path

    def __str__(self) -> str:
        if self.source.file is None:
            return self.where
        line = self.line
        start = self.source.file if line is None else f"{self.source.file}:{line}"
        return f"{start}: {self.where}" if self.path else start

    @property
    def line(self) -> int | None:
        """The line in the file, where it is known."""
        return self.source.lines(self.path) if self.source.lines else None

    @property
    def where(self) -> str:
        """The way to it in words, such as ``mailboxes[3].aliases[0]``."""
        parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path]
        return "".join(parts).removeprefix(".")

    def __truediv__(self, part: str | int) -> Place:
        return Place(self.source, (*self.path, part))


class Finding(NamedTuple):
    """Something that is wrong with a definition: what, where, and what to do about it.

    :param place: None where no part of the definition is to blame
    :param prerequisite: it is missing what may be there by the time of the real run
    """

    text: str
    place: Place | None = None
    prerequisite: bool = False

    def __str__(self) -> str:
        return self.text if self.place is None else f"{self.place}: {self.text}"

    def as_dict(self) -> dict[str, Any]:
        """Return it as a module shows it."""
        place = self.place
        return {
            "code": "invalid_definition",
            "file": place.source.file if place else None,
            "line": place.line if place else None,
            "where": place.where if place else "",
            "text": self.text,
        }


def in_words(findings: Sequence[object]) -> str:
    """Return all findings as one message, a line each where there are several."""
    if len(findings) == 1:
        return str(findings[0])
    lines = [f"{number}. {finding}" for number, finding in enumerate(findings[:_MOST_SHOWN], 1)]
    more = len(findings) - _MOST_SHOWN
    lines += [f"And {more} more."] if more > 0 else []
    return "\n".join([f"There are {len(findings)} problems; nothing was changed.", *lines])


class InvalidDefinition(InvalidInput):
    """A definition is wrong by itself, in one place or several. Nothing was sent.

    :param findings: all that is wrong, at least one
    """

    code = "invalid_definition"

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__(in_words(findings))
        self.findings = tuple(findings)
        self.details = {"problems": [finding.as_dict() for finding in findings]}


@dataclass(frozen=True, slots=True)
class DeclaredDomain:
    """A domain as declared.

    :param force: where it is to be absent: with all that it still holds
    """

    name: Name
    place: Place | None = field(default=None, compare=False)
    absent: bool = False
    force: bool = False
    kind: ClassVar[str] = Domain.kind


@dataclass(frozen=True, slots=True)
class DeclaredMailbox:
    """A mailbox as declared.

    :param aliases: those that it is to have; None leaves all of its aliases alone
    :param absent_aliases: aliases that it must not have, each with the reason
    :param places: where each of its aliases is declared
    :param purge_aliases: remove every alias that is not in ``aliases``
    :param may_create: False if it must exist already
    :param move: take its aliases from any mailbox or forwarder that has them
    """

    name: Name
    place: Place | None = field(default=None, compare=False)
    absent: bool = False
    reason: Reason = DECLARED_ABSENT
    aliases: frozenset[Name] | None = None
    absent_aliases: Mapping[Name, Reason] = field(default_factory=dict)
    places: Mapping[Name, Place] = field(default_factory=dict, compare=False)
    purge_aliases: bool = False
    may_create: bool = True
    move: bool = False
    kind: ClassVar[str] = Mailbox.kind


@dataclass(frozen=True, slots=True)
class DeclaredForwarder:
    """A forwarder as declared.

    :param reason: why it is declared absent, if it is
    :param members: None leaves its members alone
    :param purge_members: remove every member that is not in ``members``
    """

    name: Name
    place: Place | None = field(default=None, compare=False)
    absent: bool = False
    reason: Reason = DECLARED_ABSENT
    aliases: frozenset[Name] | None = None
    absent_aliases: Mapping[Name, Reason] = field(default_factory=dict)
    places: Mapping[Name, Place] = field(default_factory=dict, compare=False)
    members: frozenset[Name] | None = None
    purge_aliases: bool = False
    purge_members: bool = True
    kind: ClassVar[str] = Forwarder.kind


# Union, for pylint takes the bar between classes to be arithmetic.
DeclaredIndividual = Union[DeclaredMailbox, DeclaredForwarder]  # noqa: UP007


Declared = Union[DeclaredDomain, DeclaredIndividual]  # noqa: UP007


@dataclass(frozen=True, slots=True)
class Definition:
    """All that is declared, by name. No name and no address is in it twice."""

    domains: Mapping[Name, DeclaredDomain]
    individuals: Mapping[Name, DeclaredIndividual]
