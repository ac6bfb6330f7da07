# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Forwarders over the mail API: destinations come and go; no chains, no loops."""

from __future__ import annotations

import re

import pytest

from ansible_collections.postroom.email.tests.bot.executors.scenes import (
    ALICE,
    BOB,
    SALES,
    TEAM,
    Notebook,
    forward,
    members,
    no_forward,
    request_for,
)
from ansible_collections.postroom.email.tests.service.api import Api
from postroom_bot.executors.base import WontDo
from postroom_bot.executors.mail import Forward, Mail
from postroom_bot.model import Wish

FAR = "partner@far.example"


def test_destinations_are_added(mail: Mail, api: Api) -> None:
    """The forwarder is made for the first one; the others stay when one more comes."""
    first = mail.carry_out(request_for(forward(TEAM, ALICE)), Notebook())
    assert (first.changed, first.freed) == (True, ())
    assert first.sentence == f"Mail to `{TEAM}` goes on to `{ALICE}`."
    assert first.stands == forward(TEAM, ALICE)
    second = mail.carry_out(request_for(forward(TEAM, FAR, BOB)), Notebook())
    assert second.sentence == f"Mail to `{TEAM}` goes on to `{BOB}`, `{FAR}`."
    assert second.stands == forward(TEAM, ALICE, BOB, FAR)
    assert members(api, TEAM) == {ALICE, BOB, FAR}
    again = mail.carry_out(request_for(forward(TEAM, ALICE)), Notebook())
    assert (again.changed, again.stands) == (False, second.stands)


def test_destinations_are_removed(mail: Mail, api: Api) -> None:
    """The others stay; one that is not there is as good as removed."""
    api.forwarder(TEAM, [ALICE, BOB, FAR])
    done = mail.carry_out(request_for(no_forward(TEAM, FAR, "x@far.example")), Notebook())
    assert done.sentence == f"Mail to `{TEAM}` no longer goes on to `{FAR}`, `x@far.example`."
    assert (done.changed, done.stands, done.freed) == (True, forward(TEAM, ALICE, BOB), ())
    assert members(api, TEAM) == {ALICE, BOB}
    again = mail.carry_out(request_for(no_forward(TEAM, FAR)), Notebook())
    assert (again.changed, again.stands) == (False, forward(TEAM, ALICE, BOB))


@pytest.mark.parametrize("wish", [no_forward(TEAM), no_forward(TEAM, ALICE, BOB, FAR)])
def test_the_last_one_goes_with_the_forwarder(mail: Mail, api: Api, wish: Wish) -> None:
    """As do all where none is named. Each of its addresses is free then."""
    api.forwarder(TEAM, [ALICE, BOB], "all@example.com")
    keeper = Notebook()
    done = mail.carry_out(request_for(wish), keeper)
    assert (done.changed, done.stands) == (True, no_forward(TEAM))
    assert done.sentence == f"Mail to `{TEAM}` is no longer forwarded."
    assert done.freed == ("all@example.com", TEAM)
    assert api.get(TEAM).status_code == 404
    again = mail.carry_out(request_for(wish, progress=keeper.last), Notebook())
    assert again == done._replace(changed=False)


REFUSALS = [
    (forward(BOB, ALICE), f"`{BOB}` already delivers somewhere else."),
    (forward(SALES, ALICE), f"`{SALES}` already delivers somewhere else."),
    (forward("all@example.com", ALICE), "`all@example.com` already delivers somewhere else."),
    (forward(TEAM), f"Say where mail to `{TEAM}` is to go on to."),
    (forward("new@example.com", TEAM), f"`{TEAM}` forwards its mail too"),
    (forward("new@example.com", FAR, "all@example.com"), "`all@example.com` forwards its mail"),
    (forward("end@example.com", ALICE), "Mail is forwarded to `end@example.com` already"),
    (forward("new@example.com", "new@example.com"), "would come back to itself"),
    (forward("new@example.com", "new+x@example.com"), "would come back to itself"),
    (forward("new@example.com", "team+x@example.com"), "`team+x@example.com` forwards its mail"),
    (forward("tagged@example.com", ALICE), "Mail is forwarded to `tagged@example.com` already"),
    (forward(TEAM, "all@example.com"), "Mail to `all@example.com` would come back to itself."),
    (forward("new@other.example", ALICE), "The domain `other.example` is not set up here."),
    (no_forward(BOB), f"`{BOB}` is not a forwarder of its own."),
    (no_forward(SALES, ALICE), f"`{SALES}` is not a forwarder of its own."),
    (no_forward("all@example.com"), "`all@example.com` is not a forwarder of its own."),
]


@pytest.mark.parametrize(("wish", "sentence"), REFUSALS)
def test_what_cant_be_is_refused(mail: Mail, api: Api, wish: Wish, sentence: str) -> None:
    """Before and while it is carried out, in words that name nobody who was not named."""
    api.forwarder(TEAM, [FAR, "end@example.com", "tagged+x@example.com"], "all@example.com")
    before = api.listing()
    with pytest.raises(WontDo) as refusal:
        mail.check(wish)
    said = str(refusal.value)
    assert sentence in said
    assert "bob" not in said.replace(wish.target, "")
    with pytest.raises(WontDo, match=re.escape(said)):
        mail.carry_out(request_for(wish), Notebook())
    assert api.listing() == before


def test_a_forwarder_may_stay_as_it_was_made_elsewhere(mail: Mail, api: Api) -> None:
    """A chain that is there is no obstacle to a destination that makes none."""
    api.forwarder(TEAM, [ALICE])
    api.forwarder("all@example.com", [TEAM])
    mail.carry_out(request_for(forward(TEAM, BOB)), Notebook())
    assert mail.forwarders() == [
        Forward("all@example.com", (TEAM,)),
        Forward(TEAM, (ALICE, BOB)),
    ]
