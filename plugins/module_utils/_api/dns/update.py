# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Read and update a zone on a name server (RFC 2136).

Every message is signed with a TSIG key (RFC 8945) and sent over TCP. Responses that are not signed
with the same key are rejected.
"""

from __future__ import annotations

import base64
import contextlib
import math
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Optional

from ..errors import InvalidInput, KeyRefused, NameServerError, NoAnswer, UpdateRefused, ZoneChanged
from .notations import as_rdata
from .query import Answer, Server, answer_of, random_names, upwards
from .record_types import RecordSet, Redirection

with contextlib.suppress(ImportError):
    import dns.exception
    import dns.inet
    import dns.message
    import dns.name
    import dns.query
    import dns.rcode
    import dns.rdata
    import dns.tsig
    import dns.update

if TYPE_CHECKING:
    from dns.message import Message
    from dns.rdata import Rdata
    from dns.update import UpdateMessage

#: The share of the remaining time for one update. The rest is needed to check whether it succeeded.
_UPDATE_SHARE = 0.5


@dataclass(frozen=True)
class TsigKey:
    """A TSIG key.

    :param name: the key's name, in the form of a domain name
    :param secret: the secret in base64
    :raises InvalidInput: if the name or the secret is invalid; the message never contains the
        secret
    """

    name: str
    secret: str = field(repr=False)
    algorithm: str = "hmac-sha256"

    def __post_init__(self) -> None:
        is_name = is_base64 = False
        with contextlib.suppress(dns.exception.DNSException, UnicodeError):
            is_name = bool(self.name.strip(".") and dns.name.from_text(self.name))
        with contextlib.suppress(ValueError):
            is_base64 = bool(base64.b64decode(self.secret, validate=True))
        if not is_name:
            raise InvalidInput(
                f"tsig_name: {self.name!r} can't be the name of a key. Set tsig_name to the key's "
                "name on the name server."
            )
        if not is_base64:
            raise InvalidInput(
                "tsig_secret: it is not base64. Copy it from the configuration of the name server."
            )


#: A whole record set before and after a change. None means that it does not exist.
BeforeAfter = tuple[Optional[RecordSet], Optional[RecordSet]]  # noqa: UP045 - for pylint


class UpdateServer:
    """A name server that accepts updates.

    :param servers: the server's addresses, tried in order until a connection succeeds
    :param timeout: the timeout for one message and its response, in seconds
    :param until: the deadline for all messages, on the monotonic clock
    """

    def __init__(
        self, servers: Sequence[Server], key: TsigKey, timeout: float, until: float = math.inf
    ) -> None:
        self.servers = list(servers)
        self._key = key
        self._timeout = timeout
        self.until = until

    @property
    def server(self) -> Server:
        """The address that is currently in use."""
        return self.servers[0]

    def time_left(self) -> float:
        """Return the seconds until the deadline.

        :raises NameServerError: if the deadline has passed
        """
        left = self.until - time.monotonic()
        if left > 0:
            return left
        raise NameServerError(
            "The task timed out before the name servers had answered all queries. Raise timeout, "
            "which applies to the whole task."
        )

    def zone_of(self, name: str) -> str:
        """Return the server's zone that contains a name.

        :raises UpdateRefused: if the server is not authoritative for the name
        :raises NameServerError: if the server did not answer
        """
        for candidate in upwards(name):
            found = self._query(candidate, "SOA")
            if found.texts and found.alias is None:
                return candidate
        raise self._not_authoritative(name, "it returned no zone")

    def delegation_of(self, name: str) -> Redirection | None:
        """Return the delegation of a name to other name servers, or None.

        :raises NameServerError: if the server did not answer
        """
        message = dns.message.make_query(f"{name}.", "SOA", flags=0)
        return answer_of(self.server, self._send(message)).redirection

    def read(self, name: str, kind: str) -> Answer:
        """Return a name's records of one type.

        Records from a wildcard are omitted; the answer then has ``only_wildcard`` set.

        :raises UpdateRefused: if the server is not authoritative for the name
        :raises NameServerError: if the server did not answer
        """
        found = self._query(name, kind)
        if not (found.texts or found.alias):
            return found
        below, beside = random_names(name)
        # A wildcard never covers the apex of a zone.
        if (
            found.is_like(self._query(below, kind))
            and self.zone_of(name) != name
            and found.is_like(self._query(beside, kind))
        ):
            return Answer(self.server, "answered", only_wildcard=True)
        return found

    def update(self, zone: str, changes: Sequence[BeforeAfter]) -> None:
        """Apply all changes in one zone, or none of them.

        The server only applies the changes if no record set has changed since it was read.

        :raises ZoneChanged: if a record set has changed; nothing was written
        :raises KeyRefused: if the server did not accept the key; nothing was written
        :raises UpdateRefused: if the server does not allow the change; nothing was written
        :raises NoAnswer: if there was no valid response; the update may have been applied
        :raises NameServerError: if the server failed or can't be reached; nothing was written
        """
        message = dns.update.UpdateMessage(f"{zone}.")
        for change in changes:
            _add(message, change)
        rcode = dns.rcode.to_text(self._send(message, _UPDATE_SHARE).rcode())
        sets = ", ".join(str(after or before) for before, after in changes)
        if rcode in ("YXDOMAIN", "YXRRSET", "NXDOMAIN", "NXRRSET"):
            raise ZoneChanged(
                f"Another client changed records at the name server {self.server}, so these record "
                f"sets were not written: {sets}. Run again."
            )
        if rcode == "REFUSED":
            which = f"one of {sets} (the server does not report which)" if ", " in sets else sets
            raise UpdateRefused(
                f"The name server {self.server} does not let the TSIG key {self._key.name} change "
                f"{which}. Allow the change on the server, use another key, or set the option "
                "update_server to the zone's primary server."
            )
        if rcode == "NOTIMP":
            raise UpdateRefused(
                f"The name server {self.server} does not accept dynamic updates of {zone}. Allow "
                "them there, or set the option update_server to another server."
            )
        if rcode in ("NOTAUTH", "NOTZONE"):
            raise self._not_authoritative(zone, rcode)
        if rcode != "NOERROR":
            raise self._failed(rcode)

    def _query(self, name: str, kind: str) -> Answer:
        response = self._send(dns.message.make_query(f"{name}.", kind, flags=0))
        found = answer_of(self.server, response, ".")
        if found.kind == "lame":
            raise self._not_authoritative(name, found.detail)
        if found.kind != "answered":
            raise self._failed(found.detail)
        return found

    def _send(self, message: Message, share: float = 1.0) -> Message:
        """Send a signed message to the first reachable address and return the signed response.

        :param share: the share of the remaining time that the exchange may take
        """
        key = self._key
        message.use_tsig(dns.tsig.Key(key.name, key.secret, key.algorithm))
        while True:
            seconds = min(self._timeout, share * self.time_left())
            try:
                dns.inet.af_for_address(self.server.address)
                link = socket.create_connection(self.server[1:], seconds)
            except (OSError, ValueError) as error:
                if len(self.servers) > 1:
                    self.servers.pop(0)
                    continue
                detail = getattr(error, "strerror", None) or "its address is not known"
                detail = "it timed out" if isinstance(error, TimeoutError) else detail
                raise NameServerError(
                    f"The name server {self.server} could not be reached over TCP ({detail}). "
                    "Check update_server and any firewalls."
                ) from None
            with link:
                link.settimeout(0)
                response = self._exchange(message, link, seconds)
            if response.had_tsig:
                return response
            raise self._not_signed()

    def _exchange(self, message: Message, link: socket.socket, seconds: float) -> Message:
        try:
            return dns.query.tcp(message, self.server.address, seconds, sock=link)
        except dns.tsig.PeerError as error:
            raise self._key_refused(error) from None
        except (dns.exception.Timeout, EOFError, OSError) as error:
            is_timeout = isinstance(error, (dns.exception.Timeout, TimeoutError))
            detail = "it timed out" if is_timeout else "the connection ended"
            raise NoAnswer(
                f"The name server {self.server} gave no answer over TCP ({detail}). Check that it "
                "is running."
            ) from None
        except dns.exception.DNSException:
            raise self._not_signed() from None

    def _not_signed(self) -> NoAnswer:
        return NoAnswer(
            f"The name server {self.server} answered without a valid signature of the TSIG key "
            f"{self._key.name}. The server may not have this key, or its secret may differ. Check "
            "the options update_server, tsig_name and tsig_secret."
        )

    def _key_refused(self, error: Exception) -> KeyRefused:
        key = self._key
        if isinstance(error, dns.tsig.PeerBadTime):
            return KeyRefused(
                f"The clocks on this machine and on the name server {self.server} are too far "
                f"apart to use the TSIG key {key.name}. Synchronize them."
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

    def _failed(self, rcode: str) -> NameServerError:
        return NameServerError(f"The name server {self.server} failed ({rcode}). Check its log.")


def _add(message: UpdateMessage, change: BeforeAfter) -> None:
    """Add a change and its prerequisites to an update message."""
    before, after = change
    one = after or before
    if one is None:
        return
    name = dns.name.from_text(f"{one.name}.")
    old, new = _rdatas(before), _rdatas(after)
    if old:
        message.present(name, *old)
    else:
        message.absent(name, one.type)
    # Servers silently ignore records added at a name with a CNAME record.
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
    """Return a record set's values as rdata objects of dnspython, with the same bytes."""
    if one is None:
        return []
    texts = map(as_rdata, one.values)
    return [dns.rdata.from_text("IN", one.type, text, relativize=False) for text in texts]
