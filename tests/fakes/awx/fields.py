# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Fields of the controller's resources: what may be sent, and AWX's words for what may not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

#: Errors of a request by field, as AWX answers them with status 400.
Errors = dict[str, list[str]]
#: Tells whether there is a resource of a kind with that number.
Exists = Callable[[str, int], bool]


class Field(NamedTuple):
    """A field.

    :param type: ``str``, ``int``, ``bool``, ``dict``, or ``ref`` for another resource's number
    :param to: with ``ref``, the other's kind
    :param is_fixed: AWX tells it, and heeds nothing that is sent
    :param is_hidden: it can be sent, and is never shown
    """

    type: str
    default: Any = None
    is_needed: bool = False
    choices: tuple[Any, ...] = ()
    to: str = ""
    is_fixed: bool = False
    is_hidden: bool = False
    longest: int | None = None


def text(default: str = "", *, needed: bool = False, choices: tuple[str, ...] = ()) -> Field:
    """Return a field for a text."""
    return Field("str", default, needed, choices)


def named() -> Field:
    """Return the field for a resource's name."""
    return Field("str", is_needed=True, longest=512)


def number(default: int = 0, choices: tuple[int, ...] = ()) -> Field:
    """Return a field for a whole number."""
    return Field("int", default, choices=choices)


def flag(*, default: bool = False) -> Field:
    """Return a field for yes or no."""
    return Field("bool", default)


def mapping() -> Field:
    """Return a field for an object of JSON."""
    return Field("dict", {})


def ref(to: str, *, needed: bool = False, hidden: bool = False) -> Field:
    """Return a field for the number of another resource."""
    return Field("ref", None, needed, to=to, is_hidden=hidden)


def fixed(default: Any = None, to: str = "") -> Field:
    """Return a field that AWX sets itself."""
    return Field("any", default, to=to, is_fixed=True)


def settled(field: Field, value: Any) -> Any:
    """Return what AWX keeps of a value: null is the default."""
    if field.type == "ref":
        return value or None
    return field.default if value is None else value


def check(
    fields: Mapping[str, Field], sent: Mapping[str, Any], exists: Exists, *, is_new: bool
) -> Errors:
    """Return what is wrong with what was sent, for each field by itself.

    AWX passes over fields that it doesn't know. Here they are errors, so that no test overlooks
    what would have no effect.
    """
    found = {name: "Unknown field." for name in sent if name not in fields}
    for name, field in fields.items():
        if name not in sent:
            problem = "This field is required." if is_new and field.is_needed else None
        else:
            problem = _problem(field, sent[name], exists)
        if problem is not None:
            found[name] = problem
    return {name: [problem] for name, problem in found.items()}


def _problem(field: Field, value: Any, exists: Exists) -> str | None:
    if field.is_fixed:
        return None
    if value is None or value == "":
        return _problem_of_nothing(field, value)
    if field.type == "ref":
        return _problem_of_reference(field, value, exists)
    if field.choices and value not in field.choices:
        return f'"{value}" is not a valid choice.'
    if field.longest is not None and isinstance(value, str) and len(value) > field.longest:
        return f"Ensure this field has no more than {field.longest} characters."
    return _problem_of_type(field.type, value)


def _problem_of_nothing(field: Field, value: Any) -> str | None:
    if field.is_needed:
        return f"This field may not be {'null' if value is None else 'blank'}."
    if field.type in ("str", "ref") or (value is None and field.default is None):
        return None
    return "This field may not be null." if value is None else _problem_of_type(field.type, value)


def _problem_of_reference(field: Field, value: Any, exists: Exists) -> str | None:
    if not isinstance(value, int) or isinstance(value, bool):
        return f"Incorrect type. Expected pk value, received {type(value).__name__}."
    return None if exists(field.to, value) else f'Invalid pk "{value}" - object does not exist.'


def _problem_of_type(type_: str, value: Any) -> str | None:
    # AWX takes some texts for numbers, too. What we send is to have its own type.
    match type_:
        case "str" if not isinstance(value, str):
            return "Not a valid string."
        case "int" if not isinstance(value, int) or isinstance(value, bool):
            return "A valid integer is required."
        case "bool" if not isinstance(value, bool):
            return "Must be a valid boolean."
        case "dict" if not isinstance(value, dict):
            return f"Expected a dictionary of items but got type {type(value).__name__}."
    return None
