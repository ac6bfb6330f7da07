# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Types for the reasons for changes, and for problems in definitions and plans.

The texts are imported only where they are used, because most tasks for one object don't need them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Union

from ..errors import InvalidInput

#: The path to a part of a definition, such as ``("mailboxes", 3, "aliases", 0)``.
Path = tuple[Union[str, int], ...]  # noqa: UP007

_MAX_PROBLEMS = 20


class Reason(NamedTuple):
    """The reason why a principal changes."""

    code: str
    params: Mapping[str, Any] = {}

    def __str__(self) -> str:
        from .messages import REASONS  # noqa: PLC0415

        return REASONS[self.code].format(**self.params)


DECLARED_ABSENT = Reason("declared_absent")


class Source(NamedTuple):
    """A definition before it is validated.

    :param file: the path of the file, or None for the options of the task
    :param find_line: a function that returns the line number of a path, or None if it is unknown
    """

    file: str | None
    data: Any
    find_line: Callable[[Path], int | None] | None = None


class Place(NamedTuple):
    """The location of a part of a definition."""

    source: Source
    path: Path

    def __str__(self) -> str:
        if self.source.file is None:
            return self.where
        start = self.source.file if self.line is None else f"{self.source.file}:{self.line}"
        return f"{start}: {self.where}" if self.path else start

    def at(self, *parts: str | int) -> Place:
        """Return the place of a part within this place."""
        return Place(self.source, (*self.path, *parts))

    @property
    def line(self) -> int | None:
        """The line in the file, or None if it is unknown."""
        return self.source.find_line(self.path) if self.source.find_line else None

    @property
    def where(self) -> str:
        """The path as text, such as ``mailboxes[3].aliases[0]``."""
        parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path]
        return "".join(parts).removeprefix(".")

    def seen_from(self, other: Place) -> str:
        """Describe this place in a message that is about another place."""
        about = [] if self.line is None else [f"line {self.line}"]
        if self.source is not other.source:
            file = self.source.file
            about.append("in the options of the task" if file is None else f"in {file}")
        return f"{self.where} ({', '.join(about)})" if about else self.where


class Problem(NamedTuple):
    """A reason to refuse a definition or its plan, or a warning.

    :param prerequisite: whether the problem is a missing object that may exist in a real run
    """

    code: str
    params: Mapping[str, Any] = {}
    place: Place | None = None
    prerequisite: bool = False

    @property
    def text(self) -> str:
        """The problem and the remedy, without the place."""
        from .messages import PROBLEMS  # noqa: PLC0415

        return PROBLEMS[self.code].format(**self.params)

    def __str__(self) -> str:
        return self.text if self.place is None else f"{self.place}: {self.text}"

    @property
    def prerequisite_text(self) -> str:
        """The warning in check mode. It names only the missing object, to avoid duplicates."""
        from .messages import PREREQUISITES  # noqa: PLC0415

        if self.code not in PREREQUISITES:
            return self.text
        missing = PREREQUISITES[self.code].format(**self.params)
        return f"{missing}. Check mode assumes that an earlier task creates it."

    def as_dict(self) -> dict[str, Any]:
        """Return the problem in the format of a module's result."""
        place = self.place
        return {
            "code": self.code,
            "file": place.source.file if place else None,
            "line": place.line if place else None,
            "where": place.where if place else "",
            "text": self.text,
        }


class InvalidDefinition(InvalidInput):
    """The definition itself has problems. Nothing was sent. ``problems`` lists them."""

    code = "invalid_definition"

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(describe(problems))
        self.problems = tuple(problems)
        self.details = {"problems": [problem.as_dict() for problem in problems]}


def describe(problems: Sequence[Problem]) -> str:
    """Return a message about all problems, with one line for each if there are several."""
    if len(problems) == 1:
        return str(problems[0])
    lines = [f"{number}. {each}" for number, each in enumerate(problems[:_MAX_PROBLEMS], 1)]
    more = len(problems) - _MAX_PROBLEMS
    lines += [f"And {more} more."] if more > 0 else []
    return "\n".join([f"There are {len(problems)} problems; nothing was changed.", *lines])
