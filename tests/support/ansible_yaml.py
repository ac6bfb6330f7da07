# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""YAML with the `!unsafe` tag, which prevents Ansible from templating a string."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import yaml


class Unsafe(str):
    """A string that Ansible must not template."""

    __slots__ = ()


class _Loader(yaml.SafeLoader):
    pass


class _Dumper(yaml.SafeDumper):
    pass


_Loader.add_constructor("!unsafe", lambda _loader, node: Unsafe(node.value))
_Dumper.add_representer(Unsafe, lambda dumper, text: dumper.represent_scalar("!unsafe", str(text)))


def load(text: str) -> Any:
    """Parse YAML, and return the data."""
    return yaml.load(text, _Loader)  # noqa: S506 - a SafeLoader


def dump(value: Any) -> str:
    """Return data as YAML."""
    return yaml.dump(value, Dumper=_Dumper)


def untemplated(value: Any) -> Any:
    """Return data with all strings marked as unsafe, as AWX passes survey answers."""
    return with_texts(value, Unsafe)


def with_texts(value: Any, change: Callable[[str], Any]) -> Any:
    """Return data after applying `change` to all strings except the keys of mappings."""
    if isinstance(value, dict):
        return {key: with_texts(one, change) for key, one in value.items()}
    if isinstance(value, list):
        return [with_texts(one, change) for one in value]
    return change(value) if isinstance(value, str) else value
