# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Read record sets from plain data, as our modules and those of DNS providers return them.

An item is a record or a record set. It has a ``type`` and

* its name in full as ``fqdn``, ``name`` or ``record``, with or without a dot at the end;
* its values as one of ``_VALUES``: a text, a list of texts, or a list of mappings with ``content``
  or ``value``, and perhaps ``comment``;
* ``priority``, if the values of an MX record lack it;
* perhaps ``ttl``.

Items of other types than MX, TXT, CNAME and DNAME are ignored, and so are empty ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ..errors import InvalidInput, Refused
from .answers import Redirection
from .formats import Escapes, checked_ttl, read_txt
from .rrset import Key, RecordSet, Txt, Value, as_rdata, read_rdata

#: Seconds, if the data has none.
DEFAULT_TTL = 3600

_NAMES = ("fqdn", "name", "record")
_VALUES = ("record_values", "values", "value", "content", "records", "resource_records")


class Found(NamedTuple):
    """Record sets, with what writing them back needs.

    :param sets: by name and type
    :param aliases: where a CNAME or DNAME record leads to, by name
    :param spelling: how values were written, by name, type and value; a provider may accept other
        spellings for other records
    :param comments: the comments on values, in the same way
    :param redirections: the DNAME record above a name, by name
    """

    sets: dict[Key, RecordSet]
    aliases: dict[str, str]
    spelling: dict[tuple[str, str, Value], str]
    comments: dict[tuple[str, str, Value], str]
    redirections: dict[str, Redirection]

    def spelled(self, record_set: RecordSet) -> list[str]:
        """Return the values of a set, those that were read as they were written."""
        return [
            self.spelling.get((*record_set.key, value)) or as_rdata(value)
            for value in record_set.values
        ]

    def commented(self, record_set: RecordSet) -> list[str | None]:
        """Return the comment on each value of a set, or None."""
        return [self.comments.get((*record_set.key, value)) for value in record_set.values]


def read_found(
    data: Any,
    ttl: int = DEFAULT_TTL,
    names: Collection[str] | None = None,
    escapes: Escapes = "decimal",
    what: str = "input",
) -> Found:
    """Return the record sets in plain data, one set for all items of a name and type.

    :param ttl: seconds, for sets without a TTL
    :param names: read only what is at these names
    :param escapes: the notation of bytes in the values; ``spelling`` always has decimal ones
    :param what: what the data is, for messages
    :raises InvalidInput: the data does not have the shape above
    """
    found = Found({}, {}, {}, {}, {})
    for place, item in mappings(data, what):
        name, kind = _name(item, place), str(item.get("type", "")).upper()
        if not kind:
            raise InvalidInput(f"{name}: type is missing. Set MX, TXT or another type.")
        is_at = kind in {"MX", "TXT", "CNAME"} and (names is None or name in names)
        if not is_at and kind != "DNAME":
            continue
        where = f"{name} {kind}"
        seconds = read_ttl(item.get("ttl"), where)
        written = _values(item, kind, where)
        targets = [text.rstrip(".") for text, _comment in written]
        if kind == "CNAME":
            if targets:
                found.aliases[name] = ", ".join(targets)
        elif kind == "DNAME":
            for below in names or ():
                if below.endswith(f".{name}") and targets:
                    alias = f"{below.removesuffix(name)}{targets[0]}"
                    found.aliases[below] = alias
                    found.redirections[below] = Redirection("DNAME", name, alias)
        else:
            known = found.sets.get((name, kind))
            known = known or RecordSet(name, kind, ttl if seconds is None else seconds, ())
            found.sets[name, kind] = _with_values(found, known, written, escapes)
    return found


def _with_values(
    found: Found, known: RecordSet, written: list[tuple[str, str | None]], escapes: Escapes
) -> RecordSet:
    """Return a set with more values. Their spelling and comments are added to what was found."""
    values = list(known.values)
    for text, comment in written:
        try:
            value = read_rdata(known.type, text, escapes)
        except InvalidInput as error:
            raise InvalidInput(f"{known}: {error}") from None
        # A value is written back as it was, unless readers differ about its notation.
        bare = text.strip()
        is_quoted = bare.startswith('"') and bare.endswith('"') and escapes == "decimal"
        spelling = bare if is_quoted or not isinstance(value, Txt) else as_rdata(value)
        found.spelling.setdefault((*known.key, value), spelling)
        if comment is not None:
            found.comments.setdefault((*known.key, value), comment)
        values.append(value)
    return known._replace(values=tuple(dict.fromkeys(values)))


def listed(data: Any, what: str) -> list[Any]:
    """Return a list; a mapping is a list of one.

    :param what: what it is, for messages
    :raises InvalidInput: it is neither
    """
    if isinstance(data, Mapping):
        return [data]
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes)):
        return list(data)
    raise InvalidInput(f"{what}: this must be a list.")


def listed_texts(data: Any, what: str) -> list[Any]:
    """Return a list; a string is a list of one. The items are not checked.

    :param what: what it is, for messages
    :raises InvalidInput: it is neither
    """
    if isinstance(data, str):
        return [data]
    try:
        return listed(data, what)
    except InvalidInput:
        raise InvalidInput(f"{what}: this must be a string or a list of strings.") from None


def mappings(data: Any, what: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the mappings of a list, or the one, each after its place in words.

    Empty ones are ignored.

    :param what: what they are, for messages
    :raises InvalidInput: it is not a list, or an item is not a mapping
    """
    for number, item in enumerate(listed(data, what), 1):
        place = what if isinstance(data, Mapping) else f"{what}, item {number}"
        if item and not isinstance(item, Mapping):
            raise InvalidInput(f"{place}: this must be a mapping with name, type and values.")
        if item:
            yield place, item


def _name(item: Mapping[str, Any], place: str) -> str:
    for key in _NAMES:
        name = item.get(key)
        if isinstance(name, str) and name.strip("."):
            return name.rstrip(".").lower()
    raise InvalidInput(f"{place}: name is missing. Set the name in full.")


def read_ttl(ttl: Any, where: str) -> int | None:
    """Return a time to live in seconds, which some modules return as a string.

    :raises InvalidInput: it is not a number, or out of range
    """
    if ttl is None:
        return None
    text = str(ttl)
    if isinstance(ttl, bool) or not (text.isascii() and text.isdigit()):
        raise InvalidInput(f"{where}: ttl is {ttl!r}. Set a number of seconds.")
    return checked_ttl(int(text))


def _values(item: Mapping[str, Any], kind: str, where: str) -> list[tuple[str, str | None]]:
    """Return the values of an item as texts, with their comments."""
    values = next((item[key] for key in _VALUES if item.get(key) is not None), None)
    if values is None:
        raise InvalidInput(f"{where}: the values are missing. Set them as values.")
    priority = item.get("priority") if kind == "MX" else None
    prefix = "" if priority is None else f"{priority} "
    written: list[tuple[str, str | None]] = []
    for value in listed_texts(values, f"{where}: values"):
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
        written.append((f"{prefix}{text}", comment if isinstance(comment, str) else None))
    return written


def read_text(data: Any, what: str) -> str:
    """Return the text of a TXT value: bare, or a zone file's strings in quotes.

    :param what: what it is, for messages
    :raises InvalidInput: it is not a string, or its quoting is invalid
    """
    if not isinstance(data, str):
        raise InvalidInput(f"{what}: this must be a string.")
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
