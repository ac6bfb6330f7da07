# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Record sets out of plain data: what our modules return, and what those of DNS providers do.

An item is a record or a record set. It has a ``type`` and

* its name in full as ``fqdn``, ``name`` or ``record``, with or without a dot at the end;
* its values as ``values``, ``value``, ``content``, ``records`` or ``resource_records``: one text,
  a list of texts, or a list of mappings that have it as ``content`` or ``value``, and perhaps a
  ``comment`` on it;
* where the values of an MX record lack it, ``priority``;
* perhaps ``ttl``.

Items of other types than MX, TXT and CNAME are passed over, and so are empty ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ..errors import InvalidInput
from .notation import Escapes, checked_ttl, read_txt
from .sets import RecordSet, Txt, Value, as_rdata, read_rdata

#: Seconds, where nobody says.
DEFAULT_TTL = 3600

_NAMES = ("fqdn", "name", "record")
_VALUES = ("values", "value", "content", "records", "resource_records")


class Found(NamedTuple):
    """Record sets, with what writing them back needs.

    :param sets: by name and type
    :param aliases: where a CNAME record leads to, by name
    :param spelling: how values were written, by name, type and value; a provider may take other
        spellings for other records
    :param comments: what somebody noted on values, in the same way
    """

    sets: dict[tuple[str, str], RecordSet]
    aliases: dict[str, str]
    spelling: dict[tuple[str, str, Value], str]
    comments: dict[tuple[str, str, Value], str]

    def spelled(self, record_set: RecordSet) -> list[str]:
        """Return the values of a set, those that were there as they were written."""
        return [
            self.spelling.get((record_set.name, record_set.type, value)) or as_rdata(value)
            for value in record_set.values
        ]

    def commented(self, record_set: RecordSet) -> list[str | None]:
        """Return the comment on each value of a set, None where there is none."""
        keys = [(record_set.name, record_set.type, value) for value in record_set.values]
        return [self.comments.get(key) for key in keys]


class _Written(NamedTuple):
    text: str
    comment: str | None = None


class _Item(NamedTuple):
    name: str
    type: str
    ttl: int | None
    values: list[_Written]


def read_found(
    data: Any,
    ttl: int = DEFAULT_TTL,
    names: Collection[str] | None = None,
    escapes: Escapes = "decimal",
) -> Found:
    """Return the record sets that plain data describes, one set for all items of a name and type.

    :param ttl: seconds, for sets that do not say theirs
    :param names: read only what lies at these names
    :param escapes: how the values count bytes; they are spelled in decimal ones
    :raises InvalidInput: the data does not have the shape above
    """
    found = Found({}, {}, {}, {})
    for item in _items(data, names):
        if item.type != "CNAME":
            _add(found, item, ttl, escapes)
        elif item.values:
            found.aliases[item.name] = ", ".join(one.text.rstrip(".") for one in item.values)
    return found


def listed(data: Any, what: str) -> list[Any]:
    """Return what is to be a list; a mapping or a text is a list of one.

    :param what: what it is, for the sentence of the error
    :raises InvalidInput: it is none of these
    """
    if isinstance(data, (str, Mapping)):
        return [data]
    if isinstance(data, Iterable) and not isinstance(data, bytes):
        return list(data)
    raise InvalidInput(f"{what}: this is no list. Give a list.")


def _add(found: Found, item: _Item, ttl: int, escapes: Escapes) -> None:
    key = item.name, item.type
    values = [_value(item, written.text, escapes) for written in item.values]
    for value, written in zip(values, item.values, strict=True):
        found.spelling.setdefault((*key, value), _spelled(value, written.text.strip(), escapes))
        if written.comment is not None:
            found.comments.setdefault((*key, value), written.comment)
    known = found.sets.get(key) or RecordSet(*key, ttl if item.ttl is None else item.ttl, ())
    found.sets[key] = known._replace(values=tuple(dict.fromkeys((*known.values, *values))))


def _spelled(value: Value, text: str, escapes: Escapes) -> str:
    """Return how a value is written back: as it came, but for what not everybody reads alike."""
    in_quotes = text.startswith('"') and text.endswith('"')
    as_it_came = not isinstance(value, Txt) or (in_quotes and escapes == "decimal")
    return text if as_it_came else as_rdata(value)


def _value(item: _Item, text: str, escapes: Escapes) -> Value:
    try:
        return read_rdata(item.type, text, escapes)
    except InvalidInput as error:
        raise InvalidInput(f"{item.name} {item.type}: {error}") from None


def _items(data: Any, names: Collection[str] | None) -> Iterator[_Item]:
    for number, item in enumerate(listed(data, "record sets"), 1):
        if not item:
            continue
        if not isinstance(item, Mapping):
            raise InvalidInput(
                f"record set {number}: this is no mapping. Give name, type and values."
            )
        name, kind = _name(item, number), str(item.get("type", "")).upper()
        if not kind:
            raise InvalidInput(f"{name}: type is missing. Give MX, TXT or another type.")
        if kind in {"MX", "TXT", "CNAME"} and (names is None or name in names):
            where = f"{name} {kind}"
            yield _Item(name, kind, read_ttl(item.get("ttl"), where), _values(item, kind, where))


def _name(item: Mapping[str, Any], number: int) -> str:
    for key in _NAMES:
        name = item.get(key)
        if isinstance(name, str) and name.strip("."):
            return name.rstrip(".").lower()
    raise InvalidInput(f"record set {number}: name is missing. Give the name in full.")


def read_ttl(ttl: Any, where: str) -> int | None:
    """Return a time to live in seconds, which some modules return as text.

    :raises InvalidInput: it is none
    """
    if ttl is None:
        return None
    text = str(ttl)
    if isinstance(ttl, bool) or not (text.isascii() and text.isdigit()):
        raise InvalidInput(f"{where}: ttl is {ttl!r}. Give a number of seconds.")
    return checked_ttl(int(text))


def _values(item: Mapping[str, Any], kind: str, where: str) -> list[_Written]:
    values = next((item[key] for key in _VALUES if item.get(key) is not None), None)
    if values is None:
        raise InvalidInput(f"{where}: the values are missing. Give them as values.")
    written = [_written(value, where) for value in listed(values, f"{where}: values")]
    priority = item.get("priority")
    if kind != "MX" or priority is None:
        return written
    return [one._replace(text=f"{priority} {one.text}") for one in written]


def _written(value: Any, where: str) -> _Written:
    comment = None
    if isinstance(value, Mapping):
        if value.get("disabled"):
            raise InvalidInput(
                f"{where}: one of the records is disabled, which writing the record set would "
                "undo. Enable it or delete it first."
            )
        comment = value.get("comment")
        value = value.get("content", value.get("value"))
    if isinstance(value, str):
        return _Written(value, comment if isinstance(comment, str) else None)
    raise InvalidInput(f"{where}: a value is no text. Give each value as text.")


def read_text(data: Any, what: str) -> str:
    """Return the text of a TXT value: bare, or a zone file's strings in quotes.

    :param what: what it is, for the sentence of the error
    :raises InvalidInput: it is none
    """
    if not isinstance(data, str):
        raise InvalidInput(f"{what}: this is no text. Give a text.")
    return Txt(read_txt(data)).text
