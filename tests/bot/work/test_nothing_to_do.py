# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What is there already, or was never there, and days that are over: said before anybody votes."""

from __future__ import annotations

from datetime import date

import pytest

from ansible_collections.postroom.email.tests.bot.work.office import ALICE, BOB, NEW, Office
from postroom_bot.model import Action, State, Wish
from postroom_bot.store import requests
from postroom_bot.work import sentences
from postroom_bot.work.desk import DayOver

TEAM = "team@example.com"

NEEDLESS = [
    (Wish(Action.ALIAS_ADD, ALICE), f"`{ALICE}` delivers to `{ALICE}` already."),
    (Wish(Action.ALIAS_ADD, "sales@example.com"), f"delivers to `{ALICE}` already."),
    (Wish(Action.ALIAS_REMOVE, NEW), f"`{NEW}` is not one of `{ALICE}`'s addresses, so nothing"),
    (Wish(Action.FORWARD_ADD, TEAM, destinations=(ALICE,)), f"goes on to `{ALICE}` already."),
    (Wish(Action.FORWARD_REMOVE, NEW), f"Mail to `{NEW}` is not forwarded, so nothing"),
]


@pytest.fixture(autouse=True)
def _there(office: Office) -> None:
    office.api.patch(ALICE, emails=[ALICE, "sales@example.com"])
    body = {"type": "individual", "name": TEAM, "emails": [TEAM], "members": [ALICE, BOB]}
    assert office.api.create(body).status_code == 201


@pytest.mark.parametrize(("wish", "says"), NEEDLESS)
def test_where_nothing_is_to_be_done_nobody_is_asked(office: Office, wish: Wish, says: str) -> None:
    """The requester is told at once that all is so already."""
    refused = office.ask(wish=wish)
    assert refused.state is State.REFUSED
    assert says in refused.result
    assert "nothing" in refused.result
    assert office.cards() == []


@pytest.mark.parametrize(
    "wish",
    [
        Wish(Action.ALIAS_ADD, "sales@example.com", mailbox=ALICE),
        Wish(Action.ALIAS_REMOVE, NEW, mailbox=ALICE),
        Wish(Action.FORWARD_ADD, TEAM, destinations=(ALICE,)),
    ],
)
def test_what_is_so_of_others_is_told_to_approvers_alone(office: Office, wish: Wish) -> None:
    """Whoever could ask could otherwise find out where each address leads."""
    assert office.ask("erin", wish).state is State.PENDING
    assert office.ask("bob", wish).state is State.REFUSED


def test_another_end_is_something_to_do(office: Office) -> None:
    """More time, and an end taken back, are kept in the ledger; the same end is nothing new."""
    first, later = date(2026, 11, 23), date(2026, 11, 25)
    for end in (first, later, None):
        wish = Wish(Action.ALIAS_ADD, NEW, expires_on=end)
        assert office.approve(office.ask(wish=wish), "bob").state is State.DONE
        assert office.ask(wish=wish).state is State.REFUSED
    office.pass_time(days=6)
    assert NEW in office.addresses()


def test_a_day_that_is_over_makes_no_request(office: Office) -> None:
    """It is said before a row is made; this very day is not over."""
    alice = office.people["alice"].id
    today = office.clock().date()
    wish = Wish(Action.ALIAS_ADD, NEW, expires_on=date(2026, 11, 20))
    assert wish.expires_on is not None
    assert wish.expires_on < today
    with pytest.raises(DayOver, match=sentences.DAY_OVER):
        office.desk.submit(office.key(), wish, alice, office.deps.workspace.team)
    assert office.deps.database.read(lambda c: requests.recent_by(c, alice)) == []
    assert office.ask(wish=Wish(Action.ALIAS_ADD, NEW, expires_on=today)).state is State.PENDING
