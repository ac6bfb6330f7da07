# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Record sets as what DNS providers take: options of their modules, or items of their API.

Providers differ in names, TXT values and the unit of a change. A TXT value is written in quotes and
cut into strings, and a kept one as it was read, so that the provider sees no change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from ..errors import InvalidInput
from ..names import parse_domain
from .record_input import Found, mappings, read_found
from .rrset import Mx, RecordSet, Txt, Value, as_rdata

Options = dict[str, Any]


class Write(NamedTuple):
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
        if self.after.type != "MX":
            return list(self.texts)
        return [text if text.endswith(".") else f"{text}." for text in self.texts]

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
    shape = PROVIDERS.get(str(provider))
    if shape is None:
        known = ", ".join(sorted(PROVIDERS))
        raise InvalidInput(f"provider: {provider!r} is not known. Give one of {known}.")
    within = _zone(zone)
    if not within and provider in _NEED_ZONE:
        raise InvalidInput("zone: it is missing. Give the name of the zone at the provider.")
    said = {"zone": within} if within and provider != "powerdns" else {}
    return [said | options for write in _writes(data, within) for options in shape(write)]


def _zone(zone: Any) -> str:
    if zone is None:
        return ""
    if isinstance(zone, str):
        return parse_domain(zone, "zone").key
    raise InvalidInput(f"zone: {zone!r} is not a zone. Set its name, such as example.com.")


def _writes(data: Any, zone: str) -> Iterator[Write]:
    for place, item in mappings(data, "input"):
        # Writing the wanted records as they are would overwrite records of others.
        if "action" not in item:
            raise InvalidInput(
                f"{place}: it has no action, so it does not come from record_sets. Pass the "
                "records through record_sets first."
            )
        if item["action"] != "none":
            yield _write(item, zone, place)


def _write(item: Mapping[str, Any], zone: str, place: str) -> Write:
    found = read_found(item, what=place)
    after = _only(found, place)
    if zone and not f".{after.name}".endswith(f".{zone}"):
        raise InvalidInput(
            f"{after}: the name does not lie in the zone {zone}. Give the zone that holds it."
        )
    earlier = item.get("before") or {"ttl": after.ttl, "value": []}
    if not isinstance(earlier, Mapping):
        raise InvalidInput(f"{after}: before must be a mapping with ttl and values.")
    before = _only(read_found([{**earlier, "name": after.name, "type": after.type}]), place)
    return Write(after, tuple(found.spelled(after)), _comments(item, after), before, zone)


def _comments(item: Mapping[str, Any], after: RecordSet) -> tuple[str | None, ...]:
    comments = item.get("comments") or [None] * len(after.values)
    if isinstance(comments, list) and len(comments) == len(after.values):
        return tuple(comments)
    raise InvalidInput(f"{after}: comments must have one entry for each value.")


def _only(found: Found, place: str) -> RecordSet:
    for record_set in found.sets.values():
        return record_set
    raise InvalidInput(f"{place}: this is neither MX nor TXT. Leave it out.")


def _nsupdate(write: Write) -> Iterator[Options]:
    yield _module_options(write, f"{write.after.name}.", value=write.absolute)


def _route53(write: Write) -> Iterator[Options]:
    """Yield one call, with the escapes that Route 53 has in place of a zone file's."""
    values = [
        as_rdata(value, "octal") if isinstance(value, Txt) else text
        for value, text in zip(write.after.values, write.absolute, strict=True)
    ]
    yield _module_options(write, write.after.name, value=values, overwrite=True)


def _hetzner(write: Write) -> Iterator[Options]:
    """Yield one call, in which a record without its comment would lose it."""
    host = write.after.name.removesuffix(write.zone).rstrip(".") or "@"
    options: Options = {"name": host, "type": write.after.type, "state": write.state}
    if write.state == "present":
        both = zip(write.texts, write.comments, strict=True)
        records = [{"value": text, "comment": comment} for text, comment in both]
        options |= {"ttl": write.after.ttl, "records": records}
    yield options


def _community_dns(write: Write) -> Iterator[Options]:
    # Without these, its modules take quotes for a part of the text. Host names without a dot at
    # the end are relative to the zone there, so that they stay as they are.
    quotes = {"txt_transformation": "quoted", "txt_character_encoding": "decimal"}
    yield quotes | _module_options(write, write.after.name, value=list(write.texts))


def _module_options(write: Write, record: str, **if_present: Any) -> Options:
    """Return the options that the modules share which write whole record sets."""
    options = {"record": record, "type": write.after.type, "state": write.state}
    if write.state == "absent":
        return options
    return options | {"ttl": write.after.ttl} | if_present


def _powerdns(write: Write) -> Iterator[Options]:
    which = {"name": f"{write.after.name}.", "type": write.after.type}
    if write.state == "absent":
        yield which | {"changetype": "DELETE"}
        return
    records = [{"content": text, "disabled": False} for text in write.absolute]
    yield which | {"ttl": write.after.ttl, "changetype": "REPLACE", "records": records}


def _cloudflare(write: Write) -> Iterator[Options]:
    """Yield one call for each record, because the module manages single records."""
    of_type = _cloudflare_mx if write.after.type == "MX" else _cloudflare_txt
    for options in of_type(write):
        yield {"record": write.after.name, "type": write.after.type, **options}


def _cloudflare_mx(write: Write) -> Iterator[Options]:
    """Yield new records before old ones are removed, so that mail always has a way.

    The module knows a record by its host alone: it changes the priority of one, stumbles over
    several, and removes them all.
    """
    first: list[Options] = []
    fresh: list[Options] = []
    last: list[Options] = []
    for host in _hosts(write.before) | _hosts(write.after):
        was, now = _of_host(write.before, host), _of_host(write.after, host)
        if was == now and write.before.ttl == write.after.ttl:
            continue
        if len(was) > 1 or not now:
            (first if len(was) > 1 else last).append(_gone(write, host))
        fresh += [_present(write, value=host, priority=mx.priority) for mx in now]
    yield from (*first, *fresh, *last)


def _hosts(record_set: RecordSet) -> dict[str, None]:
    return dict.fromkeys(value.exchange for value in record_set.values if isinstance(value, Mx))


def _of_host(record_set: RecordSet, host: str) -> set[Mx]:
    return {v for v in record_set.values if isinstance(v, Mx) and v.exchange == host}


def _cloudflare_txt(write: Write) -> Iterator[Options]:
    """Yield new records before old ones are removed: a failing call loses no record of others.

    Only records with a new TTL are removed first, because removing the old ones removes both.
    """
    stale = write.before.values if write.before.ttl != write.after.ttl else ()
    for value in write.after.values:
        if value in stale:
            yield from _gone_text(write, value)
    for value, text in zip(write.after.values, write.texts, strict=True):
        if value in stale or value not in write.before.values:
            yield _present(write, value=text)
    for value in write.before.values:
        if value not in write.after.values:
            yield from _gone_text(write, value)


def _gone_text(write: Write, value: Value) -> Iterator[Options]:
    """Yield the calls that remove a text, in both spellings, which the module compares.

    Texts that were entered long ago are kept without quotes at Cloudflare.
    """
    yield _gone(write, as_rdata(value))
    if isinstance(value, Txt) and value.text.strip():
        yield _gone(write, value.text)


def _gone(write: Write, value: str) -> Options:
    if value:
        return {"value": value, "state": "absent"}
    # Without a value the module would remove every record of the type.
    raise InvalidInput(f"{write.after}: its module cannot remove a null MX. Remove it by hand.")


def _present(write: Write, **options: Any) -> Options:
    return {**options, "ttl": write.after.ttl, "state": "present"}


#: Convert a record set to the provider's format.
PROVIDERS: dict[str, Callable[[Write], Iterator[Options]]] = {
    "nsupdate": _nsupdate,
    "route53": _route53,
    "cloudflare": _cloudflare,
    "hetzner": _hetzner,
    "community_dns": _community_dns,
    "powerdns": _powerdns,
}
_NEED_ZONE = {"cloudflare", "hetzner"}
