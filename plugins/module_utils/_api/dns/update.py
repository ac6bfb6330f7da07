# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Read and change a zone at its primary server, by dynamic updates (RFC 2136).

Every message is signed with a TSIG key (RFC 8945) and sent over TCP. An answer that is not signed
with the same key is not believed.
"""

from __future__ import annotations

import base64
import contextlib
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ..errors import (
    InvalidInput,
    KeyRefused,
    NameServerError,
    NoAnswer,
    UpdateRefused,
    ZoneChanged,
)
from .answers import Redirection, Server
from .query import (
    NoReply,
    delegation,
    dname,
    no_authority,
    over_tcp,
    owners,
    plain,
    random_names,
    upwards,
    values_of,
)
from .rrset import RecordSet, as_rdata

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

ALGORITHMS = ("hmac-sha256", "hmac-sha384", "hmac-sha512")
#: The part of the remaining time for one update. The rest is for finding out whether it succeeded.
_UPDATE_SHARE = 0.5


@dataclass(frozen=True)
class Key:
    """A TSIG key.

    :param name: a domain name
    :param secret: base64
    :param algorithm: one of ``ALGORITHMS``
    :raises InvalidInput: it can't be a key; the message never contains the secret
    """

    name: str
    secret: str = field(repr=False)
    algorithm: str = ALGORITHMS[0]

    def __post_init__(self) -> None:
        if self.algorithm not in ALGORITHMS:
            known = ", ".join(ALGORITHMS)
            raise InvalidInput(f"tsig_algorithm: {self.algorithm!r} is not one of {known}.")
        try:
            is_name = bool(self.name.strip(".")) and bool(dns.name.from_text(self.name))
        except (dns.exception.DNSException, UnicodeError):
            is_name = False
        if not is_name:
            raise InvalidInput(
                f"tsig_name: {self.name!r} cannot be the name of a key. Set the name that the "
                "name server knows the key by."
            )
        try:
            is_base64 = bool(base64.b64decode(self.secret, validate=True))
        except ValueError:
            is_base64 = False
        if not is_base64:
            raise InvalidInput(
                "tsig_secret: it is not base64. Copy the secret from the name server's "
                "configuration."
            )


def time_left(until: float) -> float:
    """Return the seconds until then, by the monotonic clock.

    :raises NameServerError: there are none
    """
    left = until - time.monotonic()
    if left <= 0:
        raise NameServerError(
            "The task timed out before the name servers had answered everything. Raise the option "
            "timeout, which is for the whole task."
        )
    return left


class Current(NamedTuple):
    """What a server has of one name and type. Records from a wildcard don't count.

    :param set: None if there is none
    :param alias: the target of a CNAME record at this name, or None
    :param dname: the DNAME record above that makes the alias, or None
    :param wildcard: the records that a wildcard gives the name, or None
    """

    set: RecordSet | None
    alias: str | None = None
    dname: Redirection | None = None
    wildcard: RecordSet | None = None


class Change(Protocol):
    """A record set before and after a change; None for one that does not exist."""

    @property
    def before(self) -> RecordSet | None:
        """The whole set."""

    @property
    def after(self) -> RecordSet | None:
        """The whole set."""


class UpdateServer:
    """A name server that takes updates.

    :param servers: its addresses, tried in order until one connects
    :param timeout: seconds for one message and its answer
    :param until: when the time for everything is over, by the monotonic clock
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
        """Return the name of the server's zone that contains a name.

        :raises UpdateRefused: the server is not authoritative for it
        :raises NameServerError: it did not answer
        """
        for candidate in upwards(name):
            response = self._ask(candidate, "SOA")
            # The rest of the answer is about the target of an alias.
            if _at(response, candidate, "CNAME"):
                continue
            zones = owners([*response.answer, *response.authority], "SOA")
            if zones:
                return plain(zones[0])
        raise self._not_authoritative(name, "it names no zone")

    def read(self, name: str, kind: str) -> Current:
        """Return what the server has of a name and a type, MX or TXT.

        :raises UpdateRefused: the server is not authoritative for it
        :raises NameServerError: it did not answer
        """
        response = self._ask(name, kind)
        found = _at(response, name, kind) or _at(response, name, "CNAME")
        if found is None:
            return Current(None)
        is_alias = found.rdtype == dns.rdatatype.CNAME
        held = None if is_alias else RecordSet(name, kind, found.ttl, values_of(found))
        if self._is_from_wildcard(found, name, kind):
            return Current(None, wildcard=held)
        if is_alias:
            target = found[0].target
            return Current(None, plain(target), dname(response, _name(name), target))
        return Current(held)

    def delegation_of(self, name: str) -> Redirection | None:
        """Return the delegation to other name servers above a name, or None.

        :raises NameServerError: the server did not answer
        """
        return delegation(self._send(_query(name, "SOA")))

    def is_wildcards(self, name: str, kind: str) -> bool:
        """Return whether a name has records of a type, or an alias, from a wildcard.

        :raises UpdateRefused: the server is not authoritative for it
        :raises NameServerError: it did not answer
        """
        response = self._ask(name, kind)
        found = _at(response, name, kind) or _at(response, name, "CNAME")
        return found is not None and self._is_from_wildcard(found, name, kind)

    def update(self, zone: str, changes: Sequence[Change]) -> None:
        """Make all changes in one zone, or none of them.

        The server makes them only if each set is exactly as it was read.

        :raises ZoneChanged: a set has changed; nothing was written
        :raises KeyRefused: the key is not accepted; nothing was written
        :raises UpdateRefused: this zone or name may not be changed; nothing was written
        :raises NoAnswer: it may have been written
        :raises NameServerError: the server failed or was not reached; nothing was written
        """
        message = dns.update.UpdateMessage(_name(zone))
        for change in changes:
            _add(message, change)
        rcode = dns.rcode.to_text(self._send(message, _UPDATE_SHARE).rcode())
        if rcode != "NOERROR":
            sets = ", ".join(str(change.after or change.before) for change in changes)
            raise self._not_updated(rcode, zone, sets)

    def _is_from_wildcard(self, found: RRset, name: str, kind: str) -> bool:
        """Return whether records come from a wildcard, which gives other names the same."""

        def is_same(other: str) -> bool:
            response = self._ask(other, kind)
            records = _at(response, other, kind) or _at(response, other, "CNAME")
            return set(records or ()) == set(found)

        below, beside = random_names(name)
        return is_same(below) and self.zone_of(name) != name and is_same(beside)

    def _ask(self, name: str, kind: str) -> Message:
        """Return the server's answer as an authority for the name."""
        response = self._send(_query(name, kind))
        rcode = dns.rcode.to_text(response.rcode())
        if rcode in ("NOERROR", "NXDOMAIN"):
            if response.flags & dns.flags.AA:
                return response
            raise self._not_authoritative(name, no_authority(response))
        if rcode in ("REFUSED", "NOTAUTH"):
            raise self._not_authoritative(name, rcode)
        raise self._failed(rcode)

    def _send(self, message: Message, share: float = 1.0) -> Message:
        """Send a signed message to the first address that connects, and return the signed answer.

        :param share: the part of the remaining time that it may take
        """
        key = self._key
        message.use_tsig(dns.tsig.Key(key.name, key.secret, key.algorithm))
        while True:
            seconds = min(self._timeout, share * time_left(self._until))
            try:
                response = over_tcp(self.server, message, time.monotonic() + seconds)
            except NoReply as failure:
                if failure.sent:
                    raise NoAnswer(
                        f"The name server {self.server} gave no answer over TCP "
                        f"({failure.detail}). Check that it is running."
                    ) from None
                if len(self.servers) == 1:
                    raise NameServerError(
                        f"The name server {self.server} could not be reached over TCP "
                        f"({failure.detail}). Check the option update_server and firewalls."
                    ) from None
                self.servers.pop(0)
            except dns.tsig.PeerError as error:
                raise self._key_refused(error) from None
            except dns.exception.DNSException:
                raise self._not_signed() from None
            else:
                if not response.had_tsig:
                    raise self._not_signed()
                return response

    def _not_signed(self) -> NoAnswer:
        return NoAnswer(
            f"The name server {self.server} answered without a valid signature of the TSIG key "
            f"{self._key.name}. It may have no such key, or another secret: check the options "
            "update_server, tsig_name and tsig_secret."
        )

    def _key_refused(self, error: dns.tsig.PeerError) -> KeyRefused:
        key = self._key
        if isinstance(error, dns.tsig.PeerBadTime):
            return KeyRefused(
                f"The clocks of this machine and of the name server {self.server} differ too much "
                f"for the TSIG key {key.name}. Synchronize them."
            )
        if isinstance(error, dns.tsig.PeerBadKey):
            return KeyRefused(
                f"The name server {self.server} does not know the TSIG key {key.name} with "
                f"{key.algorithm}. Check the options tsig_name and tsig_algorithm."
            )
        return KeyRefused(
            f"The name server {self.server} does not accept signatures of the TSIG key {key.name}. "
            "Check the options tsig_secret and tsig_algorithm."
        )

    def _not_authoritative(self, name: str, detail: str) -> UpdateRefused:
        return UpdateRefused(
            f"The name server {self.server} is not authoritative for {name} ({detail}). Set the "
            "option update_server to the primary server of its zone."
        )

    def _not_updated(self, rcode: str, zone: str, sets: str) -> NameServerError:
        if rcode in ("YXDOMAIN", "YXRRSET", "NXDOMAIN", "NXRRSET"):
            return ZoneChanged(
                f"Another client changed one of {sets} at the name server {self.server}, so "
                "nothing was written. Run again."
            )
        if rcode == "REFUSED":
            which = f"one of {sets} (it does not report which)" if ", " in sets else sets
            return UpdateRefused(
                f"The name server {self.server} does not let the TSIG key {self._key.name} change "
                f"{which}. Allow it there, use another key, or set the option update_server to the "
                "zone's primary server."
            )
        if rcode == "NOTIMP":
            return UpdateRefused(
                f"The name server {self.server} takes no dynamic updates of {zone}. Allow them "
                "there, or set the option update_server to another server."
            )
        if rcode in ("NOTAUTH", "NOTZONE"):
            return self._not_authoritative(zone, rcode)
        return self._failed(rcode)

    def _failed(self, rcode: str) -> NameServerError:
        return NameServerError(f"The name server {self.server} failed ({rcode}). Check its log.")


def _add(message: UpdateMessage, change: Change) -> None:
    """Add a change and its prerequisites to an update."""
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
    # Servers silently ignore records that are added beside a CNAME record.
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
    """Return values for the wire, with their bytes unchanged."""
    return [
        dns.rdata.from_text("IN", one.type, as_rdata(value), relativize=False)
        for value in (one.values if one else ())
        if one
    ]


def _name(text: str) -> Name:
    return dns.name.from_text(f"{text}.")


def _query(name: str, kind: str) -> Message:
    return dns.message.make_query(_name(name), kind, flags=0)


def _at(response: Message, name: str, kind: str) -> RRset | None:
    """Return the records of a type at exactly this name."""
    return response.get_rrset(
        response.answer, _name(name), dns.rdataclass.IN, dns.rdatatype.from_text(kind)
    )
