# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Loading the policy file. All errors are reported together, with their lines.

Anchors, aliases and tags are refused, so that people and the program read the file alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from pydantic import ValidationError

from postroom_bot.policy.consistency import Way, mistakes
from postroom_bot.policy.model import Policy
from postroom_bot.policy.validation_messages import sentences

_LARGEST = 256 * 1024
_DEEPEST = 12
_NO_VALUE = (
    "The value is missing or invalid, or # begins a comment. Add one, in quotes if it "
    "begins with #, or remove the key."
)


class Problem(NamedTuple):
    """An error in a policy file.

    :param line: from 1; None for the whole file
    :param where: the key, such as ``rules.own-aliases.own``; "" for the whole file
    :param text: the error and the remedy
    """

    line: int | None
    where: str
    text: str

    def __str__(self) -> str:
        """Return it in one line."""
        place = f"line {self.line}" if self.line else ""
        return ": ".join(part for part in (place, self.where, self.text) if part)


class PolicyError(Exception):
    """A policy file is invalid. It has these problems, in the order of their lines."""

    def __init__(self, problems: tuple[Problem, ...], path: Path | None = None) -> None:
        self.problems = problems
        #: A sentence for each problem, with file, line and key.
        self.sentences = tuple(f"{path}: {one}" if path else str(one) for one in problems)
        super().__init__("\n".join(self.sentences))


def load(path: str | Path) -> Policy:
    """Load a policy file.

    :raises PolicyError: with all errors. The policy as a whole is checked only if every key is
        valid.
    """
    try:
        return parse(_text_of(Path(path)))
    except PolicyError as error:
        raise PolicyError(error.problems, Path(path)) from None


def parse(text: str) -> Policy:
    """Parse the text of a policy file. Raises as ``load`` does."""
    document = _Document(text)
    try:
        policy = Policy.model_validate(document.data)
    except ValidationError as error:
        document.add_errors(sentences(error))
        raise document.error() from None
    if not document.has_problems:
        document.add_errors(mistakes(policy))
    if document.has_problems:
        raise document.error()
    return policy


def _text_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(_LARGEST + 1)
    except OSError as error:
        raise _broken(f"The policy file cannot be read: {error.strerror}.") from None
    if len(raw) > _LARGEST:
        raise _broken(f"The policy file is larger than {_LARGEST // 1024} KiB. Shorten it.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise _broken("The policy file is not UTF-8. Save it as UTF-8.", line) from None


def _broken(text: str, line: int | None = None) -> PolicyError:
    return PolicyError((Problem(line, "", text),))


def _compose(text: str) -> tuple[yaml.SafeLoader, yaml.Node]:
    """Return the loader and the root node of a file."""
    _check_events(text)
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
    finally:
        loader.dispose()
    if root is None:
        raise _broken("The policy file is empty. Start from the example in the documentation.")
    return loader, root


def _check_events(text: str) -> None:
    """Refuse aliases, and deep nesting."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        line = event.start_mark.line + 1 if event.start_mark else None
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise _broken("Anchors (&) and aliases (*) are not supported. Write it out.", line)
        if depth > _DEEPEST:
            raise _broken("The nesting is too deep. Check brackets and indentation.", line)


class _Document:
    """A file as plain data, with the lines of its parts and their errors."""

    def __init__(self, text: str) -> None:
        try:
            self._loader, root = _compose(text)
        except yaml.YAMLError as error:
            raise _not_yaml(error) from None
        self._lines: dict[Way, int] = {}
        self._errors: dict[Way, tuple[int, str]] = {}
        self.data = self._value(root, ())

    def add_error(self, way: Way, text: str, line: int | None = None) -> None:
        """Add an error of a part. Only the first one is kept."""
        nearest = next(self._lines[w] for w in _upwards(way) if w in self._lines)
        self._errors.setdefault(way, (line or nearest, text))

    def add_errors(self, found: Iterable[tuple[Way, str]]) -> None:
        """Add several errors."""
        for way, text in found:
            self.add_error(way, text)

    @property
    def has_problems(self) -> bool:
        """Whether there are errors."""
        return bool(self._errors)

    def error(self) -> PolicyError:
        """Return an exception with all errors in the order of their lines."""
        problems = (
            Problem(line, self._where(way), text) for way, (line, text) in self._errors.items()
        )
        return PolicyError(tuple(sorted(problems, key=lambda one: one.line or 0)))

    def _value(self, node: yaml.Node, way: Way) -> Any:
        self._lines.setdefault(way, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, way)
        if isinstance(node, yaml.SequenceNode):
            return [self._value(item, (*way, n)) for n, item in enumerate(node.value)]
        value = self._scalar(node)
        if value is None:
            self.add_error(way, _NO_VALUE)
        return value

    def _mapping(self, node: yaml.MappingNode, way: Way) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self._scalar(key_node) if isinstance(key_node, yaml.ScalarNode) else None
            line = key_node.start_mark.line + 1
            if not isinstance(key, str):
                text = "A key must be a string. Quote it if it looks like something else."
                self.add_error((*way, "?" if key is None else str(key)), text, line)
            elif key in found:
                self.add_error((*way, key), "This key occurs twice. Keep one of them.", line)
            else:
                self._lines[(*way, key)] = line
                found[key] = self._value(value_node, (*way, key))
        return found

    def _scalar(self, node: yaml.Node) -> Any:
        """Return a value; None also for an invalid date or binary."""
        try:
            return self._loader.construct_object(node)
        except (yaml.YAMLError, ValueError, OverflowError):
            return None

    def _where(self, way: Way) -> str:
        """Return the keys that lead to a part. Rules are identified by their names."""
        words: list[str] = []
        part: Any = self.data
        for step in way:
            part = _inner(part, step)
            name = part.get("name") if isinstance(part, dict) else None
            number = str(step + 1) if isinstance(step, int) else step
            words.append(name if isinstance(step, int) and isinstance(name, str) else number)
        return ".".join(words)


def _inner(part: Any, step: str | int) -> Any:
    try:
        return part[step]
    except (KeyError, IndexError, TypeError):
        return None


def _upwards(way: Way) -> list[Way]:
    """Return a path and those of its parents, the nearest first."""
    return [way[:length] for length in range(len(way), -1, -1)]


def _not_yaml(error: yaml.YAMLError) -> PolicyError:
    mark = getattr(error, "problem_mark", None)
    about = getattr(error, "problem", None) or getattr(error, "reason", None) or "it breaks off"
    is_tab = "'\\t'" in about
    remedy = "Use spaces, not tabs." if is_tab else "Check the indentation, quotes and brackets."
    return _broken(f"Not valid YAML: {about}. {remedy}", mark.line + 1 if mark else None)
