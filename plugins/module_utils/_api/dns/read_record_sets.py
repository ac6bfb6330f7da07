# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Read record sets in the formats of this collection and of Ansible modules for DNS providers.

An item is a record or a record set. It has a ``type`` and

* the fully qualified name as ``fqdn``, ``name`` or ``record``, with or without a trailing dot;
* the values under a key in ``_VALUES``: a string, a list of strings, or a list of mappings with
  ``content`` or ``value`` and optionally ``comment``;
* ``priority``, if the values of an MX record don't include it;
* optionally ``ttl``.

Empty items and items of types other than MX, TXT and CNAME are ignored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ..errors import InvalidInput
from .notations import Escapes, as_rdata, checked_ttl, read_rdata
from .record_types import Key, Mx, RecordSet, Redirection, Txt, Value

#: The TTL, in seconds, of record sets that don't specify one.
DEFAULT_TTL = 3600

_NAMES = ("fqdn", "name", "record")
_VALUES = ("record_values", "values", "value", "content", "records", "resource_records")


class ParsedSets(NamedTuple):
    """Record sets, with the details that are needed to write them back.

    :param sets: the record sets, keyed by name and type
    :param redirections: the CNAME records, keyed by name
    :param spelling: the original notation of values, keyed by name, type and value
    """

    sets: dict[Key, RecordSet]
    redirections: dict[str, Redirection]
    spelling: dict[tuple[str, str, Value], str]
    comments: dict[tuple[str, str, Value], str]
    escapes: Escapes

    def spelled(self, record_set: RecordSet) -> list[str]:
        """Return a set's values in their original notation, and new values as in a zone file."""
        return [
            self.spelling.get((*record_set.key, one)) or as_rdata(one, self.escapes)
            for one in record_set.values
        ]


def read_record_sets(
    data: Any,
    ttl: int = DEFAULT_TTL,
    names: Collection[str] | None = None,
    escapes: Escapes = "decimal",
    what: str = "input",
) -> ParsedSets:
    """Read record sets from plain data, merging items with the same name and type.

    :param ttl: the TTL, in seconds, of record sets that don't specify one
    :param names: read only the records at these names
    :param escapes: the notation of escaped bytes in the values
    :param what: the name of the data in messages
    :raises InvalidInput: if the data does not have the format in this module's docstring
    """
    found = ParsedSets({}, {}, {}, {}, escapes)
    for place, item in _mappings(data, what):
        given = next((item[key] for key in _NAMES if isinstance(item.get(key), str)), "")
        name, kind = given.rstrip(".").lower(), str(item.get("type", "")).upper()
        if not name:
            raise InvalidInput(f"{place}: name is missing. Set it to the record's full name.")
        if not kind:
            raise InvalidInput(f"{name}: type is missing. Set MX, TXT or another type.")
        if kind not in ("MX", "TXT", "CNAME") or (names is not None and name not in names):
            continue
        where = f"{name} {kind}"
        seconds = read_ttl(item.get("ttl"), where)
        written = list(_values(item, kind, where))
        if kind == "CNAME":
            for text, _comment in written:
                found.redirections[name] = Redirection("CNAME", name, text.rstrip("."))
            continue
        known = found.sets.get((name, kind))
        known = known or RecordSet(name, kind, ttl if seconds is None else seconds, ())
        values = [_read_value(found, known.key, *one) for one in written]
        merged = tuple(dict.fromkeys((*known.values, *values)))
        found.sets[name, kind] = known._replace(values=merged)
    return found


def _read_value(found: ParsedSets, key: Key, text: str, comment: str | None) -> Value:
    """Return a value and add its notation and comment to ``found``."""
    try:
        value = read_rdata(key[1], text, found.escapes)
    except InvalidInput as error:
        raise InvalidInput(f"{' '.join(key)}: {error}") from None
    # Keep the original notation, unless it is ambiguous.
    bare = text.strip()
    is_quoted = bare.startswith('"') and bare.endswith('"')
    spelling = bare if is_quoted or isinstance(value, Mx) else as_rdata(value, found.escapes)
    found.spelling.setdefault((*key, value), spelling)
    if comment is not None:
        found.comments.setdefault((*key, value), comment)
    return value


def _values(item: Mapping[str, Any], kind: str, where: str) -> Iterator[tuple[str, str | None]]:
    """Yield the values of an item as strings, each with its comment or None."""
    values = next((item[key] for key in _VALUES if item.get(key) is not None), None)
    if values is None:
        raise InvalidInput(f"{where}: the values are missing. Set the key 'values'.")
    priority = item.get("priority") if kind == "MX" else None
    for value in as_list(values, f"{where}: values"):
        text, comment = value, None
        if isinstance(value, Mapping):
            if value.get("disabled"):
                raise InvalidInput(
                    f"{where}: one of the records is disabled, and writing the record set would "
                    "enable it. Enable or delete it first."
                )
            text, comment = value.get("content", value.get("value")), value.get("comment")
        if not isinstance(text, str):
            raise InvalidInput(f"{where}: each value must be a string.")
        text = text if priority is None else f"{priority} {text}"
        yield text, comment if isinstance(comment, str) else None


def as_list(data: Any, what: str) -> list[Any]:
    """Return data as a list, wrapping a string or a mapping. The items are not checked.

    :param what: the name of the data in messages
    :raises InvalidInput: if the data is not a list, a string or a mapping
    """
    if isinstance(data, (Mapping, str)):
        return [data]
    if isinstance(data, Iterable) and not isinstance(data, bytes):
        return list(data)
    raise InvalidInput(f"{what}: this must be a list.")


def _mappings(data: Any, what: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each mapping in a list, or a single mapping, with its location. Skip empty mappings."""
    for number, item in enumerate(as_list(data, what), 1):
        place = what if isinstance(data, Mapping) else f"{what}, item {number}"
        if item and not isinstance(item, Mapping):
            raise InvalidInput(f"{place}: this must be a mapping with name, type and values.")
        if item:
            yield place, item


def read_ttl(ttl: Any, where: str) -> int | None:
    """Convert a TTL to a number of seconds. Some modules return it as a string.

    :raises InvalidInput: if the TTL is not a number or is out of range
    """
    if ttl is None:
        return None
    text = str(ttl)
    if isinstance(ttl, bool) or not (text.isascii() and text.isdigit()):
        raise InvalidInput(f"{where}: ttl is {ttl!r}. Set a number of seconds.")
    return checked_ttl(int(text))


def read_text(data: Any, what: str) -> str:
    """Return the text of a TXT value, which may be quoted as in a zone file.

    :param what: the name of the value in messages
    :raises InvalidInput: if the value is not a string or its quoting is invalid
    """
    value = read_rdata("TXT", data) if isinstance(data, str) else None
    if not isinstance(value, Txt):
        raise InvalidInput(f"{what}: this must be a string.")
    return value.text
