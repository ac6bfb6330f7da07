# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""A definition's file, YAML or JSON, as plain data, and the lines of its parts."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from .definition import Finding, InvalidDefinition, Path, Place, Source
from .yaml_events import Builder, Malformed, RepeatedKey, too_deep

_VAULT = "$ANSIBLE_VAULT"


def load(path: str) -> Source:
    """Read a definition's file: JSON where its name ends in .json, else YAML.

    :raises InvalidDefinition: it can't be read, or is not one mapping
    :raises ImportError: it is YAML, and PyYAML is not installed
    """
    try:
        text = _text_of(path)
        data = _from_json(text) if path.lower().endswith(".json") else Builder(text).build()
        _require_mapping(data)
    except Malformed as error:
        line = error.line
        source = Source(path, None, lambda _path: line)
        raise InvalidDefinition([Finding(str(error), Place(source, ()))]) from None
    return Source(path, data, _finder(text))


def _text_of(path: str) -> str:
    try:
        with open(path, "rb", opener=_open_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Malformed("This is not a regular file. Give the path of a file of text.")
            content = file.read()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not a path"
        raise Malformed(
            f"The file can't be read: {reason}. It is looked for where the module runs."
        ) from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Malformed("The file is not in UTF-8. Save it in that encoding.", line) from None
    if text.startswith(_VAULT):
        raise Malformed(
            "The file is encrypted by ansible-vault. Decrypt it: a definition holds no secret. "
            "Only passwords need to be encrypted, and they are given with the option passwords."
        )
    return text


def _open_without_waiting(path: str, flags: int) -> int:
    # Opening a FIFO would wait for a writer.
    return os.open(path, flags | os.O_NONBLOCK)


def _require_mapping(data: object) -> None:
    if data is None:
        raise Malformed(
            "The file is empty. Write at least one of the keys domains, mailboxes and forwarders, "
            "such as mailboxes: []."
        )
    if not isinstance(data, dict):
        raise Malformed(
            "The file is not a mapping. Write the lists under the keys domains, mailboxes and "
            "forwarders."
        )


def _from_json(text: str) -> Any:
    if not text.strip():
        return None
    try:
        # Whole numbers are read as the others, for Python refuses those of many digits.
        return json.loads(text, parse_int=float, object_pairs_hook=_without_repeated_keys)
    except RepeatedKey as error:
        # The decoder doesn't tell where: YAML's reader does, where it is there.
        error.line = _line_of_repeated_key(text)
        raise
    except json.JSONDecodeError as error:
        raise Malformed(
            f"This is not valid JSON at column {error.colno}: {error.msg}. Correct it there or "
            "just before.",
            error.lineno,
        ) from None
    except RecursionError:
        raise too_deep() from None


def _without_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise RepeatedKey(key)
        result[key] = value
    return result


def _line_of_repeated_key(text: str) -> int | None:
    try:
        Builder(text).build()
    except RepeatedKey as error:
        return error.line
    except (Malformed, ImportError):
        pass
    return None


def _finder(text: str) -> Callable[[Path], int | None]:
    """Return what finds lines in a text. It reads the text once more, and only when asked."""

    @lru_cache(maxsize=1)
    def read() -> Builder | None:
        builder = Builder(text, with_lines=True)
        try:
            builder.build()
        # A file of JSON need not be YAML, and need not wait for PyYAML.
        except (Malformed, ImportError):
            return None
        return builder

    def find(path: Path) -> int | None:
        builder = read()
        return builder.line(path) if builder else None

    return find
