# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Real BIND 9 name servers on the loopback interface: primaries, secondaries and resolvers.

This module queries and updates them with dnspython only, independently of the code under test.
"""

from __future__ import annotations

import base64
import contextlib
import os
import secrets
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import dns.dnssec
import dns.exception
import dns.flags
import dns.message
import dns.query
import dns.rcode
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.tsig
import dns.update

from ansible_collections.postroom.email.tests.support import system_programs
from ansible_collections.postroom.email.tests.support.loopback import free_port
from ansible_collections.postroom.email.tests.support.processes import Running

START_SECONDS = 20.0
STOP_SECONDS = 10.0
ASK_SECONDS = 5.0
READY_SECONDS = 0.2


class TsigKey(NamedTuple):
    """A key that signs updates. ``secret`` is in base64."""

    name: str
    secret: str
    algorithm: str = "hmac-sha256"


def new_key(name: str, algorithm: str = "hmac-sha256") -> TsigKey:
    """Return a key with a random secret."""
    return TsigKey(name, base64.b64encode(secrets.token_bytes(48)).decode(), algorithm)


@dataclass(frozen=True)
class Zone:
    """A zone for which a server is authoritative.

    :param text: the lines of a zone file. If they contain no SOA record, one is added, together
        with the name server ``ns1``, which has the server's address
    :param policy: the rules of BIND's ``update-policy``, such as
        ``grant "mail" subdomain _domainkey.example.com. TXT;``. None lets every key change anything
    :param signed: whether BIND signs the zone with DNSSEC, using keys that BIND generates
    :param primary: the server from which to transfer the zone, instead of using `text`
    """

    text: str = ""
    policy: str | None = None
    signed: bool = False
    primary: BindServer | None = None


class Forward(NamedTuple):
    """The server that a resolver queries for a zone, and the DS record that the resolver trusts."""

    server: BindServer
    anchor: str = ""


@dataclass(frozen=True)
class BindServer:
    """A running name server.

    :param own_key: the key with which `change` signs updates, and which may change everything
    """

    address: str
    port: int
    keys: Mapping[str, TsigKey]
    log_path: Path
    own_key: TsigKey = field(repr=False)

    def __str__(self) -> str:
        """Return the server in the format of the collection's options."""
        return f"{self.address}:{self.port}"

    def lookup(self, name: str, kind: str) -> tuple[str, ...]:
        """Return the sorted records of a name, in zone-file format."""
        return values_of(self.response(name, kind), kind)

    def response(self, name: str, kind: str) -> dns.message.Message:
        """Return the response to a query."""
        query = dns.message.make_query(name, kind, payload=1232)
        answer, _over_tcp = dns.query.udp_with_fallback(query, self.address, ASK_SECONDS, self.port)
        return answer

    def change(self, zone: str, *, add: Sequence[str] = (), delete: Sequence[str] = ()) -> None:
        """Add and delete records, such as ``example.com. 60 MX 10 a.b.``, as another client would.

        Each line in `delete` consists of a name, a name and a type, or a name, a type and a value.
        """
        update = dns.update.UpdateMessage(zone, keyring=tsig(self.own_key))
        for line in delete:
            update.delete(*line.split(None, 2))
        for line in add:
            update.add(*line.split(None, 3))
        answer = dns.query.tcp(update, self.address, ASK_SECONDS, self.port)
        if answer.rcode() != dns.rcode.NOERROR:
            raise RuntimeError(f"{dns.rcode.to_text(answer.rcode())}:\n{self.log()}")

    def anchor(self, zone: str) -> str:
        """Return the DS record of a signed zone, as its parent would publish it."""
        found = self.response(zone, "DNSKEY").answer[0]
        key = next(key for key in found if key.flags & 1)  # the key-signing key
        return str(dns.dnssec.make_ds(found.name, key, "SHA256"))

    def log(self) -> str:
        """Return the server's log so far."""
        return self.log_path.read_text(errors="replace")


def values_of(answer: dns.message.Message, kind: str) -> tuple[str, ...]:
    """Return the sorted records that answer a query, in zone-file format."""
    name, data_type = answer.question[0].name, dns.rdatatype.from_text(kind)
    found = answer.get_rrset(answer.answer, name, dns.rdataclass.IN, data_type)
    return tuple(sorted(rdata.to_text() for rdata in found)) if found else ()


def tsig(key: TsigKey) -> dns.tsig.Key:
    """Convert a key to dnspython's type."""
    return dns.tsig.Key(key.name, key.secret, key.algorithm)


@contextlib.contextmanager
def running(
    place: Path,
    zones: Mapping[str, Zone | str],
    *,
    keys: Sequence[TsigKey] = (),
    forwards: Mapping[str, Forward] | None = None,
    address: str = "127.0.0.1",
    port: int | None = None,
) -> Iterator[BindServer]:
    """Run a BIND name server. Skip the test if BIND is not installed.

    :param place: the directory in which the server's directory is created
    :param zones: the zones, keyed by name; a string means a zone with that text
    :param forwards: zones to forward to other servers, which makes the server a validating resolver
    :param port: the port to listen on; a free port by default
    """
    own_key = new_key("own")
    whole = {name: Zone(zone) if isinstance(zone, str) else zone for name, zone in zones.items()}
    by_name = {key.name: key for key in keys}
    port = port or free_port()
    folder = place / f"named-{port}"
    folder.mkdir()
    server = BindServer(address, port, by_name, folder / "log", own_key)
    for name, zone in whole.items():
        text = textwrap.dedent(zone.text)
        if " SOA " not in text:
            soa = f"@ IN SOA ns1.{name}. hostmaster.{name}. 1 3600 600 86400 60"
            text = f"{soa}\n@ IN NS ns1.{name}.\nns1 IN A {server.address}\n{text}"
        (folder / f"{name}.zone").write_text(f"$ORIGIN {name}.\n$TTL 3600\n{text}\n")
    configuration = _configuration(folder, server, [*keys, own_key], whole, forwards or {})
    (folder / "named.conf").write_text(configuration)
    program = system_programs.require("named")
    # One thread is enough, and BIND starts faster with it.
    command = [program, "-g", "-n", "1", "-c", str(folder / "named.conf")]
    process = Running(command, os.environ, server.log_path, STOP_SECONDS)
    try:
        # A resolver is ready as soon as it answers at all.
        asked = whole or {".": Zone()}
        process.wait_until(lambda: _are_ready(server, asked), START_SECONDS)
        yield server
    finally:
        process.stop()


def _configuration(
    folder: Path,
    server: BindServer,
    keys: Sequence[TsigKey],
    zones: Mapping[str, Zone],
    forwards: Mapping[str, Forward],
) -> str:
    options = [
        f'directory "{folder}"; key-directory "{folder}"; managed-keys-directory "{folder}";',
        "pid-file none; lock-file none; session-keyfile none; notify no;",
        f"listen-on port {server.port} {{ {server.address}; }}; listen-on-v6 {{ none; }};",
        "allow-query { any; }; allow-transfer { any; };",
        f"empty-zones-enable no; recursion {'yes' if forwards else 'no'};",
        "minimal-responses yes;",
        f"dnssec-validation {'yes' if forwards else 'no'};",
    ]
    lines = [f"options {{ {' '.join(options)} }};", "controls { };"]
    lines += [
        f'key "{key.name}" {{ algorithm {key.algorithm}; secret "{key.secret}"; }};' for key in keys
    ]
    lines += [_zone_block(name, zone, keys) for name, zone in zones.items()]
    for name, forward in forwards.items():
        lines.append(_forward_block(name, forward))
    return "\n".join(lines) + "\n"


def _zone_block(name: str, zone: Zone, keys: Sequence[TsigKey]) -> str:
    if zone.primary:
        at = f"{zone.primary.address} port {zone.primary.port}"
        times = "min-refresh-time 1; max-refresh-time 1;"
        return f'zone "{name}" {{ type secondary; primaries {{ {at}; }}; {times} }};'
    everybody = "".join(f'grant "{key.name}" zonesub ANY; ' for key in keys)
    policy = everybody if zone.policy is None else f'grant "own" zonesub ANY; {zone.policy}'
    signing = "dnssec-policy default; " if zone.signed else ""
    file = f'type primary; file "{name}.zone"; {signing}'
    return f'zone "{name}" {{ {file}update-policy {{ {policy} }}; }};'


def _forward_block(name: str, forward: Forward) -> str:
    at = f"{forward.server.address} port {forward.server.port}"
    block = f'zone "{name}" {{ type forward; forward only; forwarders {{ {at}; }}; }};'
    if not forward.anchor:
        return block
    tag, algorithm, digest, *text = forward.anchor.split()
    anchor = f'"{name}" static-ds {tag} {algorithm} {digest} "{"".join(text)}";'
    return f"{block}\ntrust-anchors {{ {anchor} }};"


def _are_ready(server: BindServer, zones: Mapping[str, Zone]) -> bool:
    if "not loaded due to errors" in server.log():
        raise RuntimeError(f"BIND did not load a zone:\n{server.log()}")
    return all(_ready(server, name, zone) for name, zone in zones.items())


def _ready(server: BindServer, name: str, zone: Zone) -> bool:
    """Return whether a server answers queries for a zone's SOA record over UDP and TCP."""
    query = dns.message.make_query(name, "SOA", want_dnssec=True, flags=0)
    try:
        for exchange in (dns.query.udp, dns.query.tcp):
            answer = exchange(query, server.address, READY_SECONDS, server.port)
            signatures = any(found.rdtype == dns.rdatatype.RRSIG for found in answer.answer)
            if name != "." and not answer.answer:
                return False
            if zone.signed and not signatures:
                return False
    except (OSError, dns.exception.DNSException):
        return False
    return True
