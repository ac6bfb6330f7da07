# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""YAML's events as plain data, and the lines of its parts.

Nothing in a definition is a number or a date, so that all scalars stay the text that they are, but
for null and the booleans. What a definition has no use for is refused rather than read in some
way: other tags, keys that are given twice, a second document.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .definition import Path

_DEEPEST = 20
_TAG = "tag:yaml.org,2002:"
_SCALAR_TAGS = frozenset(
    ["!", *(_TAG + kind for kind in ("str", "int", "float", "timestamp", "null", "bool"))]
)
_LIST_TAGS = frozenset([None, "!", f"{_TAG}seq"])
_MAPPING_TAGS = frozenset([None, "!", f"{_TAG}map"])
_MERGE = "<<"
#: What YAML 1.1 reads as something else than text.
_WORDS: dict[str, bool | None] = {
    "": None,
    "~": None,
    **{
        form: value
        for words, value in (
            (("null",), None),
            (("yes", "on", "true"), True),
            (("no", "off", "false"), False),
        )
        for word in words
        for form in (word, word.title(), word.upper())
    },
}


class Malformed(Exception):
    """Why a text can't be read, and in which line."""

    def __init__(self, text: str, line: int | None = None) -> None:
        super().__init__(text)
        self.line = line


class RepeatedKey(Malformed):
    """A mapping has a key twice.

    :ivar first: the line of the first of the two, where lines are kept
    """

    def __init__(self, key: str, line: int | None = None, first: int | None = None) -> None:
        shown = key if len(key) <= 60 else f"{key[:60]}..."
        super().__init__(
            f"The key {shown!r} is given twice in one mapping, so that one of the two would be "
            "lost. Keep one.",
            line,
        )
        self.first = first


def too_deep(line: int | None = None) -> Malformed:
    """Return the error of a file with more levels than a definition can have."""
    return Malformed(
        "The file is nested deeper than any definition. Check its brackets and indentation.", line
    )


class _Open:
    """A list or a mapping of which the end has not come yet."""

    __slots__ = ("anchor", "key", "lines", "merged", "size", "value")

    def __init__(self, value: Any, anchor: str | None) -> None:
        self.value = value
        self.anchor = anchor
        self.key: str | None = None
        self.merged: list[Any] = []
        self.size = 1
        self.lines: dict[Any, int] = {}


class Builder:
    """Builds plain data from YAML's events.

    PyYAML's own constructor takes several times as long, keeps the last of repeated keys, and ends
    the whole process on a file that is nested deep enough.
    """

    def __init__(self, text: str, *, with_lines: bool = False) -> None:
        self._text = text
        self._with_lines = with_lines
        self._documents = 0
        self._start = 1
        self._open: list[_Open] = []
        self._root: Any = None
        #: What each anchor names and how large that is; None while its end has not come yet.
        self._anchors: dict[str, tuple[Any, int] | None] = {}
        self._lines: dict[int, dict[Any, int]] = {}
        # Aliases of aliases can make much of little.
        self._largest = 100_000 + 10 * len(text)

    def line(self, path: Path) -> int:
        """Return the line of a part, or of what it would be in."""
        line, value = self._start, self._root
        for part in path:
            lines = self._lines.get(id(value), {})
            if part not in lines:
                break
            line, value = lines[part], value[part]
        return line

    def build(self) -> Any:
        """Return the one document's data; None where there is none.

        :raises Malformed: it is not YAML, or holds what no definition does
        """
        import yaml  # noqa: PLC0415

        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        handlers: dict[type, Callable[[Any], None]] = {
            yaml.ScalarEvent: self._scalar,
            yaml.AliasEvent: self._alias,
            yaml.SequenceStartEvent: self._begin_list,
            yaml.MappingStartEvent: self._begin_mapping,
            yaml.SequenceEndEvent: self._end,
            yaml.MappingEndEvent: self._end,
            yaml.DocumentStartEvent: self._begin_document,
        }
        try:
            for event in yaml.parse(self._text, Loader=loader):
                handler = handlers.get(type(event))
                if handler is not None:
                    handler(event)
        except yaml.YAMLError as error:
            raise self._unreadable(error) from None
        return self._root

    def _unreadable(self, error: Any) -> Malformed:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        if mark is not None:
            reason = " ".join(filter(None, (error.context, error.problem)))
            return Malformed(
                f"This is not valid YAML at column {mark.column + 1}: {reason}. Correct it there "
                "or just before.",
                mark.line + 1,
            )
        code = getattr(error, "character", 0)
        line = self._text.count("\n", 0, max(0, self._text.find(chr(code)))) + 1
        return Malformed(f"The character U+{code:04X} is not allowed in YAML. Delete it.", line)

    def _begin_document(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1:
            raise Malformed(
                "A second document begins here. Write each definition into a file of its own.",
                _line(event),
            )

    def _begin_list(self, event: Any) -> None:
        if event.tag not in _LIST_TAGS:
            raise _refused_tag(event)
        self._begin(event, [])

    def _begin_mapping(self, event: Any) -> None:
        if event.tag not in _MAPPING_TAGS:
            raise _refused_tag(event)
        self._begin(event, {})

    def _begin(self, event: Any, value: Any) -> None:
        if len(self._open) == _DEEPEST:
            raise too_deep(_line(event))
        self._require_key(event)
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        self._note_line(event)
        self._open.append(_Open(value, event.anchor))

    def _end(self, _event: Any) -> None:
        ended = self._open.pop()
        for base in ended.merged:
            ended.value.update({k: v for k, v in base.items() if k not in ended.value})
        if ended.anchor is not None:
            self._anchors[ended.anchor] = (ended.value, ended.size)
        if self._with_lines:
            self._lines[id(ended.value)] = ended.lines
        self._put(ended.value, ended.size)

    def _scalar(self, event: Any) -> None:
        text = event.value
        within = self._open[-1] if self._open else None
        if event.tag is not None and event.tag not in _SCALAR_TAGS:
            raise _refused_tag(event)
        if within is not None and within.key is None and isinstance(within.value, dict):
            if text in within.value or (text == _MERGE and within.merged):
                raise RepeatedKey(text, _line(event), within.lines.get(text))
            within.key = text
            self._note_line(event)
            return
        # Only a plain word can mean something else than text.
        value = _WORDS.get(text, text) if event.implicit[0] else text
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, 1)
        if within is None or within.key is None:
            self._note_line(event)
        self._put(value, 1)

    def _alias(self, event: Any) -> None:
        self._require_key(event)
        if event.anchor not in self._anchors:
            raise Malformed(
                # What looks like one may be a password.
                "There is no anchor for what begins with * here. Check its name, or put the text "
                "in quotes.",
                _line(event),
            )
        named = self._anchors[event.anchor]
        if named is None:
            raise Malformed(
                f"The alias *{event.anchor} stands within what it names, which has no end so. "
                "Write out what is meant.",
                _line(event),
            )
        value, size = named
        if size + sum(each.size for each in self._open) > self._largest:
            raise Malformed(
                "The aliases make far more of this file than is written in it. Write out what is "
                "meant.",
                _line(event),
            )
        self._note_line(event)
        self._put(value, size)

    def _require_key(self, event: Any) -> None:
        """Refuse what is not text where a mapping waits for a key."""
        if self._open and self._open[-1].key is None and isinstance(self._open[-1].value, dict):
            raise Malformed("A key has to be text. Write it as a word.", _line(event))

    def _note_line(self, event: Any) -> None:
        if not self._with_lines:
            return
        if not self._open:
            self._start = _line(event)
            return
        within = self._open[-1]
        part = within.key if isinstance(within.value, dict) else len(within.value)
        within.lines.setdefault(part, _line(event))

    def _put(self, value: Any, size: int) -> None:
        if not self._open:
            self._root = value
            return
        within = self._open[-1]
        within.size += size
        if isinstance(within.value, list):
            within.value.append(value)
        elif within.key == _MERGE:
            self._merge(within, value)
            within.key = None
        else:
            within.value[within.key] = value
            within.key = None

    def _merge(self, within: _Open, value: Any) -> None:
        bases = value if isinstance(value, list) else [value]
        if not all(isinstance(base, dict) for base in bases):
            raise Malformed("What << merges has to be a mapping. Name an anchor of one.")
        # An empty list merges nothing, and still is a key that may not come twice.
        within.merged.extend(bases or [{}])


def _line(event: Any) -> int:
    line: int = event.start_mark.line
    return line + 1


def _refused_tag(event: Any) -> Malformed:
    if event.tag == "!vault":
        return Malformed(
            "A value encrypted by ansible-vault stands here. A definition holds no secret: only "
            "passwords need to be encrypted, and they are given with the option passwords.",
            _line(event),
        )
    # Not shown: what looks like one may be a password.
    return Malformed(
        "A tag, which is what begins with !, has no place in a definition. Drop it, or put the "
        "text in quotes.",
        _line(event),
    )
