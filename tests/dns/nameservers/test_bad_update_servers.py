# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Servers that take updates as no server should, and answers that are not to be believed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import dns.flags
import dns.message
import dns.rcode
import dns.tsig
import pytest

from ansible_collections.postroom.email.plugins.module_utils._api.errors import (
    KeyRefused,
    NameServerError,
    NoAnswer,
    UpdateRefused,
    ZoneChanged,
)
from ansible_collections.postroom.email.plugins.module_utils._api.nameservers.keys import Key
from ansible_collections.postroom.email.plugins.module_utils._api.nameservers.updating import (
    UpdateServer,
)
from ansible_collections.postroom.email.plugins.module_utils._api.records.observed import Server
from ansible_collections.postroom.email.plugins.module_utils._api.records.sets import Mx, RecordSet
from ansible_collections.postroom.email.tests.fakes.nameserver.habits import (
    Asked,
    Habit,
    Piece,
    dripping,
    garbage,
    half,
    late,
    relay,
    silent,
    wrong_id,
)
from ansible_collections.postroom.email.tests.fakes.nameserver.server import misbehaving
from ansible_collections.postroom.email.tests.support import bind
from ansible_collections.postroom.email.tests.support.loopback import free_port

ZONE = "example.com"
KEY = bind.new_key("mail")
OTHER_KEY = bind.new_key("mail")
QUICK = 0.4


class Swap(NamedTuple):
    """A change, as the planner makes them."""

    before: RecordSet | None
    after: RecordSet | None


CHANGE = Swap(None, RecordSet(ZONE, "MX", 60, (Mx(10, "mail.example.net"),)))


def signed(
    rcode: str = "NOERROR", *, key: bind.TsigKey | None = KEY, fudge: int = 300, error: int = 0
) -> Habit:
    """Answer with a signature, as an authority that has nothing.

    :param key: None leaves the signature out
    :param error: one of TSIG's
    """

    def habit(asked: Asked) -> list[Piece]:
        query = dns.message.from_wire(asked.wire, keyring=bind.tsig(KEY))
        response = dns.message.make_response(query, fudge=fudge, tsig_error=error)
        response.tsig = None
        if key:
            response.use_tsig(bind.tsig(key), fudge=fudge, tsig_error=error)
        response.flags |= dns.flags.AA
        response.set_rcode(dns.rcode.from_text(rcode))
        return [Piece(response.to_wire())]

    return habit


def updating(habit: Habit, action: Callable[[UpdateServer], Any], timeout: float = QUICK) -> Any:
    """Do something with a server of that habit, which cannot but fail, and return the error."""
    with misbehaving({("*", "*"): habit}) as server:
        there = UpdateServer([Server("", server.address, server.port)], Key(*KEY), timeout)
        with pytest.raises(NameServerError) as caught:
            action(there)
    assert KEY.secret not in f"{caught.value!r} {caught.value.__context__!r}"
    return caught.value


def update(there: UpdateServer) -> None:
    """Send an update."""
    there.update(ZONE, [CHANGE])


def read(there: UpdateServer) -> None:
    """Read a set."""
    there.read(ZONE, "MX")


UNBELIEVED = {
    "not signed": signed(key=None),
    "not signed, and refused": signed("REFUSED", key=None),
    "signed with another secret": signed(key=OTHER_KEY),
    "signed with another key": signed(key=bind.new_key("other")),
    "garbage": garbage,
    "another id": wrong_id(signed()),
}


@pytest.mark.parametrize("habit", UNBELIEVED.values(), ids=UNBELIEVED)
@pytest.mark.parametrize("action", [read, update])
def test_only_signed_answers_count(habit: Habit, action: Callable[[UpdateServer], None]) -> None:
    """What has no valid signature may come from anybody: nothing follows from it."""
    error = updating(habit, action)

    assert isinstance(error, NoAnswer)
    assert "answered without a valid signature of the TSIG key mail" in str(error)


NOT_IN_TIME = {
    "silence": silent,
    "half an answer": half(signed()),
    "an answer that drips": dripping(0.1, signed()),
    "an answer that comes too late": late(30, signed()),
}


@pytest.mark.parametrize("habit", NOT_IN_TIME.values(), ids=NOT_IN_TIME)
@pytest.mark.parametrize("action", [read, update])
def test_no_whole_answer(habit: Habit, action: Callable[[UpdateServer], None]) -> None:
    """Whether an update was made is not known where no whole answer comes in time."""
    error = updating(habit, action)

    assert isinstance(error, NoAnswer)
    assert "gave no answer over TCP" in str(error)


def test_nobody_there() -> None:
    """Where there is no connection, nothing was written, for certain."""
    there = UpdateServer([Server("", "127.0.0.1", free_port())], Key(*KEY), 5.0)

    with pytest.raises(NameServerError, match=r"could not be reached over TCP \(nothing listens"):
        update(there)
    with pytest.raises(NameServerError) as caught:
        update(there)
    assert not isinstance(caught.value, NoAnswer)


def test_the_next_address_is_tried(tmp_path: Path) -> None:
    """Where nothing listens at the first one; from then on, the one that connects is asked."""
    with bind.running(tmp_path, {ZONE: ""}, keys=[KEY]) as server:
        dead = Server("ns1", "127.0.0.1", free_port())
        alive = Server("ns1", server.address, server.port)
        there = UpdateServer([dead, alive, dead], Key(*KEY), 5.0)
        update(there)
        assert there.server == alive
        assert server.lookup(ZONE, "MX")


def test_no_address_is_left() -> None:
    """The last one is told, and that nothing was written."""
    dead = [Server("ns1", "127.0.0.1", free_port()) for _address in range(2)]
    with pytest.raises(NameServerError, match=rf"ns1 \(.*:{dead[-1].port}\) could not be reached"):
        update(UpdateServer(dead, Key(*KEY), 5.0))


def test_no_time_is_left() -> None:
    """Nobody is asked then, and it is told which option sets the time."""
    with pytest.raises(NameServerError, match="The option timeout is for the whole task") as caught:
        update(UpdateServer([Server("", "127.0.0.1", free_port())], Key(*KEY), 5.0, until=0.0))
    assert not isinstance(caught.value, NoAnswer)


REFUSALS = {
    "REFUSED": (UpdateRefused, "does not let the TSIG key mail change example.com MX"),
    "NOTAUTH": (UpdateRefused, "is not in charge of example.com (NOTAUTH)"),
    "NOTZONE": (UpdateRefused, "is not in charge of example.com (NOTZONE)"),
    "NOTIMP": (UpdateRefused, "takes no dynamic updates of example.com"),
    "YXDOMAIN": (ZoneChanged, "Somebody changed one of example.com MX"),
    "YXRRSET": (ZoneChanged, "Somebody changed one of example.com MX"),
    "NXDOMAIN": (ZoneChanged, "Somebody changed one of example.com MX"),
    "NXRRSET": (ZoneChanged, "Somebody changed one of example.com MX"),
    "SERVFAIL": (NameServerError, "failed (SERVFAIL). Its log may tell why."),
    "FORMERR": (NameServerError, "failed (FORMERR)"),
}


@pytest.mark.parametrize(("rcode", "kind", "text"), [(k, *v) for k, v in REFUSALS.items()])
def test_refusals(rcode: str, kind: type[NameServerError], text: str) -> None:
    """Each refusal of an update is told as what it is."""
    error = updating(signed(rcode), update)

    assert type(error) is kind
    assert text in str(error)


def test_a_server_that_fails_to_tell() -> None:
    """A server that fails is not taken to have nothing."""
    error = updating(signed("SERVFAIL"), read)

    assert type(error) is NameServerError


def test_a_server_that_names_no_zone() -> None:
    """An authority without a zone is none."""
    error = updating(signed(), lambda there: there.zone_of(ZONE))

    assert isinstance(error, UpdateRefused)
    assert "(it names no zone)" in str(error)


TSIG_ERRORS = {
    "BADSIG": (16, "does not accept signatures of the TSIG key mail"),
    "BADKEY": (17, "does not know the TSIG key mail with hmac-sha256"),
    "BADTIME": (18, "The clocks of this machine and of the name server"),
    "BADTRUNC": (22, "does not accept signatures of the TSIG key mail"),
}


@pytest.mark.parametrize(("error", "text"), TSIG_ERRORS.values(), ids=TSIG_ERRORS)
def test_keys_that_are_refused(error: int, text: str) -> None:
    """What is wrong with a key or a clock is told."""
    caught = updating(signed("NOTAUTH", error=error), update)

    assert isinstance(caught, KeyRefused)
    assert text in str(caught)


def test_an_answer_of_another_time() -> None:
    """An answer whose time is off is not believed."""
    error = updating(late(2.1, signed(fudge=0)), update, timeout=10)

    assert isinstance(error, NoAnswer)
    assert "answered without a valid signature" in str(error)


def test_an_update_whose_answer_is_lost(tmp_path: Path) -> None:
    """Where an answer is lost on the way, what the update was to do may have been done."""
    with bind.running(tmp_path, {ZONE: ""}, keys=[KEY]) as server:
        behind = relay(server.address, server.port)
        error = updating(lambda asked: behind(asked)[1:], update)

        assert isinstance(error, NoAnswer)
        assert server.lookup(ZONE, "MX") == ("10 mail.example.net.",)
