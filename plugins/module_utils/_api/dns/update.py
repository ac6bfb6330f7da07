# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Reading and changing a zone at its primary server, by dynamic updates (RFC 2136).

Every message is signed with a TSIG key (RFC 8945), and goes over TCP. An answer that is not signed
with the same key is not believed.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ..errors import (
    KeyRefused,
    NameServerError,
    NoAnswer,
    UpdateRefused,
    ZoneChanged,
)
from .messages import delegation, dname, no_authority, owners, plain
from .observation import Redirection, Server
from .query import NoReply, over_tcp, upwards, values_of
from .rrset import RecordSet, as_rdata
from .tsig import Key
from .wildcards import probes_of

with contextlib.suppress(ImportError):
    import dns.exception
    import dns.flags
    import dns.message
    import dns.name
    import dns.rcode
    import dns.rdata
    import dns.rdataclass
    import dns.rdatatype
    import dns.tsig
    import dns.update

if TYPE_CHECKING:
    from dns.message import Message
    from dns.name import Name
    from dns.rdata import Rdata
    from dns.rrset import RRset
    from dns.update import UpdateMessage

#: What a server answers when the records are not what the update says that they are.
_CHANGED = ("YXDOMAIN", "YXRRSET", "NXDOMAIN", "NXRRSET")
#: How much of the time that is left an update may take: the rest is for what became of it.
_FOR_UPDATE = 0.5


def time_left(until: float) -> float:
    """Return the seconds until then.

    :param until: by the monotonic clock
    :raises NameServerError: there are none
    """
    left = until - time.monotonic()
    if left <= 0:
        raise NameServerError(
            "The time was up before the name servers had told everything. The option timeout is "
            "for the whole task: give it more seconds."
        )
    return left


class Current(NamedTuple):
    """What a server holds of one name and type. What a wildcard gives is not held.

    :param set: None where there is none
    :param alias: the name that a CNAME record at this name leads to, or None
    :param dname: the DNAME record above that makes the alias, or None
    :param wildcard: the records that a wildcard gives the name, or None
    """

    set: RecordSet | None
    alias: str | None = None
    dname: Redirection | None = None
    wildcard: RecordSet | None = None


class Change(Protocol):
    """A record set as it was seen, and as it is to be; None for one that is not there."""

    @property
    def before(self) -> RecordSet | None:
        """The whole set."""

    @property
    def after(self) -> RecordSet | None:
        """The whole set."""


class UpdateServer:
    """A name server that takes updates.

    :param servers: its addresses, in the order in which they are tried until one connects
    :param timeout: seconds for one message and its answer
    :param until: when the time for everything is up, by the monotonic clock
    """

    def __init__(
        self, servers: Sequence[Server], key: Key, timeout: float, until: float = math.inf
    ) -> None:
        self.servers = list(servers)
        self._key = key
        self._timeout = timeout
        self._until = until

    @property
    def server(self) -> Server:
        """The address that is in use."""
        return self.servers[0]

    def zone_of(self, name: str) -> str:
        """Return the name of the zone there that holds a name.

        :raises UpdateRefused: the server is not in charge of it
        :raises NameServerError: it did not tell
        """
        for candidate in upwards(name):
            response = self._ask(candidate, "SOA")
            # What comes behind an alias is of another name.
            if _at(response, candidate, "CNAME"):
                continue
            zones = owners([*response.answer, *response.authority], "SOA")
            if zones:
                return plain(zones[0])
        raise self._not_in_charge(name, "it names no zone")

    def read(self, name: str, kind: str) -> Current:
        """Return what the server holds of a name and a type, MX or TXT.

        :raises UpdateRefused: the server is not in charge of it
        :raises NameServerError: it did not tell
        """
        response = self._ask(name, kind)
        found = _records(response, name, kind)
        if found is None:
            return Current(None)
        is_alias = found.rdtype == dns.rdatatype.CNAME
        held = None if is_alias else RecordSet(name, kind, found.ttl, values_of(found))
        if self._is_wildcards(found, name, kind):
            return Current(None, wildcard=held)
        if is_alias:
            target = found[0].target
            return Current(None, plain(target), dname(response, _name(name), target))
        return Current(held)

    def delegation_of(self, name: str) -> Redirection | None:
        """Return the delegation to other name servers that a name is below, if there is one.

        :raises NameServerError: it did not tell
        """
        return delegation(self._send(_query(name, "SOA")))

    def is_wildcards(self, name: str, kind: str) -> bool:
        """Tell whether a wildcard gives a name records of some type, or an alias.

        :raises UpdateRefused: the server is not in charge of it
        :raises NameServerError: it did not tell
        """
        found = self._found(name, kind)
        return found is not None and self._is_wildcards(found, name, kind)

    def update(self, zone: str, changes: Sequence[Change]) -> None:
        """Make all changes in one zone, or none of them.

        The server makes them only where each set is what it was seen to be, value by value.

        :raises ZoneChanged: one is not; nothing was written
        :raises KeyRefused: the key is not accepted; nothing was written
        :raises UpdateRefused: it is not to be changed there, or with this key; nothing was written
        :raises NoAnswer: nobody knows whether it was written
        :raises NameServerError: the server failed, or could not be reached; nothing was written
        """
        message = dns.update.UpdateMessage(_name(zone))
        for change in changes:
            _put(message, change)
        rcode = dns.rcode.to_text(self._send(message, _FOR_UPDATE).rcode())
        if rcode != "NOERROR":
            raise self._not_updated(rcode, zone, ", ".join(map(_subject, changes)))

    def _is_wildcards(self, found: RRset, name: str, kind: str) -> bool:
        """Tell whether a wildcard gives what was found at a name: it gives others the same."""
        probes = probes_of(name)
        return (
            self._values(probes.below, kind) == set(found)
            and self.zone_of(name) != name
            and self._values(probes.beside, kind) == set(found)
        )

    def _values(self, name: str, kind: str) -> set[Rdata]:
        return set(self._found(name, kind) or ())

    def _found(self, name: str, kind: str) -> RRset | None:
        """Return the records of a type that the server gives for a name, or the alias there."""
        return _records(self._ask(name, kind), name, kind)

    def _ask(self, name: str, kind: str) -> Message:
        """Return the server's answer as an authority for the name."""
        response = self._send(_query(name, kind))
        rcode = dns.rcode.to_text(response.rcode())
        if rcode in ("NOERROR", "NXDOMAIN"):
            if response.flags & dns.flags.AA:
                return response
            raise self._not_in_charge(name, no_authority(response))
        if rcode in ("REFUSED", "NOTAUTH"):
            raise self._not_in_charge(name, rcode)
        raise self._failed(rcode)

    def _send(self, message: Message, share: float = 1.0) -> Message:
        """Send a message with a signature, and return the answer if it has one, too.

        :param share: how much it may take of the time that is left
        """
        key = self._key
        message.use_tsig(dns.tsig.Key(key.name, key.secret, key.algorithm))
        try:
            response = self._exchange(message, share)
        except NoReply as failure:
            raise self._no_reply(failure) from None
        except dns.tsig.PeerError as error:
            raise self._key_refused(error) from None
        except dns.exception.DNSException:
            raise self._not_believed() from None
        if not response.had_tsig:
            raise self._not_believed()
        return response

    def _exchange(self, message: Message, share: float) -> Message:
        """Send a message to the first address that connects, and keep to that one."""
        while True:
            seconds = min(self._timeout, share * time_left(self._until))
            try:
                return over_tcp(self.server, message, time.monotonic() + seconds)
            except NoReply as failure:
                if failure.sent or len(self.servers) == 1:
                    raise
                self.servers.pop(0)

    # What goes wrong, in words

    def _no_reply(self, failure: NoReply) -> NameServerError:
        if failure.sent:
            return NoAnswer(
                f"The name server {self.server} gave no answer over TCP ({failure.detail}). "
                "Check that it is up."
            )
        return NameServerError(
            f"The name server {self.server} could not be reached over TCP ({failure.detail}). "
            "Check the option update_server, and that nothing is in between."
        )

    def _not_believed(self) -> NoAnswer:
        return NoAnswer(
            f"The name server {self.server} answered without a valid signature of the TSIG key "
            f"{self._key.name}, so its answer is not believed. It may have no such key, or another "
            "secret: check the options update_server, tsig_name and tsig_secret."
        )

    def _key_refused(self, error: dns.tsig.PeerError) -> KeyRefused:
        name = self._key.name
        if isinstance(error, dns.tsig.PeerBadTime):
            return KeyRefused(
                f"The clocks of this machine and of the name server {self.server} differ too much "
                f"for the TSIG key {name}. Set them right."
            )
        if isinstance(error, dns.tsig.PeerBadKey):
            return KeyRefused(
                f"The name server {self.server} does not know the TSIG key {name} with "
                f"{self._key.algorithm}. Check the options tsig_name and tsig_algorithm."
            )
        return KeyRefused(
            f"The name server {self.server} does not accept signatures of the TSIG key {name}. "
            "Check the options tsig_secret and tsig_algorithm."
        )

    def _not_in_charge(self, name: str, detail: str) -> UpdateRefused:
        return UpdateRefused(
            f"The name server {self.server} is not in charge of {name} ({detail}). Give the "
            "primary server of its zone in the option update_server."
        )

    def _not_updated(self, rcode: str, zone: str, subjects: str) -> NameServerError:
        if rcode in _CHANGED:
            return ZoneChanged(
                f"Somebody changed one of {subjects} at the name server {self.server} meanwhile, "
                "so nothing was written. Run again."
            )
        if rcode == "REFUSED":
            which = f"one of {subjects} (it does not say which)" if ", " in subjects else subjects
            return UpdateRefused(
                f"The name server {self.server} does not let the TSIG key {self._key.name} change "
                f"{which}. Allow it there, use another key, or give the zone's primary server in "
                "the option update_server."
            )
        if rcode == "NOTIMP":
            return UpdateRefused(
                f"The name server {self.server} takes no dynamic updates of {zone}. Allow them "
                "there, or give another server in the option update_server."
            )
        if rcode in ("NOTAUTH", "NOTZONE"):
            return self._not_in_charge(zone, rcode)
        return self._failed(rcode)

    def _failed(self, rcode: str) -> NameServerError:
        return NameServerError(
            f"The name server {self.server} failed ({rcode}). Its log may tell why."
        )


def _put(message: UpdateMessage, change: Change) -> None:
    """Add a change to an update, with what has to be there for it to be made."""
    before, after = change.before, change.after
    one = after or before
    if one is None:
        return
    name = _name(one.name)
    old, new = _rdatas(before), _rdatas(after)
    if old:
        message.present(name, *old)
    else:
        message.absent(name, one.type)
    # Servers pass over records that are added beside a CNAME record, and say nothing.
    message.absent(name, "CNAME")
    if before and after and before.ttl != after.ttl:
        message.replace(name, after.ttl, *new)
        return
    for rdata in old:
        if rdata not in new:
            message.delete(name, rdata)
    for rdata in new:
        if rdata not in old:
            message.add(name, one.ttl, rdata)


def _rdatas(one: RecordSet | None) -> list[Rdata]:
    """Return values for the wire, their bytes as they are."""
    if one is None:
        return []
    return [
        dns.rdata.from_text("IN", one.type, as_rdata(value), relativize=False)
        for value in one.values
    ]


def _subject(change: Change) -> str:
    return str(change.after or change.before)


def _name(text: str) -> Name:
    return dns.name.from_text(f"{text}.")


def _query(name: str, kind: str) -> Message:
    return dns.message.make_query(_name(name), kind, flags=0)


def _records(response: Message, name: str, kind: str) -> RRset | None:
    """Return the records of a type at this very name, or the alias there."""
    return _at(response, name, kind) or _at(response, name, "CNAME")


def _at(response: Message, name: str, kind: str) -> RRset | None:
    """Return the records of a type at this very name."""
    return response.get_rrset(
        response.answer, _name(name), dns.rdataclass.IN, dns.rdatatype.from_text(kind)
    )
