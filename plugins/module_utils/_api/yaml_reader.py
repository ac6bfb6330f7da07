# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Read YAML and JSON files as plain data, and find the lines of their parts.

YAML scalars are read as strings, except null, booleans and, in plain mode, integers. Tags for other
types, repeated keys and multiple documents are refused. Plain mode is for the policy of the Slack
bot, which must be exactly what the file shows: it refuses anchors, aliases and named tags, and does
not merge mappings.
"""

from __future__ import annotations

import json
import pathlib
import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from .errors import shortened

_MAX_DEPTH = 20
_INTEGER = re.compile("-?(0|[1-9][0-9]{0,17})")
_TAG = "tag:yaml.org,2002:"
#: The allowed tags, keyed by kind of node; None is for nodes without a tag.
_TAGS: dict[str, set[str | None]] = {
    "scalar": {
        None,
        "!",
        *(_TAG + kind for kind in ("str", "int", "float", "timestamp", "null", "bool")),
    },
    "sequence": {None, f"{_TAG}seq"},
    "mapping": {None, f"{_TAG}map"},
}
#: The tags in plain mode; "!" is for quoted scalars.
_PLAIN_TAGS: dict[str, set[str | None]] = {
    "scalar": {None, "!"},
    "sequence": {None},
    "mapping": {None},
}
#: The words that YAML 1.1 doesn't read as strings.
_WORDS: dict[str, bool | None] = {
    form: value
    for words, value in (("yes on true", True), ("no off false", False), ("null", None))
    for word in words.split()
    for form in (word, word.title(), word.upper())
} | {"": None, "~": None}


class Malformed(Exception):
    """A file or text can't be read as plain data.

    :ivar line: the line of the problem, or None if it is unknown
    """

    def __init__(self, text: str, line: int | None = None) -> None:
        super().__init__(text)
        self.line = line


class RepeatedKey(Malformed):
    """A key occurs twice in a mapping.

    :ivar first: the line of the first occurrence, or None if it is unknown
    """

    def __init__(self, key: str, line: int | None = None, first: int | None = None) -> None:
        super().__init__(
            f"The key {shortened(key)!r} occurs twice in one mapping. Keep one of them, or begin a "
            "new list item with a hyphen.",
            line,
        )
        self.first = first


def read_text(path: str | pathlib.Path) -> str:
    """Read a UTF-8 file, with or without a byte order mark.

    :raises Malformed: if the path is not a readable text file, or the file is encrypted
    """
    try:
        file = pathlib.Path(path)
        # Reading a FIFO would block until another process writes to it.
        if file.exists() and not (file.is_file() or file.is_dir()):
            raise Malformed("This is not a regular file. Give the path of a text file.")
        content = file.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not a path"
        raise Malformed(
            f"The file can't be read: {reason}. Check the path and the file's permissions on the "
            "host that reads it."
        ) from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Malformed("The file is not in UTF-8. Save it in that encoding.", line) from None
    if text.startswith("$ANSIBLE_VAULT"):
        raise Malformed(
            "The file is encrypted with ansible-vault. Decrypt it, and keep passwords in another, "
            "encrypted file."
        )
    return text


def parse_json(text: str) -> Any:
    """Parse a JSON document. Return None if the text is empty.

    :raises Malformed: if the text is not valid JSON
    """

    def without_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key, value in pairs:
            if key in data:
                raise RepeatedKey(key)
            data[key] = value
        return data

    if not text.strip():
        return None
    try:
        # Python refuses to parse very long integers, but not floats.
        return json.loads(text, parse_int=float, object_pairs_hook=without_repeated_keys)
    except RepeatedKey:
        # The JSON decoder doesn't report the line, but the YAML parser does.
        try:
            parse_yaml(text)
        except RepeatedKey as same:
            raise same from None
        except (Malformed, ImportError):
            pass
        raise
    except json.JSONDecodeError as error:
        raise Malformed(
            f"This is not valid JSON at column {error.colno}: {error.msg}. Correct it there or "
            "just before.",
            error.lineno,
        ) from None
    except RecursionError:
        raise _too_deep() from None


def _too_deep(line: int | None = None) -> Malformed:
    return Malformed("The file is nested too deeply. Check its brackets and indentation.", line)


def parse_yaml(text: str, *, plain: bool = False) -> Any:
    """Parse a YAML document. Return None if the text contains no document.

    :param plain: whether to use plain mode
    :raises Malformed: if the text is not valid YAML or uses a feature that is not allowed
    :raises ImportError: if PyYAML is not installed
    """
    root = _compose(text, plain=plain)
    return None if root is None else _Converter(len(text), plain=plain).convert(root, 0)


def line_finder(text: str) -> Callable[[Iterable[str | int]], int | None]:
    """Return a function from a path in a document to its line.

    For a path that does not exist, the function returns the line of the nearest part that contains
    it. It returns None if the text is not valid YAML.
    """

    @cache
    def root() -> Any:
        try:
            return _compose(text)
        # Not all JSON is valid YAML, and reading JSON must not require PyYAML.
        except (Malformed, ImportError):
            return None

    return lambda path: None if root() is None else _line_of(root(), path)


class _Converter:
    """A converter from YAML nodes to plain data, several times faster than PyYAML's own."""

    def __init__(self, length: int, *, plain: bool) -> None:
        # Nested aliases can expand a small file to a huge size.
        self._left = 100_000 + 10 * length
        self._plain = plain
        self._tags = _PLAIN_TAGS if plain else _TAGS

    def convert(self, node: Any, depth: int) -> Any:
        kind, value = node.id, node.value
        if node.tag not in self._tags[kind]:
            raise _refused_tag(node)
        if kind == "scalar":
            if self._plain and node.tag is None and _INTEGER.fullmatch(value):
                return int(value)
            return _WORDS.get(value, value) if node.tag is None else value
        self._left -= len(value)
        if self._left < 0 or depth > _MAX_DEPTH:
            raise Malformed(
                "The YAML aliases expand to far more text than the file contains, or an alias is "
                "inside the node that it refers to. Replace the aliases with their text.",
                _line(node),
            )
        if kind == "sequence":
            return [self.convert(each, depth + 1) for each in value]
        data: dict[str, Any] = {}
        merges = False
        for key_node, value_node in value:
            key = key_node.value
            if key_node.id != "scalar":
                raise Malformed("A key must be a string, not a list or a mapping.", _line(key_node))
            if key_node.tag not in self._tags["scalar"]:
                raise _refused_tag(key_node)
            if key in data:
                first = next(_line(each) for each, _value in value if each.value == key)
                raise RepeatedKey(key, _line(key_node), first)
            data[key] = self.convert(value_node, depth + 1)
            merges = merges or (key == "<<" and key_node.tag is None and not self._plain)
        return _merged(data, node) if merges else data


def _merged(data: dict[str, Any], node: Any) -> dict[str, Any]:
    """Merge the mappings under the key << into a mapping, whose own keys take precedence."""
    bases = data.pop("<<")
    for base in bases if isinstance(bases, list) else [bases]:
        if not isinstance(base, dict):
            raise Malformed("<< only merges mappings. Use the alias of a mapping.", _line(node))
        data = {**base, **data}
    return data


@cache
def _loader() -> Any:
    """Return a PyYAML loader that sets the tag to None for nodes without an explicit tag."""
    import yaml  # noqa: PLC0415

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]
        depth = 0

        def resolve(self, _kind: Any, _value: Any, implicit: Any) -> str | None:
            # The first flag is False for a quoted scalar, which is a string.
            return "!" if isinstance(implicit, tuple) and not implicit[0] else None

        # PyYAML is recursive, so deep nesting would crash the process.
        def descend_resolver(self, current_node: Any, current_index: Any) -> None:  # noqa: ARG002
            self.depth += 1
            if self.depth > _MAX_DEPTH + 1:
                raise _too_deep(_line(current_node))

        def ascend_resolver(self) -> None:
            self.depth -= 1

    return Loader


def _compose(text: str, *, plain: bool = False) -> Any:
    """Return the root node of a text, or None if it is empty.

    :raises Malformed: if the text is not a single YAML document, or has anchors in plain mode
    """
    loader = _loader()
    from yaml import AliasEvent, YAMLError, parse  # noqa: PLC0415
    from yaml.composer import ComposerError  # noqa: PLC0415

    try:
        for event in parse(text, Loader=loader) if plain else ():
            if isinstance(event, AliasEvent) or getattr(event, "anchor", None):
                raise Malformed(
                    "Anchors (&) and aliases (*) are not allowed. Repeat the value, or put the "
                    "text in quotes.",
                    _line(event),
                )
        return loader(text).get_single_node()
    except ComposerError as error:
        # The names of anchors are not shown, because they may be parts of passwords.
        if "single document" in (error.context or ""):
            problem = "A second document begins here. The file must contain only one."
        elif error.context_mark is not None:
            problem = "The same anchor (&) occurs twice. Rename one of them."
        else:
            problem = "There is no anchor for this alias (*). Check its name, or quote the text."
        mark = error.problem_mark
        raise Malformed(problem, None if mark is None else mark.line + 1) from None
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        if mark is None:
            code = getattr(error, "character", 0)
            line = text.count("\n", 0, max(0, text.find(chr(code)))) + 1
            raise Malformed(
                f"The character U+{code:04X} is not allowed in YAML. Delete it.", line
            ) from None
        reason = " ".join(filter(None, (error.context, error.problem)))  # type: ignore[attr-defined]
        if "nesting depth" in reason:
            # Newer versions of libyaml have their own limit.
            raise _too_deep(mark.line + 1) from None
        has_tab = any("\t" in line for line in text.split("\n")[mark.line : mark.line + 1])
        remedy = "Use spaces, not tabs."
        if not has_tab:
            remedy = "Correct it there or just before. Put text with special characters in quotes."
        raise Malformed(
            f"This is not valid YAML at column {mark.column + 1}: {reason}. {remedy}",
            mark.line + 1,
        ) from None


def _line_of(node: Any, path: Iterable[str | int]) -> int:
    """Return the line of the node at a path, or of its nearest existing ancestor."""
    line = _line(node)
    for part in path:
        if node.id == "sequence" and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = _line(node)
            continue
        pairs = node.value if node.id == "mapping" else ()
        found = next((pair for pair in pairs if pair[0].value == part), None)
        if found is None:
            break
        line, node = _line(found[0]), found[1]
    return line


def _line(node: Any) -> int:
    line: int = node.start_mark.line
    return line + 1


def _refused_tag(node: Any) -> Malformed:
    if node.tag == "!vault":
        return Malformed(
            "This value is encrypted with ansible-vault. Write it as plain text, and keep "
            "passwords in another, encrypted file.",
            _line(node),
        )
    # The tag is not shown, because it may be part of a password.
    return Malformed(
        "Tags (!) are not allowed. Remove the tag, or put the text in quotes.",
        _line(node),
    )
