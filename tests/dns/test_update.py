# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Signed updates to a real BIND, and to servers that refuse, fail or send bad answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import dns.flags
import dns.message
import dns.rcode
import pytest

from ansible_collections.postroom.email.plugins.module_utils._api import errors
from ansible_collections.postroom.email.plugins.module_utils._api.dns.query import Server
from ansible_collections.postroom.email.plugins.module_utils._api.dns.record_types import (
    Mx,
    RecordSet,
    Txt,
    txt,
)
from ansible_collections.postroom.email.plugins.module_utils._api.dns.update import (
    TsigKey,
    UpdateServer,
)
from ansible_collections.postroom.email.tests.fakes.nameserver import behaviors
from ansible_collections.postroom.email.tests.fakes.nameserver.server import fake_nameserver
from ansible_collections.postroom.email.tests.support import bind
from ansible_collections.postroom.email.tests.support.loopback import free_port

ZONE = "example.com"
POLICY = f"""
    grant "limited" subdomain _domainkey.{ZONE}. TXT;
    grant "mail" zonesub ANY;
    grant "mail512" zonesub ANY;
"""
TEXT = """
    www CNAME web.example.net.
    sub NS ns.example.net.
"""
MAIL = Mx(10, "mail.example.net")
BACKUP = Mx(20, "backup.example.net")
SPF = txt("v=spf1 include:_spf.example.net ~all")
KEY = bind.new_key("mail")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[bind.BindServer]:
    """Run a primary server with two unrestricted keys and a restricted key."""
    keys = [KEY, bind.new_key("limited"), bind.new_key("mail512", "hmac-sha512")]
    zones: dict[str, bind.Zone | str] = {ZONE: bind.Zone(TEXT, policy=POLICY), f"deep.{ZONE}": ""}
    with bind.running(tmp_path_factory.mktemp("bind"), zones, keys=keys) as running:
        yield running


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """Provide a name that no other test uses."""
    return f"n{abs(hash(request.node.name)):x}.{ZONE}"


def updater(server: bind.BindServer, key: str = "mail", **changes: str) -> UpdateServer:
    """Return a client that uses one of the server's keys, or an altered copy of that key."""
    parts = {**server.keys[key]._asdict(), **changes}
    return UpdateServer([Server("", server.address, server.port)], TsigKey(**parts), 5.0)


def record_set(name: str, *values: Mx | Txt, ttl: int = 3600) -> RecordSet:
    """Return a set of MX or TXT records."""
    return RecordSet(name, "MX" if isinstance(values[0], Mx) else "TXT", ttl, values)


def held(client: UpdateServer, name: str, kind: str) -> RecordSet | None:
    """Return a record set as the server stores it."""
    found = client.read(name, kind)
    return RecordSet(name, kind, found.ttl or 0, found.values) if found.values else None


def swap(
    client: UpdateServer, name: str, *changes: tuple[RecordSet | None, RecordSet | None]
) -> None:
    """Apply changes to the zone that contains a name."""
    client.update(client.zone_of(name), changes)


def test_sets_are_created_changed_and_deleted(server: bind.BindServer, name: str) -> None:
    """Record sets and their TTLs are created, changed and deleted with each TSIG algorithm."""
    client, stronger = updater(server), updater(server, "mail512")
    mx, spf = record_set(name, MAIL), record_set(name, SPF)
    assert (held(client, name, "MX"), held(client, name, "TXT")) == (None, None)

    swap(client, name, (None, mx), (None, spf))
    assert server.lookup(name, "MX") == ("10 mail.example.net.",)
    assert server.lookup(name, "TXT") == ('"v=spf1 include:_spf.example.net ~all"',)
    assert (held(client, name, "MX"), held(client, name, "TXT")) == (mx, spf)

    more = record_set(name, MAIL, BACKUP)
    swap(stronger, name, (mx, more), (spf, None))
    assert server.lookup(name, "MX") == ("10 mail.example.net.", "20 backup.example.net.")
    assert server.lookup(name, "TXT") == ()

    other = record_set(name, BACKUP, Mx(30, "last.example.net"), ttl=60)
    swap(client, name, (more, other))
    assert held(client, name, "MX") == other
    swap(client, name, (other, None))
    assert held(client, name, "MX") is None


def test_other_records_stay_to_the_byte(server: bind.BindServer, name: str) -> None:
    """TXT records of other programs stay identical, byte for byte."""
    odd = Txt((bytes(range(128)), b"", bytes(range(128, 256)), b'"\\;', b"x" * 255))
    client = updater(server)
    swap(client, name, (None, record_set(name, odd)), (None, record_set(name, Mx(0, ""))))
    wire = server.response(name, "TXT").answer[0][0].to_digestable()
    assert wire == b"".join(bytes([len(string)]) + string for string in odd.strings)

    seen = held(client, name, "TXT")
    assert seen == record_set(name, odd)
    swap(client, name, (seen, record_set(name, odd, SPF)))
    found = server.response(name, "TXT").answer[0]
    assert wire in [record.to_digestable() for record in found]

    assert held(client, name, "MX") == record_set(name, Mx(0, ""))
    server.change(ZONE, delete=[f"{name}. MX"], add=[f"{name}. 3600 MX 10 Mail.EXAMPLE.Net."])
    seen = held(client, name, "MX")
    assert seen == record_set(name, MAIL)
    swap(client, name, (seen, None))
    assert server.lookup(name, "MX") == ()


@pytest.mark.parametrize(
    ("add", "delete"),
    [
        (["MX 20 other.example."], []),
        ([], ["MX 20 there.example."]),
        ([], ["MX"]),
        (["CNAME other.example."], ["MX"]),
    ],
    ids=["added", "removed", "gone", "alias"],
)
def test_a_concurrent_change_is_kept(
    server: bind.BindServer, name: str, add: Sequence[str], delete: Sequence[str]
) -> None:
    """An update is applied only if the record set has not changed since it was read."""
    server.change(ZONE, add=[f"{name}. 3600 MX {n} there.example." for n in (10, 20)])
    client = updater(server)
    seen = held(client, name, "MX")
    assert seen is not None
    deleted = [f"{name}. {words}" for words in delete]
    server.change(ZONE, delete=deleted, add=[f"{name}. 60 {words}" for words in add])
    before = server.lookup(name, "MX")
    with pytest.raises(errors.ZoneChanged, match=f"{name} MX"):
        swap(client, name, (seen, record_set(name, *seen.values, MAIL)))
    assert server.lookup(name, "MX") == before


@pytest.mark.parametrize("words", ["MX 20 other.example.", "CNAME other.example."])
def test_a_concurrent_creation_stops_the_whole_update(
    server: bind.BindServer, name: str, words: str
) -> None:
    """If another client created a name in the meantime, the complete update is refused."""
    server.change(ZONE, add=[f"{name}. 60 {words}"])
    beside = f"beside.{name}"
    changes = (None, record_set(beside, SPF)), (None, record_set(name, MAIL))
    with pytest.raises(errors.ZoneChanged):
        swap(updater(server), name, *changes)
    assert server.lookup(beside, "TXT") == ()


def test_a_key_with_few_rights(server: bind.BindServer, name: str) -> None:
    """A restricted key can make permitted changes. A refusal names the key and the records."""
    limited = updater(server, "limited")
    key_name = f"{name.partition('.')[0]}._domainkey.{ZONE}"
    dkim = record_set(key_name, txt("v=DKIM1; p="))
    with pytest.raises(errors.UpdateRefused, match=rf"limited change {name} MX\. .*update_server"):
        swap(limited, name, (None, record_set(name, MAIL)))
    with pytest.raises(errors.UpdateRefused, match=f"one of {name} MX, {key_name} TXT"):
        swap(limited, name, (None, record_set(name, MAIL)), (None, dkim))
    assert server.lookup(name, "MX") == server.lookup(key_name, "TXT") == ()
    swap(limited, key_name, (None, dkim))
    assert server.lookup(key_name, "TXT") == ('"v=DKIM1; p="',)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "nobody"}, "does not know the TSIG key nobody with hmac-sha256"),
        ({"algorithm": "hmac-sha512"}, "does not know the TSIG key mail with"),
        ({"secret": "Y2FuYXJ5"}, "does not accept signatures of the TSIG key mail"),
    ],
    ids=["name", "algorithm", "secret"],
)
def test_a_wrong_key_is_refused_at_the_first_question(
    server: bind.BindServer, changes: dict[str, str], words: str
) -> None:
    """A wrong key is refused at the first query, and no error contains a secret."""
    client = updater(server, **changes)
    for action in (lambda one: one.zone_of(ZONE), read, update):
        with pytest.raises(errors.KeyRefused, match=words) as caught:
            action(client)
        assert not any(key.secret in str(caught.value) for key in server.keys.values())
        assert "Y2FuYXJ5" not in repr(caught.value)


def test_the_zone_of_a_name(server: bind.BindServer, tmp_path: Path) -> None:
    """The closest zone on the server is found. Names in other servers' zones are refused."""
    client = updater(server)
    for name in (ZONE, f"a.b.{ZONE}", f"www.{ZONE}", f"EXAMPLE.{ZONE}"):
        assert client.zone_of(name) == ZONE
    assert client.zone_of(f"x._domainkey.deep.{ZONE}") == f"deep.{ZONE}"
    for name in ("example.org", f"mail.sub.{ZONE}", f"sub.{ZONE}"):
        for action in (client.zone_of, lambda n: client.read(n, "TXT")):
            with pytest.raises(errors.UpdateRefused, match=rf"{name} \(.*update_server"):
                action(name)
    for zone in ("example.org", ZONE):
        with pytest.raises(errors.UpdateRefused, match="is not authoritative for"):
            client.update(zone, [(None, record_set("example.org", MAIL))])
    # A secondary server answers queries, but refuses updates.
    copy = {ZONE: bind.Zone(primary=server)}
    with bind.running(tmp_path, copy, keys=list(server.keys.values())) as secondary:
        client = updater(secondary)
        assert client.zone_of(ZONE) == ZONE
        with pytest.raises(errors.UpdateRefused, match="primary server"):
            update(client)


def signed(
    rcode: str = "NOERROR", *, key: bind.TsigKey | None = KEY, error: int = 0
) -> behaviors.Behavior:
    """Send an empty answer as an authoritative server, with a signature.

    :param key: the key to sign with, or None for no signature
    :param error: a TSIG error code
    """

    def behavior(asked: behaviors.ReceivedQuery) -> list[behaviors.Piece]:
        query = dns.message.from_wire(asked.wire, keyring=bind.tsig(KEY))
        response = dns.message.make_response(query, tsig_error=error)
        response.tsig = None
        if key:
            response.use_tsig(bind.tsig(key), tsig_error=error)
        response.flags |= dns.flags.AA
        response.set_rcode(dns.rcode.from_text(rcode))
        return [behaviors.Piece(response.to_wire())]

    return behavior


def failure(behavior: behaviors.Behavior, action: Callable[[UpdateServer], Any]) -> Any:
    """Return the error that an action raises if the server has the given behavior."""
    with fake_nameserver({("*", "*"): behavior}) as server:
        client = UpdateServer([Server("", server.address, server.port)], TsigKey(*KEY), 0.4)
        with pytest.raises(errors.NameServerError) as caught:
            action(client)
    assert KEY.secret not in f"{caught.value!r} {caught.value.__context__!r}"
    return caught.value


def update(client: UpdateServer) -> None:
    """Send an update."""
    client.update(ZONE, [(None, record_set(ZONE, MAIL, ttl=60))])


def read(client: UpdateServer) -> None:
    """Read a record set."""
    client.read(ZONE, "MX")


@pytest.mark.parametrize(
    ("behavior", "words"),
    [
        (signed(key=None), "valid signature"),
        (signed(key=bind.new_key("mail")), "valid signature"),
        (behaviors.garbage, "valid signature"),
        (behaviors.wrong_id(signed()), "valid signature"),
        (behaviors.silent, "no answer over TCP"),
        (behaviors.half(signed()), "no answer over TCP"),
    ],
)
@pytest.mark.parametrize("action", [read, update])
def test_only_a_whole_signed_answer_counts(
    behavior: behaviors.Behavior, action: Callable[[UpdateServer], None], words: str
) -> None:
    """Unless the answer is complete and signed, the outcome is reported as unknown."""
    error = failure(behavior, action)
    assert isinstance(error, errors.NoAnswer)
    assert words in str(error)


@pytest.mark.parametrize(
    ("behavior", "kind", "words"),
    [
        (signed("REFUSED"), errors.UpdateRefused, "the TSIG key mail change example.com MX"),
        (signed("NOTAUTH"), errors.UpdateRefused, "(NOTAUTH)"),
        (signed("NOTZONE"), errors.UpdateRefused, "(NOTZONE)"),
        (signed("NOTIMP"), errors.UpdateRefused, "does not accept dynamic updates"),
        (signed("YXRRSET"), errors.ZoneChanged, "example.com MX"),
        (signed("NXRRSET"), errors.ZoneChanged, "example.com MX"),
        (signed("SERVFAIL"), errors.NameServerError, "(SERVFAIL)"),
        (signed("NOTAUTH", error=16), errors.KeyRefused, "does not accept signatures"),
        (signed("NOTAUTH", error=17), errors.KeyRefused, "does not know the TSIG key"),
        (signed("NOTAUTH", error=18), errors.KeyRefused, "clocks"),
    ],
)
def test_refusals(
    behavior: behaviors.Behavior, kind: type[errors.NameServerError], words: str
) -> None:
    """Each kind of refusal of an update raises its own error."""
    error = failure(behavior, update)
    assert type(error) is kind
    assert words in str(error)


def test_a_failing_server_has_not_nothing() -> None:
    """A server failure, or an answer without a zone, does not count as an empty answer."""
    for behavior in (signed("SERVFAIL"), signed()):
        assert type(failure(behavior, read)) is errors.NameServerError


def test_unreachable_addresses(tmp_path: Path) -> None:
    """If an address is unreachable, the next one is tried.

    An error means that nothing was sent.
    """
    dead = [Server("ns1", "127.0.0.1", free_port()) for _address in range(2)]
    for until, words in ((None, rf"ns1 \(.*:{dead[1].port}\)"), (0.0, "Raise timeout")):
        limit = {} if until is None else {"until": until}
        with pytest.raises(errors.NameServerError, match=words) as caught:
            update(UpdateServer(dead, TsigKey(*KEY), 5.0, **limit))
        assert not isinstance(caught.value, errors.NoAnswer)
    with bind.running(tmp_path, {ZONE: ""}, keys=[KEY]) as server:
        alive = Server("ns1", server.address, server.port)
        client = UpdateServer([dead[0], alive, dead[1]], TsigKey(*KEY), 5.0)
        update(client)
        assert client.server == alive
        assert server.lookup(ZONE, "MX") == ("10 mail.example.net.",)
        server.change(ZONE, delete=[f"{ZONE}. MX"])
        # If the answer is lost, the update may have been applied.
        behind = behaviors.relay(server.address, server.port)
        assert isinstance(failure(lambda asked: behind(asked)[1:], update), errors.NoAnswer)
        assert server.lookup(ZONE, "MX") == ("10 mail.example.net.",)
