# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Record sets out of plain data: what our modules return, and what those of DNS providers do.

An item is a record or a record set. It has a ``type`` and

* its name in full as ``fqdn``, ``name`` or ``record``, with or without a dot at the end;
* its values as one of ``_VALUES``: one text,
  a list of texts, or a list of mappings that have it as ``content`` or ``value``, and perhaps a
  ``comment`` on it;
* where the values of an MX record lack it, ``priority``;
* perhaps ``ttl``.

Items of other types than MX, TXT, CNAME and DNAME are passed over, and so are empty ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ..errors import InvalidInput, Refused
from .answers import Redirection
from .formats import Escapes, checked_ttl, read_txt
from .rrset import Key, RecordSet, Txt, Value, as_rdata, read_rdata

#: Seconds, where nobody says.
DEFAULT_TTL = 3600

_NAMES = ("fqdn", "name", "record")
_VALUES = ("record_values", "values", "value", "content", "records", "resource_records")


class Found(NamedTuple):
    """Record sets, with what writing them back needs.

    :param sets: by name and type
    :param aliases: where a CNAME or DNAME record leads to, by name
    :param spelling: how values were written, by name, type and value; a provider may take other
        spellings for other records
    :param comments: what somebody noted on values, in the same way
    :param redirections: the DNAME record above a name, by name
    """

    sets: dict[Key, RecordSet]
    aliases: dict[str, str]
    spelling: dict[tuple[str, str, Value], str]
    comments: dict[tuple[str, str, Value], str]
    redirections: dict[str, Redirection]

    def spelled(self, record_set: RecordSet) -> list[str]:
        """Return the values of a set, those that were there as they were written."""
        return [
            self.spelling.get((*record_set.key, value)) or as_rdata(value)
            for value in record_set.values
        ]

    def commented(self, record_set: RecordSet) -> list[str | None]:
        """Return the comment on each value of a set, None where there is none."""
        return [self.comments.get((*record_set.key, value)) for value in record_set.values]


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
    what: str = "input",
) -> Found:
    """Return the record sets that plain data describes, one set for all items of a name and type.

    :param ttl: seconds, for sets that do not say theirs
    :param names: read only what lies at these names
    :param escapes: how the values count bytes; they are spelled in decimal ones
    :param what: what the data is, for the sentence of the error
    :raises InvalidInput: the data does not have the shape above
    """
    found = Found({}, {}, {}, {}, {})
    for item in _items(data, names, what):
        if item.type == "DNAME":
            _add_dname(found, item, names or ())
        elif item.type != "CNAME":
            _add(found, item, ttl, escapes)
        elif item.values:
            found.aliases[item.name] = ", ".join(one.text.rstrip(".") for one in item.values)
    return found


def listed(data: Any, what: str) -> list[Any]:
    """Return what is to be a list; a mapping is a list of one.

    :param what: what it is, for the sentence of the error
    :raises InvalidInput: it is none of these
    """
    if isinstance(data, Mapping):
        return [data]
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes)):
        return list(data)
    raise InvalidInput(f"{what}: this is no list. Give a list.")


def listed_texts(data: Any, what: str) -> list[Any]:
    """Return what is to be a list of texts, or one of them; its items are not looked at.

    :param what: what it is, for the sentence of the error
    :raises InvalidInput: it is neither
    """
    if isinstance(data, str):
        return [data]
    try:
        return listed(data, what)
    except InvalidInput:
        raise InvalidInput(
            f"{what}: this is neither a text nor a list of texts. Give one of them."
        ) from None


def _add_dname(found: Found, item: _Item, names: Collection[str]) -> None:
    """Add the aliases that a DNAME record makes of the names below it."""
    for name in names:
        if name.endswith(f".{item.name}") and item.values:
            alias = f"{name.removesuffix(item.name)}{item.values[0].text.rstrip('.')}"
            found.aliases[name] = alias
            found.redirections[name] = Redirection("DNAME", item.name, alias)


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


def mappings(data: Any, what: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the mappings of a list, or the one, each after its place in words.

    Empty ones are passed over.

    :param what: what they are, for the sentence of the error
    :raises InvalidInput: it is no list, or an item is no mapping
    """
    alone = isinstance(data, Mapping)
    for number, item in enumerate(listed(data, what), 1):
        place = what if alone else f"{what}, item {number}"
        if item and not isinstance(item, Mapping):
            raise InvalidInput(f"{place}: this is no mapping. Give name, type and values.")
        if item:
            yield place, item


def _items(data: Any, names: Collection[str] | None, what: str) -> Iterator[_Item]:
    for place, item in mappings(data, what):
        name, kind = _name(item, place), str(item.get("type", "")).upper()
        if not kind:
            raise InvalidInput(f"{name}: type is missing. Give MX, TXT or another type.")
        is_at = kind in {"MX", "TXT", "CNAME"} and (names is None or name in names)
        if is_at or kind == "DNAME":
            where = f"{name} {kind}"
            yield _Item(name, kind, read_ttl(item.get("ttl"), where), _values(item, kind, where))


def _name(item: Mapping[str, Any], place: str) -> str:
    for key in _NAMES:
        name = item.get(key)
        if isinstance(name, str) and name.strip("."):
            return name.rstrip(".").lower()
    raise InvalidInput(f"{place}: name is missing. Give the name in full.")


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
    written = [_written(value, where) for value in listed_texts(values, f"{where}: values")]
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


def refuse_doubts(records: Any) -> None:
    """Refuse verified records without a known record set, which could lose records of others.

    Records that were only retrieved raise nothing: the current sets come from elsewhere then.

    :param records: as the module returns them
    :raises Refused: the current records are not known, or the name servers disagree
    """
    doubts = dict.fromkeys(
        f"{name} {kind}: {doubt}"
        for (name, kind), record in _verified(records)
        for doubt in _doubts(record)
    )
    if doubts:
        raise Refused(" ".join(doubts))


def matching(records: Any) -> set[Key]:
    """Return the names and types of which every record is verified as a match.

    :param records: as the module returns them
    """
    keys = {key for key, _record in _verified(records)}
    return keys - {key for key, record in _verified(records) if record["status"] != "match"}


def _verified(records: Any) -> Iterator[tuple[Key, Mapping[str, Any]]]:
    for record in listed(records, "records"):
        if isinstance(record, Mapping) and "status" in record:
            yield (str(record.get("fqdn", "")), str(record.get("type", ""))), record


def _doubts(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield why the whole set is not known."""
    if record["status"] == "unknown":
        yield (
            f"the current records are not known. {record.get('detail', '')} Verify again once the "
            "name servers answer, because records of others could be lost."
        )
    known = [one for one in record.get("servers", ()) if one["status"] != "unknown"]
    for one in known[1:]:
        if set(one["found"]) != set(known[0]["found"]):
            yield (
                f"the name servers disagree: {one['server']} has other "
                f"records than {known[0]['server']}. Verify again once they agree."
            )
            return
