# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Read record sets as DNS providers and our modules return them, and write them as providers do.

An item to read is a record or a record set. It has a ``type`` and

* its name in full as ``fqdn``, ``name`` or ``record``, with or without a dot at the end;
* its values as one of ``_VALUES``: a text, a list of texts, or a list of mappings with ``content``
  or ``value``, and perhaps ``comment``;
* ``priority``, if the values of an MX record lack it;
* perhaps ``ttl``.

Empty items, and those of other types than MX, TXT and CNAME, are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ..errors import InvalidInput, Refused
from ..names import parse_domain
from .query import Redirection
from .rrset import Escapes, Key, Mx, RecordSet, Txt, Value, as_rdata, checked_ttl, read_rdata

Options = dict[str, Any]

#: Seconds, if the data has none.
DEFAULT_TTL = 3600

_NAMES = ("fqdn", "name", "record")
_VALUES = ("record_values", "values", "value", "content", "records", "resource_records")


class Found(NamedTuple):
    """Record sets, with what is needed to write them back.

    :param sets: by name and type
    :param redirections: the CNAME records, by name
    :param spelling: how values were written, by name, type and value
    :param comments: the comments on values, in the same way
    """

    sets: dict[Key, RecordSet]
    redirections: dict[str, Redirection]
    spelling: dict[tuple[str, str, Value], str]
    comments: dict[tuple[str, str, Value], str]

    def spelled(self, record_set: RecordSet) -> list[str]:
        """Return the values of a set as they were written, new ones as in a zone file."""
        key = record_set.key
        return [self.spelling.get((*key, one)) or as_rdata(one) for one in record_set.values]

    def commented(self, record_set: RecordSet) -> list[str | None]:
        """Return the comment on each value of a set, or None."""
        return [self.comments.get((*record_set.key, value)) for value in record_set.values]


def read_record_sets(
    data: Any,
    ttl: int = DEFAULT_TTL,
    names: Collection[str] | None = None,
    escapes: Escapes = "decimal",
    what: str = "input",
) -> Found:
    """Return the record sets in plain data, one set for all items of a name and type.

    :param ttl: seconds, for sets without a TTL
    :param names: read only the records of these names
    :param escapes: the notation of bytes in the values; ``spelling`` always has decimal ones
    :param what: what the data is, for messages
    :raises InvalidInput: the data does not have the shape above
    """
    found = Found({}, {}, {}, {})
    for place, item in _mappings(data, what):
        given = next((item[key] for key in _NAMES if isinstance(item.get(key), str)), "")
        name, kind = given.rstrip(".").lower(), str(item.get("type", "")).upper()
        if not name:
            raise InvalidInput(f"{place}: name is missing. Set the name in full.")
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
        values = [_read_value(found, known.key, *one, escapes) for one in written]
        merged = tuple(dict.fromkeys((*known.values, *values)))
        found.sets[name, kind] = known._replace(values=merged)
    return found


def _read_value(found: Found, key: Key, text: str, comment: str | None, escapes: Escapes) -> Value:
    """Return a value, and add its spelling and comment to what was found."""
    try:
        value = read_rdata(key[1], text, escapes)
    except InvalidInput as error:
        raise InvalidInput(f"{' '.join(key)}: {error}") from None
    # A value is written back as it was, unless readers differ about its notation.
    bare = text.strip()
    is_quoted = bare.startswith('"') and bare.endswith('"') and escapes == "decimal"
    spelling = bare if is_quoted or isinstance(value, Mx) else as_rdata(value)
    found.spelling.setdefault((*key, value), spelling)
    if comment is not None:
        found.comments.setdefault((*key, value), comment)
    return value


def _values(item: Mapping[str, Any], kind: str, where: str) -> Iterator[tuple[str, str | None]]:
    """Yield the values of an item as texts, with their comments."""
    values = next((item[key] for key in _VALUES if item.get(key) is not None), None)
    if values is None:
        raise InvalidInput(f"{where}: the values are missing. Set them as values.")
    priority = item.get("priority") if kind == "MX" else None
    for value in listed(values, f"{where}: values"):
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


def listed(data: Any, what: str) -> list[Any]:
    """Return a list; a string or a mapping is a list of one. The items are not checked.

    :param what: what it is, for messages
    :raises InvalidInput: it is neither
    """
    if isinstance(data, (Mapping, str)):
        return [data]
    if isinstance(data, Iterable) and not isinstance(data, bytes):
        return list(data)
    raise InvalidInput(f"{what}: this must be a list.")


def _mappings(data: Any, what: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the mappings of a list, or the one, each after its place. Empty ones are ignored."""
    for number, item in enumerate(listed(data, what), 1):
        place = what if isinstance(data, Mapping) else f"{what}, item {number}"
        if item and not isinstance(item, Mapping):
            raise InvalidInput(f"{place}: this must be a mapping with name, type and values.")
        if item:
            yield place, item


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


def read_text(data: Any, what: str) -> str:
    """Return the text of a TXT value: bare, or a zone file's strings in quotes.

    :param what: what it is, for messages
    :raises InvalidInput: it is not a string, or its quoting is invalid
    """
    value = read_rdata("TXT", data) if isinstance(data, str) else None
    if not isinstance(value, Txt):
        raise InvalidInput(f"{what}: this must be a string.")
    return value.text


def matching(records: Any) -> set[Key]:
    """Return the names and types of which every record is verified as a match.

    :param records: as the module returns them, verified or only retrieved
    :raises Refused: the current records are not known, or the name servers disagree, so that
        writing whole record sets could lose records of others
    """
    verified: dict[Key, list[str]] = {}
    problems: list[str] = []
    for record in listed(records, "records"):
        if not isinstance(record, Mapping) or "status" not in record:
            continue
        key = str(record.get("fqdn", "")), str(record.get("type", ""))
        verified.setdefault(key, []).append(record["status"])
        known = [one for one in record.get("servers", ()) if one["status"] != "unknown"]
        other = [one for one in known if set(one["found"]) != set(known[0]["found"])]
        if record["status"] == "unknown":
            problems.append(
                f"{' '.join(key)}: the current records are not known. {record.get('detail', '')} "
                "Verify again once the name servers answer, because records of others could be "
                "lost."
            )
        elif other:
            problems.append(
                f"{' '.join(key)}: the name servers disagree: {other[0]['server']} has other "
                f"records than {known[0]['server']}. Verify again once they agree."
            )
    if problems:
        raise Refused(" ".join(dict.fromkeys(problems)))
    return {key for key, statuses in verified.items() if set(statuses) == {"match"}}


class _Write(NamedTuple):
    """One record set to write.

    :param after: the new set; without values if it is deleted
    :param texts: its values, those that stay spelled as the provider has them
    :param comments: the comment on each of them, or None
    :param before: the current set; without values if there is none
    :param zone: name of the zone; empty if it is not known
    """

    after: RecordSet
    texts: tuple[str, ...]
    comments: tuple[str | None, ...]
    before: RecordSet
    zone: str

    @property
    def absolute(self) -> list[str]:
        """The values; host names with the dot without which they are relative to the zone."""
        is_mx = self.after.type == "MX"
        return [f"{text}." if is_mx and not text.endswith(".") else text for text in self.texts]

    @property
    def state(self) -> str:
        """The state that most modules use."""
        return "present" if self.after.values else "absent"


def records_for(data: Any, provider: Any, zone: Any = None) -> list[Options]:
    """Return what a provider's module or API takes, one item a call, in the order of the calls.

    :param data: record sets as the filter ``record_sets`` returns them; those whose action is
        ``none`` are left out
    :param provider: one of ``PROVIDERS``
    :param zone: name of the zone; None if the provider does not need it
    :raises InvalidInput: the data is not a list of such record sets, or is outside of the zone
    """
    convert = PROVIDERS.get(str(provider))
    if convert is None:
        known = ", ".join(sorted(PROVIDERS))
        raise InvalidInput(f"provider: {provider!r} is unknown. Set one of {known}.")
    if not isinstance(zone, (str, type(None))):
        raise InvalidInput(f"zone: {zone!r} is not a zone. Set its name, such as example.com.")
    within = "" if zone is None else parse_domain(zone, "zone").key
    if not within and provider in ("cloudflare", "hetzner"):
        raise InvalidInput("zone: it is missing. Set the name of the zone at the provider.")
    common = {"zone": within} if within and provider != "powerdns" else {}
    writes = [_write(item, within, place) for place, item in _mappings(data, "input")]
    return [common | options for write in writes if write for options in convert(write)]


def _write(item: Mapping[str, Any], zone: str, place: str) -> _Write | None:
    """Return a record set to write, or None if it stays as it is."""
    # Writing the wanted records as they are would overwrite records of others.
    if "action" not in item:
        raise InvalidInput(
            f"{place}: it has no action, which record_sets adds. Pass the records "
            "through record_sets first."
        )
    if item["action"] == "none":
        return None
    found = read_record_sets(item, what=place)
    after = next(iter(found.sets.values()), None)
    if after is None:
        raise InvalidInput(f"{place}: this is neither MX nor TXT. Leave it out.")
    if zone and not f".{after.name}".endswith(f".{zone}"):
        raise InvalidInput(
            f"{after}: the name is not in the zone {zone}. Set the zone that has it."
        )
    earlier = item.get("before") or {"ttl": after.ttl, "value": []}
    comments = item.get("comments") or [None] * len(after.values)
    if not isinstance(earlier, Mapping):
        raise InvalidInput(f"{after}: before must be a mapping with ttl and values.")
    if not isinstance(comments, list) or len(comments) != len(after.values):
        raise InvalidInput(f"{after}: comments must have one entry for each value.")
    row = {**earlier, "name": after.name, "type": after.type}
    before = read_record_sets(row, what=place).sets[after.key]
    return _Write(after, tuple(found.spelled(after)), tuple(comments), before, zone)


def _route53(write: _Write) -> Iterator[Options]:
    """Yield one call, with the octal escapes of Route 53."""
    options: Options = {"record": write.after.name, "type": write.after.type, "state": write.state}
    if write.state == "present":
        values = [
            as_rdata(value, "octal") if isinstance(value, Txt) else text
            for value, text in zip(write.after.values, write.absolute, strict=True)
        ]
        options |= {"ttl": write.after.ttl, "value": values, "overwrite": True}
    yield options


def _hetzner(write: _Write) -> Iterator[Options]:
    """Yield one call, in which a record without its comment would lose it."""
    host = write.after.name.removesuffix(write.zone).rstrip(".") or "@"
    options: Options = {"name": host, "type": write.after.type, "state": write.state}
    if write.state == "present":
        both = zip(write.texts, write.comments, strict=True)
        records = [{"value": text, "comment": comment} for text, comment in both]
        options |= {"ttl": write.after.ttl, "records": records}
    yield options


def _powerdns(write: _Write) -> Iterator[Options]:
    options: Options = {"name": f"{write.after.name}.", "type": write.after.type}
    if write.state == "absent":
        yield options | {"changetype": "DELETE"}
        return
    records = [{"content": text, "disabled": False} for text in write.absolute]
    yield options | {"ttl": write.after.ttl, "changetype": "REPLACE", "records": records}


def _cloudflare(write: _Write) -> Iterator[Options]:
    """Yield one call for each record, because the module manages single records."""
    of_type = _cloudflare_mx if write.after.type == "MX" else _cloudflare_txt
    for options in of_type(write):
        yield {"record": write.after.name, "type": write.after.type, **options}


def _cloudflare_mx(write: _Write) -> Iterator[Options]:
    """Yield new records before old ones are removed, so that mail is always accepted.

    The module identifies a record by its host alone: it changes the priority of one record, fails
    if there are several, and removes all of them.
    """
    before = [value for value in write.before.values if isinstance(value, Mx)]
    after = [value for value in write.after.values if isinstance(value, Mx)]
    common = {"ttl": write.after.ttl, "state": "present"}
    first: list[Options] = []
    added: list[Options] = []
    last: list[Options] = []
    for host in dict.fromkeys(mx.exchange for mx in (*before, *after)):
        old = {mx for mx in before if mx.exchange == host}
        new = {mx for mx in after if mx.exchange == host}
        if old == new and write.before.ttl == write.after.ttl:
            continue
        if len(old) > 1 or not new:
            (first if len(old) > 1 else last).append(_removal(write, host))
        added += [{**common, "value": host, "priority": mx.priority} for mx in new]
    yield from (*first, *added, *last)


def _cloudflare_txt(write: _Write) -> Iterator[Options]:
    """Yield new records before old ones are removed: a failing call loses no record of others.

    Only records with a new TTL are removed first, because removing the old ones removes both.
    """
    stale = write.before.values if write.before.ttl != write.after.ttl else ()
    for value in write.after.values:
        if value in stale:
            yield from _text_removals(write, value)
    for value, text in zip(write.after.values, write.texts, strict=True):
        if value in stale or value not in write.before.values:
            yield {"value": text, "ttl": write.after.ttl, "state": "present"}
    for value in write.before.values:
        if value not in write.after.values:
            yield from _text_removals(write, value)


def _text_removals(write: _Write, value: Value) -> Iterator[Options]:
    """Yield the calls that remove a text in both spellings, because the module compares them.

    Cloudflare keeps texts that were entered long ago without quotes.
    """
    yield _removal(write, as_rdata(value))
    if isinstance(value, Txt) and value.text.strip():
        yield _removal(write, value.text)


def _removal(write: _Write, value: str) -> Options:
    if value:
        return {"value": value, "state": "absent"}
    # Without a value the module would remove every record of the type.
    raise InvalidInput(f"{write.after}: its module can't remove a null MX. Remove it manually.")


#: Convert a record set to the provider's format.
PROVIDERS: dict[str, Callable[[_Write], Iterator[Options]]] = {
    "route53": _route53,
    "cloudflare": _cloudflare,
    "hetzner": _hetzner,
    "powerdns": _powerdns,
}
