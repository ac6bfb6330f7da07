# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Reading and changing zones of a real BIND with signed updates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.errors import (
    KeyRefused,
    UpdateRefused,
    ZoneChanged,
)
from ansible_collections.postroom.email.plugins.module_utils._api.nameservers.keys import Key
from ansible_collections.postroom.email.plugins.module_utils._api.nameservers.updating import (
    Current,
    UpdateServer,
)
from ansible_collections.postroom.email.plugins.module_utils._api.records.observed import Server
from ansible_collections.postroom.email.plugins.module_utils._api.records.sets import (
    Mx,
    RecordSet,
    Txt,
    txt,
)
from ansible_collections.postroom.email.tests.support import bind

ZONE = "example.com"
POLICY = f"""
    grant "limited" subdomain _domainkey.{ZONE}. TXT;
    grant "mail" zonesub ANY;
    grant "mail512" zonesub ANY;
"""
TEXT = """
    www CNAME web.example.net.
    inside CNAME sub
    inside.sub CNAME example.com.
    sub NS ns.example.net.
"""
MAIL = Mx(10, "mail.example.net")
SPF = txt("v=spf1 include:_spf.example.net ~all")


class Swap(NamedTuple):
    """A change, as the planner makes them."""

    before: RecordSet | None
    after: RecordSet | None


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[bind.BindServer]:
    """Run a primary server that is told who may change what."""
    keys = [
        bind.new_key("mail"),
        bind.new_key("limited"),
        bind.new_key("mail512", "hmac-sha512"),
    ]
    zones: dict[str, bind.Zone | str] = {ZONE: bind.Zone(TEXT, policy=POLICY), f"deep.{ZONE}": ""}
    with bind.running(tmp_path_factory.mktemp("bind"), zones, keys=keys) as running:
        yield running


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """Give a name that no other test uses."""
    return f"n{abs(hash(request.node.name)):x}.{ZONE}"


def updater(server: bind.BindServer, key: str = "mail", **changes: str) -> UpdateServer:
    """Return a way to the server, with one of its keys, or with parts of it changed."""
    parts = {**server.keys[key]._asdict(), **changes}
    return UpdateServer([Server("", server.address, server.port)], Key(**parts), 5.0)


def record_set(name: str, *values: Mx | Txt, ttl: int = 3600) -> RecordSet:
    """Return a set of MX or TXT records."""
    return RecordSet(name, "MX" if isinstance(values[0], Mx) else "TXT", ttl, values)


def swap(
    server: UpdateServer, name: str, *changes: tuple[RecordSet | None, RecordSet | None]
) -> None:
    """Make changes in the zone of a name."""
    server.update(server.zone_of(name), [Swap(*change) for change in changes])


def test_sets_are_made_changed_and_removed(server: bind.BindServer, name: str) -> None:
    """What is written is what another program and we ourselves read."""
    there = updater(server)
    first = record_set(name, MAIL), record_set(name, SPF)
    assert (there.read(name, "MX"), there.read(name, "TXT")) == (Current(None), Current(None))

    swap(there, name, (None, first[0]), (None, first[1]))
    assert server.lookup(name, "MX") == ("10 mail.example.net.",)
    assert server.lookup(name, "TXT") == ('"v=spf1 include:_spf.example.net ~all"',)
    assert (there.read(name, "MX").set, there.read(name, "TXT").set) == first

    more = record_set(name, MAIL, Mx(20, "backup.example.net"))
    swap(there, name, (first[0], more), (first[1], None))
    assert server.lookup(name, "MX") == ("10 mail.example.net.", "20 backup.example.net.")
    assert server.lookup(name, "TXT") == ()
    assert there.read(name, "MX").set == more

    swap(there, name, (more, None))
    assert there.read(name, "MX") == Current(None)


def test_a_ttl_is_changed(server: bind.BindServer, name: str) -> None:
    """A set gets another time to live as a whole."""
    there = updater(server)
    before = record_set(name, MAIL, Mx(20, "backup.example.net"))
    swap(there, name, (None, before))

    after = record_set(name, Mx(20, "backup.example.net"), Mx(30, "last.example.net"), ttl=60)
    swap(there, name, (before, after))

    assert there.read(name, "MX").set == after


def test_other_records_stay_to_the_byte(server: bind.BindServer, name: str) -> None:
    """Texts of others keep their strings, whatever is in them, and a null MX is one."""
    odd = Txt((bytes(range(128)), b"", bytes(range(128, 256)), b'"\\;', b"x" * 255))
    there = updater(server)
    swap(there, name, (None, record_set(name, odd)), (None, record_set(name, Mx(0, ""))))
    wire = server.response(name, "TXT").answer[0][0].to_digestable()

    seen = there.read(name, "TXT").set
    assert seen == record_set(name, odd)
    swap(there, name, (seen, record_set(name, odd, SPF)))

    found = server.response(name, "TXT").answer[0]
    assert wire in [record.to_digestable() for record in found]
    assert wire == b"".join(bytes([len(string)]) + string for string in odd.strings)
    assert there.read(name, "MX").set == record_set(name, Mx(0, ""))


def test_spelling_of_a_host_is_no_change(server: bind.BindServer, name: str) -> None:
    """Somebody else's host in capitals is the same host, also where it is changed."""
    server.change(ZONE, add=[f"{name}. 3600 MX 10 Mail.EXAMPLE.Net."])
    there = updater(server)
    seen = there.read(name, "MX").set
    assert seen == record_set(name, MAIL)

    swap(there, name, (seen, None))
    assert server.lookup(name, "MX") == ()


CHANGED: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "one more": (["MX 20 other.example."], []),
    "one less": ([], ["MX 20 there.example."]),
    "all gone": ([], ["MX"]),
    "an alias instead": (["CNAME other.example."], ["MX"]),
}


@pytest.mark.parametrize(("add", "delete"), CHANGED.values(), ids=CHANGED)
def test_what_others_changed_meanwhile_is_kept(
    server: bind.BindServer, name: str, add: Sequence[str], delete: Sequence[str]
) -> None:
    """An update is made only where the set is still what it was seen to be."""
    server.change(ZONE, add=[f"{name}. 3600 MX {n} there.example." for n in (10, 20)])
    there = updater(server)
    seen = there.read(name, "MX").set
    assert seen is not None
    server.change(
        ZONE,
        delete=[f"{name}. {words}" for words in delete],
        add=[f"{name}. 60 {words}" for words in add],
    )
    before = server.lookup(name, "MX")

    with pytest.raises(ZoneChanged, match=r"Somebody changed one of .* MX .* nothing was written"):
        swap(there, name, (seen, record_set(name, *seen.values, MAIL)))

    assert server.lookup(name, "MX") == before


@pytest.mark.parametrize("words", ["MX 20 other.example.", "CNAME other.example."])
def test_what_was_not_there_must_not_have_come(
    server: bind.BindServer, name: str, words: str
) -> None:
    """A set is not made where one, or an alias, came up in between; nothing else is written."""
    server.change(ZONE, add=[f"{name}. 60 {words}"])
    beside = f"beside.{name}"

    with pytest.raises(ZoneChanged):
        swap(
            updater(server),
            name,
            (None, record_set(beside, SPF)),
            (None, record_set(name, MAIL)),
        )

    assert server.lookup(beside, "TXT") == ()


def test_another_key_by_a_stronger_algorithm(server: bind.BindServer, name: str) -> None:
    """Keys of other algorithms do the same."""
    swap(updater(server, "mail512"), name, (None, record_set(name, MAIL)))

    assert server.lookup(name, "MX") == ("10 mail.example.net.",)


def test_a_key_that_may_not_do_everything(server: bind.BindServer, name: str) -> None:
    """A key changes what it may, and for anything else it is told who does not let it."""
    limited = updater(server, "limited")
    key_name = f"{name.split('.', maxsplit=1)[0]}._domainkey.{ZONE}"
    swap(limited, key_name, (None, record_set(key_name, txt("v=DKIM1; p="))))
    assert server.lookup(key_name, "TXT") == ('"v=DKIM1; p="',)

    with pytest.raises(UpdateRefused) as caught:
        swap(limited, name, (None, record_set(name, MAIL)))
    assert str(caught.value) == (
        f"The name server {server} does not let the TSIG key limited change {name} MX. "
        "Allow it there, use another key, or give the zone's primary server in the option "
        "update_server."
    )
    assert server.lookup(name, "MX") == ()


def test_a_key_that_may_not_do_all_of_it(server: bind.BindServer, name: str) -> None:
    """The server does not say what it refuses, so nobody is sent to look at the wrong set."""
    allowed = f"{name.split('.', maxsplit=1)[0]}._domainkey.{ZONE}"
    changes = (None, record_set(name, MAIL)), (None, record_set(allowed, txt("v=DKIM1; p=")))
    with pytest.raises(UpdateRefused) as caught:
        swap(updater(server, "limited"), name, *changes)
    assert str(caught.value).startswith(
        f"The name server {server} does not let the TSIG key limited change one of {name} MX, "
        f"{allowed} TXT (it does not say which). Allow it there"
    )
    assert server.lookup(allowed, "TXT") == ()


WRONG_KEYS = {
    "another name": ({"name": "nobody"}, "does not know the TSIG key nobody with hmac-sha256"),
    "another algorithm": ({"algorithm": "hmac-sha512"}, "does not know the TSIG key mail with"),
    "another secret": ({"secret": "Y2FuYXJ5"}, "does not accept signatures of the TSIG key mail"),
}


@pytest.mark.parametrize(("changes", "message"), WRONG_KEYS.values(), ids=WRONG_KEYS)
def test_a_wrong_key_is_told_before_anything_is_written(
    server: bind.BindServer, changes: dict[str, str], message: str
) -> None:
    """A key that the server does not accept is refused at the first question already."""
    there = updater(server, **changes)

    for action in (
        lambda: there.zone_of(ZONE),
        lambda: there.read(ZONE, "MX"),
        lambda: there.update(ZONE, [Swap(None, record_set(ZONE, MAIL))]),
    ):
        with pytest.raises(KeyRefused, match=message) as caught:
            action()
        assert not any(key.secret in str(caught.value) for key in server.keys.values())
        assert "Y2FuYXJ5" not in repr(caught.value)


@pytest.mark.parametrize(
    ("name", "zone"),
    [
        (ZONE, ZONE),
        (f"a.b.{ZONE}", ZONE),
        (f"www.{ZONE}", ZONE),
        (f"deep.{ZONE}", f"deep.{ZONE}"),
        (f"x._domainkey.deep.{ZONE}", f"deep.{ZONE}"),
        (f"EXAMPLE.{ZONE}", ZONE),
    ],
)
def test_the_zone_of_a_name(server: bind.BindServer, name: str, zone: str) -> None:
    """The closest zone that the server is in charge of is found, also from an alias."""
    assert updater(server).zone_of(name) == zone


@pytest.mark.parametrize(
    ("name", "detail"),
    [
        ("example.org", "REFUSED"),
        (f"mail.sub.{ZONE}", f"it refers to the servers of sub.{ZONE}"),
        (f"sub.{ZONE}", f"it refers to the servers of sub.{ZONE}"),
    ],
)
def test_names_of_others(server: bind.BindServer, name: str, detail: str) -> None:
    """A name that is kept elsewhere is told, with the place of the remedy."""
    there = updater(server)

    for action in (lambda: there.zone_of(name), lambda: there.read(name, "TXT")):
        with pytest.raises(UpdateRefused) as caught:
            action()
        assert str(caught.value) == (
            f"The name server {server} is not in charge of {name} ({detail}). "
            "Give the primary server of its zone in the option update_server."
        )


@pytest.mark.parametrize(("zone", "name"), [("example.org", "example.org"), (ZONE, "example.org")])
def test_a_foreign_zone_is_refused(server: bind.BindServer, zone: str, name: str) -> None:
    """Neither another zone nor a name outside the zone can be changed."""
    with pytest.raises(UpdateRefused, match="is not in charge of"):
        updater(server).update(zone, [Swap(None, record_set(name, MAIL))])


def test_an_alias_is_seen(server: bind.BindServer) -> None:
    """A CNAME record at a name is told, and not followed."""
    there = updater(server)

    assert there.read(f"www.{ZONE}", "TXT") == Current(None, "web.example.net")
    server.change(ZONE, add=[f"alias.{ZONE}. 60 CNAME behind.{ZONE}.", f"behind.{ZONE}. 60 TXT a"])
    assert there.read(f"alias.{ZONE}", "TXT") == Current(None, f"behind.{ZONE}")


def test_a_set_that_a_secondary_holds(
    server: bind.BindServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A secondary server is asked, but does not take updates."""
    place = tmp_path_factory.mktemp("secondary")
    keys = list(server.keys.values())
    with bind.running(place, {ZONE: bind.Zone(primary=server)}, keys=keys) as secondary:
        there = updater(secondary)
        assert there.zone_of(ZONE) == ZONE

        with pytest.raises(UpdateRefused, match="or give the zone's primary server"):
            there.update(ZONE, [Swap(None, record_set(ZONE, MAIL))])
